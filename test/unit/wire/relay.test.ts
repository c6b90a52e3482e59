// Goal: a page that Kafka is away outlives the process that told it, as the next one leads; what a send met is told.
// Method: the outbox in memory beside the alerts that a store would hold, a target that answers by a script.
import type { Settings } from '../../../src/config';
import type { Alert } from '../../../src/model/alert';
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import type { Observer } from '../../../src/observe/observer';
import { relayOf } from '../../../src/wire/relay';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failure, makeScriptedTarget } from '../../support/scripted-target';
import { anAlert, noonMs } from '../alert/samples';

const told = anAlert({ name: 'TramlineKafkaUnavailable', labels: {}, startsAtMs: noonMs - 600_000 });

/** What a relay that begins to lead tells after its first failure. */
async function toldAfterFailure(alerts: Alert[]) {
  const clock = makeHandClock(noonMs);
  const target = makeScriptedTarget();
  target.openProblems = [new Problem('publish.unavailable', 'Kafka gave no answer')];
  const store = { ...makeMemoryOutbox(clock), listAlerts: async () => alerts } as unknown as Store;
  const settings = { leaseSeconds: 60, kafkaClientId: 'tramline' } as Settings;
  const observer = { sent: () => {}, trouble: () => {} } as unknown as Observer;
  const relay = relayOf(settings, { store, outbox: store, target }, observer, clock, 'me');
  expect(await relay.step()).toBe('waiting');
  return relay.conditions().map(({ name, sinceMs }) => [name, sinceMs]);
}

test('an absence of Kafka that is told goes on since it began, under whoever leads next', async () => {
  expect(await toldAfterFailure([anAlert(), told])).toEqual([['kafka-unavailable', told.startsAtMs]]);
});

test('a topic that is told to be denied goes on so since it began, under whoever leads next', async () => {
  const denied = anAlert({ ...told, name: 'TramlineTopicDenied', labels: { topic: 't' } });
  expect(await toldAfterFailure([denied])).toEqual([['topic-denied', told.startsAtMs]]);
  expect(await toldAfterFailure([{ ...denied, quietSinceMs: noonMs }])).toEqual([]);
});

test('one that is over, or was seen to be over, is none any more', async () => {
  expect(await toldAfterFailure([{ ...told, state: 'resolved' }])).toEqual([]);
  expect(await toldAfterFailure([{ ...told, quietSinceMs: noonMs }])).toEqual([]);
  expect(await toldAfterFailure([anAlert()])).toEqual([]);
});

/** A relay beside no alerts, and what it tells. */
function setUp() {
  const clock = makeHandClock(noonMs);
  const target = makeScriptedTarget();
  const outbox = makeMemoryOutbox(clock);
  const told: unknown[] = [];
  const tell = (line: unknown) => void told.push(line);
  const throttled = (forMs: number) => tell({ throttledMs: forMs });
  const untraced = { startSend: () => ({ end: () => {} }) };
  const observer = { sent: tell, trouble: tell, throttled, ...untraced } as unknown as Observer;
  const store = { ...outbox, listAlerts: async () => [] } as unknown as Store;
  const settings = { leaseSeconds: 60, kafkaClientId: 'tramline' } as Settings;
  const relay = relayOf(settings, { store, outbox: store, target }, observer, clock, 'me');
  return { clock, target, outbox, told, relay };
}

test('a send that failed is told with how long it took, and a Kafka that cannot be opened as trouble', async () => {
  const { clock, outbox, target, told, relay } = setUp();
  target.openProblems = [new Problem('publish.unavailable', 'Kafka gave no answer')];
  target.script = [
    async (batches) => {
      await clock.advance(10_000);
      return { outcomes: batches.map(() => failure('retry', 'TIMED_OUT')), spent: true };
    },
  ];
  outbox.add({ topic: 't', key: 'a' });
  await relay.step();
  expect(told).toEqual([{ place: 'kafka', code: 'publish.unavailable', detail: 'Kafka gave no answer' }]);
  await clock.advance(1000);
  await relay.step();
  expect(told.slice(1)).toEqual([
    expect.objectContaining({ topic: 't', count: 1, errorType: 'TIMED_OUT', tookMs: 10_000 }),
  ]);
});

test('a quota that holds sends back is counted while it lasts, and told once it begins and once it is over', async () => {
  const { clock, outbox, target, told, relay } = setUp();
  for (const heldBackMs of [12_000, 30_500]) {
    outbox.add({ topic: 't', key: 'a' });
    target.script = [(batches) => ({ outcomes: target.write(batches), spent: false, heldBackMs })];
    await relay.step();
    await clock.advance(heldBackMs);
  }
  // Within its lease.
  for (const ms of [0, 30_000, 30_000]) {
    await clock.advance(ms);
    await relay.step();
  }
  expect(told.filter((line) => !Object.hasOwn(line as object, 'topic'))).toEqual([
    {
      place: 'kafka',
      code: 'publish.throttled',
      detail: expect.stringMatching(
        /^A quota of the brokers holds back what is asked of them, now for 12 s; .* `kafka-configs\.sh --bootstrap-server /,
      ),
    },
    { throttledMs: 12_000 },
    { throttledMs: 30_500 },
    {
      place: 'kafka',
      code: 'publish.unthrottled',
      detail: expect.stringMatching(/ 43 s were waited for one\.$/),
    },
  ]);
});
