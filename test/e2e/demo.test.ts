/**
 * The demonstration as a person runs it: it ends with 0 when its ledger adds up, with one page and its end; and with 1,
 * in plain words, when the log that it reads back has lost an event. Interrupted, it leaves nothing behind.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ended, runCommand, startCommand } from '../support/command';
import { temporaryFolder } from '../support/service';
import { until } from '../support/until';

/**
 * Loaded into the process before it: the log as it is read back at the end lacks its last event, and standard output is
 * taken for a terminal.
 */
const forgetful = `process.stdout.isTTY = true;
process.env.TERM = 'xterm';
delete process.env.NO_COLOR;
const ask = globalThis.fetch;
globalThis.fetch = async (address, given) => {
  const answer = await ask(address, given);
  if (!String(address).endsWith('/api/events?limit=1000')) return answer;
  return new Response(JSON.stringify((await answer.json()).slice(0, -1)));
};`;

let told: Ended;
let falsified: Ended;
beforeAll(async () => {
  const preload = join(temporaryFolder(), 'forgetful.cjs');
  writeFileSync(preload, forgetful);
  [told, falsified] = await Promise.all([
    runCommand(['demo'], {}),
    runCommand(['demo', '--json'], { NODE_OPTIONS: `--require ${preload}` }),
  ]);
});

test('the demonstration ends well: both events of a machine, one page, its end, and a ledger that adds up', () => {
  expect(told).toMatchObject({ code: 0, error: '' });
  expect(told.out.match(/FIRING TramlineTermsRequired/g)).toHaveLength(1);
  expect(told.out.match(/RESOLVED TramlineTermsRequired/g)).toHaveLength(1);
  expect(told.out).toMatch(/"type": "io\.tramline\.equipment\.updated\.v1"/);
  expect(told.out).toMatch(/"name": "Harvester South"/);
  expect(told.out).toMatch(/accepted +\d+ .*\n +published +7 /);
  expect(told.out).toMatch(/waiting +0 .*\n +lost +0 /);
  expect(told.out).toContain('The sender’s own log says the same.');
  // While one organization is blocked: between its page and the end of it.
  expect(told.out).toMatch(
    /FIRING [\s\S]+The other organizations go on:[\s\S]+“Baler\s+East”[\s\S]+RESOLVED /,
  );
});

test('the demonstration ends with 1 when an event is missing from the log, and says so as JSON where that is asked for', () => {
  expect(falsified.code).toBe(1);
  expect(falsified.error).toContain('This does not add up:');
  const said = JSON.parse(falsified.out) as { faults: string[] };
  expect(said).toMatchObject({ published: 7, waiting: 0, lost: 0 });
  expect(said.faults.length).toBeGreaterThan(0);
  // The story goes elsewhere, and what is no terminal gets no colours.
  expect(falsified.error).not.toContain('\x1b');
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'the demonstration ends at %s with 130 and leaves no folder',
  async (signal) => {
    const folder = temporaryFolder();
    const command = startCommand(['demo'], { TMPDIR: folder });
    await command.untilPrinted(/A machine is renamed/);
    expect(readdirSync(folder)).toHaveLength(1);
    command.signal(signal);
    expect(await command.ended).toMatchObject({ code: 130, error: '' });
    expect(readdirSync(folder)).toEqual([]);
  },
);

test('the demonstration that is interrupted before it has begun leaves no folder either', async () => {
  const folder = temporaryFolder();
  const command = startCommand(['demo'], { TMPDIR: folder });
  await until(() => readdirSync(folder).length > 0, { withinMs: 20_000, what: 'the folder' });
  command.interrupt();
  expect(await command.ended).toMatchObject({ code: 130, out: '', error: '' });
  expect(readdirSync(folder)).toEqual([]);
});

/** A slow disk: the store's thread opens half a second late, and the process stays a second after it removed the folder. */
const slowDisk = `const fs = require('node:fs');
const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
if (!require('node:worker_threads').isMainThread) {
  fs.writeFileSync(process.env.STORE_BEGINS, '');
  wait(500);
}
const { rmSync } = fs;
fs.rmSync = (...given) => {
  rmSync(...given);
  wait(1000);
};`;

test('the demonstration that is interrupted while its store opens leaves no folder either', async () => {
  const elsewhere = temporaryFolder();
  const preload = join(elsewhere, 'slow-disk.cjs');
  writeFileSync(preload, slowDisk);
  const folder = temporaryFolder();
  const command = startCommand(['demo'], {
    TMPDIR: folder,
    NODE_OPTIONS: `--require ${preload}`,
    STORE_BEGINS: join(elsewhere, 'begun'),
  });
  await until(() => existsSync(join(elsewhere, 'begun')), { withinMs: 20_000, what: 'the store to begin' });
  command.interrupt();
  expect(await command.ended).toMatchObject({ code: 130, out: '', error: '' });
  expect(readdirSync(folder)).toEqual([]);
});
