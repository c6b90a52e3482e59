/** What the driver of the proof decides by itself: whom a slow recovery is laid to, and how often a start is tried. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { keepEvidence } from '../prove/keep';
import type { ProofReport } from '../prove/prove';
import { makeRecoveries } from '../prove/recoveries';
import { findingsOf, tableOf } from '../prove/run';
import { startInTries, triesMax } from '../prove/starts';

let nowMs: number;

beforeEach(() => {
  nowMs = 0;
});

function recoveriesAt() {
  const recoveries = makeRecoveries(() => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return recoveries;
  };
  return { recoveries, at };
}

test('a recovery lasts from the heal to the next 204', () => {
  const { recoveries, at } = recoveriesAt();
  at(1000).broken();
  at(4000).healed('SIGKILL of 1');
  at(4300).accepted();
  at(9000).accepted();
  expect(recoveries.slowest).toEqual({ what: 'SIGKILL of 1', recoveredAfterMs: 300 });
});

test('a recovery that something else cut short is not charged with what that took', () => {
  const { recoveries, at } = recoveriesAt();
  at(1000).healed('SIGKILL of 1');
  at(1400).broken();
  at(301_400).healed('all brokers killed');
  at(302_000).accepted();
  expect(recoveries.slowest).toEqual({
    what: 'SIGKILL of 1, then all brokers killed',
    recoveredAfterMs: 1000,
  });
});

test('a 204 while something else is broken ends the recovery before', () => {
  const { recoveries, at } = recoveriesAt();
  at(1000).healed('SIGKILL of 1');
  at(1400).broken();
  at(3000).accepted();
  at(5000).healed('SIGTERM');
  at(5200).accepted();
  expect(recoveries.slowest).toEqual({ what: 'SIGKILL of 1', recoveredAfterMs: 400 });
});

async function tried(failures: number) {
  const failed: string[] = [];
  let tries = 0;
  const start = async () => {
    tries += 1;
    if (tries <= failures) throw new Error(`ended with 1, ${tries}`);
    return 'a service';
  };
  const service = await startInTries(
    start,
    ({ message }) => failed.push(message),
    async () => {},
  );
  return { service, failed, tries };
}

test('a start that fails is tried again and told', async () => {
  const twice = ['ended with 1, 1', 'ended with 1, 2'];
  expect(await tried(2)).toEqual({ service: 'a service', failed: twice, tries: 3 });
});

test('a start that fails again and again is given up', async () => {
  const { service, failed, tries } = await tried(Number.POSITIVE_INFINITY);
  expect([service, failed.length, tries]).toEqual([null, triesMax, triesMax]);
});

test('the table says how many starts failed', () => {
  const nothing = {
    sent: { sent: {}, others: {} },
    paged: {},
    slowest: {},
    lines: {},
    broken: {},
    onceNear: {},
  };
  const lists = { planned: [], unreached: [], findings: [], files: [], onceByQuarter: [] };
  const table = tableOf({ ...nothing, ...lists, failedStarts: 3 } as unknown as ProofReport);
  expect(table).toMatch(/^starts that failed +3$/m);
});

test('a process that does not start is told before the fifty findings that follow from it', () => {
  const findings = Array.from({ length: 60 }, () => ({ kind: 'untrue', text: 'old' }));
  const told = findingsOf({
    findings: [...findings, { kind: 'end', text: 'all did not start' }],
    keptIn: null,
  } as ProofReport);
  expect([told[0], told.length]).toEqual(['end: all did not start', 50]);
});

test('what a proof found is told with the folder that keeps what it was found in', () => {
  const findings = [{ kind: 'end', text: 'all did not start' }];
  const keptIn = keepEvidence({ findings, marks: new Map([['/one', ['Name 1']]]), seen: new Set(['/one']) });
  try {
    expect(findingsOf({ findings, keptIn } as ProofReport)).toEqual([
      'end: all did not start',
      `what they were found in is kept in ${keptIn}`,
    ]);
    const kept = (name: string) => JSON.parse(readFileSync(join(keptIn, `${name}.json`), 'utf8')) as unknown;
    expect([kept('findings'), kept('marks'), kept('seen')]).toEqual([
      findings,
      { '/one': ['Name 1'] },
      ['/one'],
    ]);
  } finally {
    rmSync(keptIn, { recursive: true });
  }
});
