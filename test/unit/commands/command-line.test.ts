// What is typed wrongly is answered with 2 and a hint, what is asked for help is answered with help, and commands that
// bring the whole service with them are part of both.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { exitCodeOf } from '../../../src/commands/exit-code';
import { Problem } from '../../../src/model/problem';
import { makeShell } from './shell';

const shell = makeShell();

test('help lists every command, and is no mistake', async () => {
  for (const words of [['--help'], ['help'], ['--help', '--json'], ['--help', 'config'], ['-h', 'serve']]) {
    const { code, out } = await shell.run(...words);
    expect(code).toBe(0);
    for (const word of 'serve demo simulate migrate config check organizations events parked quarantine explain alerts ledger'.split(
      ' ',
    )) {
      expect(out).toMatch(new RegExp(`^ {2}${word}\\b`, 'm'));
    }
  }
});

test('help of one command names its options', async () => {
  for (const words of [
    ['events', '--help'],
    ['help', 'events'],
  ]) {
    expect(await shell.run(...words)).toMatchObject({ code: 0, out: expect.stringContaining('--follow') });
  }
  expect((await shell.run('simulate', '--help')).out).toContain('--json');
});

test('the version is printed', async () => {
  expect(await shell.run('--version')).toMatchObject({ code: 0, out: '1.2.3\n' });
});

test.each([
  [['nosuch']],
  [['constructor']],
  [['events', '--after', 'x']],
  [['events', '--nosuch']],
  [['events', 'extra']],
  [['organizations', 'get']],
  [['quarantine', 'nosuch']],
  [['explain']],
  [[]],
])('%j is wrong usage', async (words) => {
  const { code, out, error } = await shell.run(...words);
  expect([code, out]).toEqual([2, '']);
  expect(error).toMatch(/error: |Usage: /);
});

test.each([
  [['replay', '--organization', '1', '--organization', '2', '--dry-run'], '--organization'],
  [['events', '--type=equipment.created', '--type', 'equipment.updated'], '--type'],
  [['sync', '--organization', '1', '--organization', '1'], '--organization'],
])('%j is wrong usage: of two values the first would be left out unsaid', async (words, option) => {
  const error = `tramline: ${option} is given more than once, and takes one value\n`;
  expect(await shell.run(...words)).toEqual({ code: 2, out: '', error });
});

test('what gathers its values may be given more than once', async () => {
  const { code } = await shell.run(
    'replay',
    '--event',
    'a'.repeat(32),
    '--event',
    'b'.repeat(32),
    '--dry-run',
  );
  expect(code).not.toBe(2);
});

test.each([
  [['simulate', '--users', '0'], 'users must be a whole number from 1 to 1000'],
  [['simulate', '--overlap', '9'], 'overlap must be a whole number from 0 to 0'],
  [['simulate', '--port', '99999'], 'port must be a whole number from 0 to 65535'],
])('%j is wrong usage, which the simulator explains', async (words, sentence) => {
  expect(await shell.run(...words)).toEqual({ code: 2, out: '', error: `tramline: ${sentence}\n` });
});

test('a port that is taken is wrong usage, in one line that names the option', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, out, error } = await shell.run('simulate', '--port', String(port));
  expect([code, out]).toEqual([2, '']);
  expect(error).toMatch(new RegExp(`^tramline: --port must be one that can be listened at: .*:${port}\n$`));
  taken.close();
});

test('a demonstration at no address of a broker is wrong usage that names the option', async () => {
  const { code, error } = await shell.run('demo', '--kafka', 'nope');
  expect([code, error]).toEqual([2, expect.stringContaining("option '--kafka <host:port>'")]);
});

test.each([
  [['organizations', 'get', '-x'], 'tramline organizations get -- -x'],
  [
    ['organizations', 'forget', '--yes', '-x y', '--json'],
    "tramline organizations forget --yes --json -- '-x y'",
  ],
  [['quarantine', 'show', '--q1'], 'tramline quarantine show -- --q1'],
  [['explain', '-x'], 'tramline explain -- -x'],
])('%j may be meant as an id, and the hint shows how that is written', async (words, hint) => {
  const { code, out, error } = await shell.run(...words);
  expect([code, out]).toEqual([2, '']);
  expect(error).toContain("error: unknown option '-");
  expect(error.split('\n').at(-2)).toBe(`→ If that is an id: ${hint}`);
});

test('what is complained of turns no direction and moves no cursor', async () => {
  const { code, error } = await shell.run('organizations', 'get', '\u202eevil\u009b2J');
  expect(code).toBe(3);
  expect(error).toContain('there is no organization');
  expect(error).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
});

test('where an id is given, or none is taken, an unknown option is none', async () => {
  for (const words of [
    ['organizations', 'get', '4711', '--yess'],
    ['organizations', '-x'],
    ['events', '--nosuch'],
  ])
    expect((await shell.run(...words)).error).not.toContain('If that is an id');
});

test('an id that begins with a dash is found behind --, and a number also without', async () => {
  for (const words of [
    ['organizations', 'get', '--', '-x'],
    ['organizations', 'get', '-5'],
    ['organizations', 'forget', '--yes', '--', '--json'],
    ['quarantine', 'show', '--', '-x'],
    ['explain', '--', '-x'],
  ]) {
    const { code, error } = await shell.run(...words);
    expect([words, code, error]).toEqual([words, 3, expect.stringContaining(`"${words.at(-1)}"`)]);
  }
});

test('a near miss is answered with the command that was meant', async () => {
  expect((await shell.run('organisations')).error).toContain('Did you mean organizations?');
});

test('JSON may be asked for before or after the command', async () => {
  const before = await shell.run('--json', 'config');
  const after = await shell.run('config', '--json');
  expect([before.code, before.out]).toEqual([0, after.out]);
});

test('serving with settings that miss something ends with 2', async () => {
  const given = process.env.WEBHOOK_AUTH;
  process.env.WEBHOOK_AUTH = 'nonsense';
  const { code, error } = await shell.run('serve');
  expect([code, error]).toEqual([2, expect.stringContaining('WEBHOOK_AUTH must be ')]);
  if (given === undefined) delete process.env.WEBHOOK_AUTH;
});

test.each([
  ['settings.invalid', 2],
  ['command.usage', 2],
  ['store.locked', 2],
  ['store.key-missing', 2],
  ['command.not-found', 3],
  ['command.refused', 1],
  ['store.unavailable', 1],
  ['provider.unavailable', 1],
] as const)('%s ends with %d', (code, exitCode) => {
  expect(exitCodeOf(new Problem(code, 'x'))).toBe(exitCode);
  expect(exitCodeOf(new Error('x'))).toBe(1);
});
