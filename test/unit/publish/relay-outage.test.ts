// Goal: while Kafka is away one relay leads and tells it, since when it began, however short its lease is beside its pauses.
// Method: two relays on one outbox in memory, targets that follow a script, a clock that is moved by hand.
import { Problem } from '../../../src/model/problem';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, makeScriptedTarget } from '../../support/scripted-target';

const leaseMs = 8_000;
const beganMs = 1_000_000;

function setUp(troubleSinceMs: () => Promise<number | null> = async () => null) {
  const clock = makeHandClock(beganMs);
  const outbox = makeMemoryOutbox(clock);
  outbox.add({ topic: 't', key: 'a' });
  const relayOf = (holder: string) => {
    const target = makeScriptedTarget();
    const options = { ...relayDefaults, leaseMs, random: () => 0.999, clock, holder };
    return { target, relay: makeRelay(outbox, target, { ...options, troubleSinceMs }) };
  };
  return { clock, outbox, first: relayOf('first'), second: relayOf('second') };
}

const away = (code: 'publish.unavailable' | 'publish.refused') =>
  Array.from({ length: 500 }, () => new Problem(code, 'Kafka gave no answer'));

test.each(['publish.unavailable', 'publish.refused'] as const)(
  'a relay whose target is %s for three minutes leads all the time, and tells one absence since its beginning',
  async (code) => {
    const { clock, first, second } = setUp();
    first.target.openProblems = away(code);
    const told = new Set<string>();
    for (let elapsedMs = 0; elapsedMs < 180_000; elapsedMs += 500) {
      await first.relay.step();
      expect(await second.relay.step()).toBe('waiting');
      const conditions = first.relay.conditions().map(({ name, sinceMs }) => `${name} ${sinceMs - beganMs}`);
      if (elapsedMs > 15_000) told.add(conditions.join());
      await clock.advance(500);
    }
    expect(second.target.calls).toEqual([]);
    expect(second.relay.conditions()).toEqual([]);
    expect([...told]).toEqual(['kafka-unavailable 0']);
  },
);

test('a relay that waits for mute brokers longer than its lease keeps it', async () => {
  const { clock, first, second } = setUp();
  first.target.open = async () => {
    await clock.wait(20_000);
    throw new Problem('publish.unavailable', 'Kafka gave no answer');
  };
  const step = first.relay.step();
  await new Promise(setImmediate);
  for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 500) {
    await clock.advance(500);
    expect(await second.relay.step()).toBe('waiting');
  }
  expect(await step).toBe('waiting');
  expect(second.target.calls).toEqual([]);
});

test('a relay that paused so long that another leads is a standby again', async () => {
  const { clock, outbox, first } = setUp();
  first.target.openProblems = away('publish.refused');
  await first.relay.step();
  outbox.giveLeaseTo('another', 60_000);
  await clock.advance(3_000);
  expect(await first.relay.step()).toBe('waiting');
  expect(first.relay.holdUntilMs()).toBe(clock.nowMs() + 500);
  expect(first.relay.conditions()).toEqual([]);
});

test('who takes over in an absence that was told goes on telling it since then, until a record is written', async () => {
  const { clock, outbox, first, second } = setUp(async () => beganMs);
  outbox.giveLeaseTo('dead', 0);
  await clock.advance(60_000);
  second.target.openProblems = away('publish.unavailable').slice(0, 2);
  let before: unknown;
  const { open } = second.target;
  second.target.open = async () => {
    before ??= second.relay.conditions();
    await open();
  };
  expect(await second.relay.step()).toBe('waiting');
  expect(before).toMatchObject([{ name: 'kafka-unavailable', sinceMs: beganMs }]);
  expect(second.relay.conditions()).toEqual([
    { name: 'kafka-unavailable', sinceMs: beganMs, detail: 'Kafka gave no answer' },
  ]);
  expect(await first.relay.step()).toBe('waiting');
  expect(first.relay.conditions()).toEqual([]);
  second.target.script = [failAll('retry', 'NOT_LEADER_FOR_PARTITION')];
  while (second.target.sends.length === 0) {
    await clock.advance(500);
    await second.relay.step();
  }
  expect(second.relay.conditions()).toMatchObject([{ sinceMs: beganMs }]);
  await clock.advance(1_000);
  expect(await second.relay.step()).toBe('worked');
  expect(second.relay.conditions()).toEqual([]);
});

test('what was told is asked for when a relay begins to lead, again where the store did not say, and not later', async () => {
  let asked = 0;
  const { clock, first } = setUp(async () => {
    asked += 1;
    if (asked === 1) throw new Problem('store.unavailable', 'away');
    return null;
  });
  await expect(first.relay.step()).rejects.toThrow('away');
  expect(await first.relay.step()).toBe('worked');
  await clock.advance(5_000);
  await first.relay.step();
  expect(asked).toBe(2);
  await clock.advance(60_000);
  await first.relay.step();
  expect(asked).toBe(3);
});
