// Whoever asks for something that is not there is told the command that lists what there is: by every command that takes
// the name of a thing, whether it asked a service or the store, and only people, on standard error.

import type { Api } from '../../../src/model/api';
import { Problem } from '../../../src/model/problem';
import { freePort } from '../../support/free-port';
import { faultOf } from '../../support/scripted-provider';
import { makeShell, type Shell, serveFor } from './shell';

/** An installation that has nothing, of whatever it is asked. */
function makeEmptyApi(): Api {
  const none = async (): Promise<never> => {
    throw new Problem('command.not-found', 'there is no such thing');
  };
  // A listing is awaited by its lines.
  const asked = () => {
    const answer = none();
    answer.catch(() => {});
    return Object.assign(answer, { [Symbol.asyncIterator]: () => ({ next: none }) });
  };
  const part = new Proxy(asked, { get: () => asked });
  const rooms = new Set(['connections', 'provider', 'subscriptions']);
  return new Proxy({}, { get: (_target, name) => (rooms.has(String(name)) ? part : asked) }) as Api;
}

async function emptyShell(): Promise<Shell> {
  const shell = makeShell();
  shell.api = makeEmptyApi();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  return shell;
}

const cases: [string, string][] = [
  ['organizations get 9999', 'organizations list'],
  ['organizations probe 9999', 'organizations list'],
  ['organizations forget 9999 --yes', 'organizations list'],
  ['quarantine show 99', 'quarantine list'],
  ['quarantine release 99', 'quarantine list'],
  ['quarantine discard 99', 'quarantine list'],
  ['quarantine release --reason no-access', 'quarantine list'],
  ['quarantine release --all', 'quarantine list'],
  ['quarantine discard --all --yes', 'quarantine list'],
  ['connections revoke c9', 'connections list'],
  ['subscriptions renew 9', 'subscriptions list'],
  ['subscriptions end 9', 'subscriptions list'],
  ['equipment get 9 --organization 1', 'equipment list'],
  ['equipment update 9 --name x', 'equipment list'],
  ['field-operations get 9', 'field-operations list'],
  ['field-operations measurements 9', 'field-operations list'],
  ['files get 9', 'files list'],
  ['explain foo', 'events --json'],
  ['equipment create --organization 9 --name x --category machine', 'organizations list'],
  ['equipment list --organization 9', 'organizations list'],
  ['events --organization 9', 'organizations list'],
  ['files list --organization 9', 'organizations list'],
  ['sync --organization 9', 'organizations list'],
  ['subscriptions create --event-type x --organization 9', 'organizations list'],
  ['subscriptions create --event-type x --user ann --organization 9', 'connections list'],
  [`replay --event ${'0'.repeat(32)}`, 'events --json'],
  ['connect --user ann', 'connections list'],
];

test.each(cases)('%s, where it is not there, names %s', async (typed, listing) => {
  const { code, out, error } = await (await emptyShell()).run(...typed.split(' '));
  expect([code, out]).toEqual([3, '']);
  expect(error).toContain('tramline: there is no such thing\n');
  expect(error).toMatch(new RegExp(`\\n\\n→ See what there is: tramline ${listing}\\n$`));
});

test.each(
  cases.map(([, listing]) => listing).filter((listing, place, all) => all.indexOf(listing) === place),
)('the step %s is a command that is understood', async (listing) => {
  const { code, out } = await makeShell().run(...listing.split(' '), '--help');
  expect([code, out]).toEqual([0, expect.stringContaining(`Usage: tramline ${listing.split(' ')[0]}`)]);
});

test('no command that takes the name of a thing is left out', async () => {
  const shell = makeShell();
  const commandsOf = async (...path: string[]) => {
    const { out } = await shell.run(...path, '--help');
    return [...(out.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([a-z-]+)(.*)/gm)]
      .map(([, name = '', rest = '']) => ({
        path: [...path, name],
        takes: /^(?: \[options\])? (?:<\w+>|\[\w+\.{3}\])/.test(rest),
      }))
      .filter(({ path: [name] }) => name !== 'help');
  };
  const top = await commandsOf();
  const below = await Promise.all(top.map(({ path }) => commandsOf(...path)));
  const taking = [...top, ...below.flat()].filter(({ takes }) => takes).map(({ path }) => path.join(' '));
  expect(taking).toHaveLength(15);
  expect(taking.filter((path) => !cases.some(([typed]) => typed.startsWith(`${path} `)))).toEqual([]);
});

test('what a service does not find is answered with the same step', async () => {
  const shell = makeShell();
  const server = await serveFor(shell);
  const { code, error } = await shell.run('quarantine', 'show', '99');
  await server.close(10);
  expect([code, error]).toEqual([
    3,
    'tramline: there is no quarantine entry "99"\n\n→ See what there is: tramline quarantine list\n',
  ]);
});

test('a listing that ends for what is not there names the step too', async () => {
  const shell = makeShell();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  shell.provider.lines = [
    { fault: faultOf({ kind: 'gone', certain: true, connectionId: 'c1', origin: 'https://provider.test' }) },
  ];
  const { code, error } = await shell.run('files', 'list', '--organization', '9');
  expect(code).toBe(3);
  expect(error).toContain('→ See what there is: tramline organizations list\n');
});

test('machines are told by the exit code and the complaint alone', async () => {
  const { code, out, error } = await (await emptyShell()).run('organizations', 'get', '9999', '--json');
  expect([code, out, error]).toEqual([3, '', 'tramline: there is no such thing\n']);
});

test('what failed for another reason names no list', async () => {
  const shell = makeShell();
  const server = await serveFor(shell);
  const { code, error } = await shell.run('organizations', 'forget', '4711');
  await server.close(10);
  expect([code, error]).toEqual([1, expect.not.stringContaining('→')]);
});
