import { makeEventLogTarget } from '../../../src/publish/event-log';
import { makeRelay, relayDefaults } from '../../../src/publish/relay';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { makeScriptedTarget } from '../../support/scripted-target';

test('the embedded log takes everything, in order, without partition and offset', async () => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  for (let number = 0; number < 1_200; number += 1) outbox.add({ topic: 't', key: `k${number % 7}` });
  const relay = makeRelay(outbox, makeEventLogTarget(), { ...relayDefaults, clock, holder: 'me' });
  const steps = [];
  for (let step = 0; step < 4; step += 1) steps.push(await relay.step());
  expect(steps).toEqual(['worked', 'worked', 'worked', 'empty']);
  expect(outbox.rows.map(({ sent }) => sent)).toEqual(
    outbox.rows.map((_, index) => ({ position: index + 1, partition: null, offset: null })),
  );
  expect(outbox.calls).not.toContain('resendLogged');
  await relay.close();
});

test('what the embedded log had is sent first, in order, once Kafka is there', async () => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  for (const key of ['a', 'b', 'a']) outbox.add({ topic: 't', key });
  const before = makeRelay(outbox, makeEventLogTarget(), { ...relayDefaults, clock, holder: 'me' });
  await before.step();
  await before.close();
  outbox.add({ topic: 't', key: 'a' });
  const kafka = makeScriptedTarget();
  const relay = makeRelay(outbox, kafka, { ...relayDefaults, clock, holder: 'me' });
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
  expect(kafka.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'b1', 'a2', 'a3']);
  expect(outbox.calls.filter((verb) => verb === 'resendLogged')).toHaveLength(1);
});
