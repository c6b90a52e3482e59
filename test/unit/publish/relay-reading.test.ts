// Goal: a relay that begins to lead sends nothing before it has read on, reads only while it leads, and leaves the rest to
// whoever leads next; where nothing can be read it waits, and says so.
// Method: the outbox in memory, a target whose pages the test hands out, a clock that is moved by hand; the relay is stepped.

import { Problem } from '../../../src/model/problem';
import type { LeaseHeld } from '../../../src/model/store';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { PublishTarget } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { makeScriptedTarget } from '../../support/scripted-target';

const leaseMs = 9_000;
const page = { topic: 't', partition: 0, from: '0', nextOffset: '1', records: [] };

function setUp(more: Partial<typeof relayDefaults> = {}) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(clock);
  outbox.add({ topic: 't', key: 'a' });
  const target = makeScriptedTarget();
  const found: unknown[] = [];
  Object.assign(outbox, {
    topicEnds: async () => [{ topic: 't', partition: 0, nextOffset: '7', last: null }],
    noteFound: async (told: unknown) => found.push(told),
  });
  const options = { ...relayDefaults, leaseMs, ...more, random: () => 0.5, clock };
  const relay = makeRelay(outbox, target, { ...options, holder: 'me' });
  const other = makeRelay(outbox, makeScriptedTarget(), { ...options, holder: 'another' });
  return { clock, outbox, target, relay, other, found };
}

/** Two pages; before the second comes what is done `between`. */
function inTwoPages(between: () => unknown): PublishTarget['readOn'] {
  return async (_known, heard) => {
    if (!(await heard(page))) return null;
    await between();
    if (!(await heard({ ...page, from: '1', nextOffset: '2' }))) return null;
    return { unread: [], denied: [], ends: [] };
  };
}

test('reading ends with the page after which the relay is closed, and nothing is sent', async () => {
  const { target, relay, found } = setUp();
  target.readOn = async (known, heard) => {
    void relay.close();
    return inTwoPages(() => {})(known, heard);
  };
  expect(await relay.step()).toBe('waiting');
  expect(found).toHaveLength(1);
  expect(target.calls).not.toContain('send');
});

test('reading ends where another leads by then, and nothing is sent', async () => {
  const { clock, outbox, target, relay, found } = setUp();
  target.readOn = inTwoPages(async () => {
    outbox.giveLeaseTo('another', 60_000);
    await clock.advance(leaseMs / 3);
  });
  expect(await relay.step()).toBe('waiting');
  expect(found).toHaveLength(2);
  expect(target.calls).not.toContain('send');
  expect(target.calls.at(-1)).toBe('discard');
});

test('a relay that reads for longer than its lease keeps it', async () => {
  const { clock, outbox, target, relay, other } = setUp();
  target.readOn = inTwoPages(async () => {
    for (let passedMs = 0; passedMs < 2 * leaseMs; passedMs += 1000) await clock.advance(1000);
    expect(await other.step()).toBe('waiting');
  });
  expect(await relay.step()).toBe('worked');
  expect(outbox.rows[0]?.sent).not.toBeNull();
});

test('a store that cannot note what was found is no trouble of Kafka’s', async () => {
  const { clock, outbox, target, relay } = setUp();
  target.readOn = inTwoPages(() => {});
  outbox.noteFound = async () => Promise.reject(new Problem('store.unavailable', 'away'));
  await expect(relay.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  await clock.advance(60_000);
  expect(relay.conditions()).toEqual([]);
});

test('topics that cannot be read are tried again by another producer, later and later, and that is told', async () => {
  const { clock, target, relay } = setUp();
  target.readOn = async () => Promise.reject(new Error('no broker'));
  const pauses: number[] = [];
  for (let turn = 0; turn < 25; turn += 1) {
    expect(await relay.step()).toBe('waiting');
    pauses.push((relay.holdUntilMs() ?? 0) - clock.steadyMs());
    await clock.advance(Math.max(0, pauses.at(-1)!));
  }
  expect(pauses.slice(0, 3)).toEqual([100, 200, 400]);
  expect(target.calls).toEqual(pauses.flatMap(() => ['open', 'discard']));
  expect(relay.conditions()).toMatchObject([
    { name: 'kafka-unavailable', sinceMs: 1_000_000, detail: expect.stringContaining('cannot be read') },
  ]);
});

test('rows are picked and marked only where the store knows the ends that it was told', async () => {
  const { outbox, relay } = setUp();
  const told: LeaseHeld[] = [];
  const { pickUnsent, markSent } = outbox;
  outbox.pickUnsent = (limit, bytesMax, except, lease) => {
    told.push(lease!);
    return pickUnsent(limit, bytesMax, except, lease);
  };
  outbox.markSent = (acknowledgements, lease, again) => {
    told.push(lease!);
    return markSent(acknowledgements, lease, again);
  };
  await relay.step();
  await relay.step();
  const ends = told.map((lease) => lease.ends?.map(({ nextOffset }) => nextOffset));
  expect(ends).toEqual([['7'], ['7'], ['1']]);
});

test('a lease that lapsed in a pause is not taken again before the pause is over, and then all is read anew', async () => {
  const { clock, target, relay, other } = setUp({
    denied: { baseMs: 10_000, maxMs: 10_000 },
    epochMsMax: 1000,
  });
  let reads = 0;
  target.readOn = async () => {
    reads += 1;
    return { unread: [], denied: [], ends: [] };
  };
  await relay.step();
  target.openProblems = [new Problem('publish.refused', 'the login was refused')];
  await clock.advance(1000);
  await relay.step();
  clock.standStill(leaseMs);
  await other.step();
  await other.close();
  expect(await relay.step()).toBe('waiting');
  await clock.advance(1000);
  await relay.step();
  expect(reads).toBe(2);
});

test('what was acknowledged and could not be marked is left to whoever leads next', async () => {
  const { clock, outbox, target, relay } = setUp();
  outbox.failing.add('markSent');
  await expect(relay.step()).rejects.toThrow();
  clock.standStill(leaseMs);
  outbox.failing.clear();
  await relay.step();
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'a1']);
  expect(outbox.rows[0]?.sent?.offset).toBe('1');
});
