// Goal: a page that Kafka is away outlives the process that told it, as the next one leads.
// Method: the outbox in memory beside the alerts that a store would hold, a target that cannot be opened.
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

test('a send that failed is told with how long it took, and a Kafka that cannot be opened as trouble', async () => {
  const clock = makeHandClock(noonMs);
  const target = makeScriptedTarget();
  target.openProblems = [new Problem('publish.unavailable', 'Kafka gave no answer')];
  target.script = [
    async (batches) => {
      await clock.advance(10_000);
      return { outcomes: batches.map(() => failure('retry', 'TIMED_OUT')), spent: true };
    },
  ];
  const outbox = makeMemoryOutbox(clock);
  const told: unknown[] = [];
  const tell = (line: unknown) => void told.push(line);
  const untraced = { startSend: () => ({ end: () => {} }) };
  const observer = { sent: tell, trouble: tell, ...untraced } as unknown as Observer;
  const ends = { topicEnds: async () => [], allFound: async () => {} };
  const store = { ...outbox, ...ends, listAlerts: async () => [] } as unknown as Store;
  const settings = { leaseSeconds: 60, kafkaClientId: 'tramline' } as Settings;
  const relay = relayOf(settings, { store, outbox: store, target }, observer, clock, 'me');
  outbox.add({ topic: 't', key: 'a' });
  await relay.step();
  expect(told).toEqual([{ place: 'kafka', code: 'publish.unavailable', detail: 'Kafka gave no answer' }]);
  await clock.advance(1000);
  await relay.step();
  expect(told.slice(1)).toEqual([
    expect.objectContaining({ topic: 't', count: 1, errorType: 'TIMED_OUT', tookMs: 10_000 }),
  ]);
});
