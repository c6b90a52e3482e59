import { makeEventLogTarget } from '../../../src/publish/event-log';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { makeScriptedTarget } from '../../support/scripted-target';

test('the embedded log takes everything, in order, without partition and offset', async () => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  for (let number = 0; number < 1_200; number += 1) outbox.add({ topic: 't', key: `k${number % 7}` });
  const relay = makeRelay(outbox, makeEventLogTarget(), { ...relayDefaults, clock, holder: 'me' });
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
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

test.each([
  ['nothing was in Kafka', []],
  ['events were in Kafka', [{ topic: 't', partition: 0, nextOffset: '7', last: null }]],
])('what the log took while another led without brokers is sent first, where %s before', async (_, known) => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  const kafka = makeScriptedTarget();
  outbox.topicEnds = async () => known;
  const relay = makeRelay(outbox, kafka, { ...relayDefaults, clock, holder: 'me' });
  expect(await relay.step()).toBe('empty');
  await clock.advance(relayDefaults.leaseMs);
  const without = makeRelay(outbox, makeEventLogTarget(), { ...relayDefaults, clock, holder: 'another' });
  outbox.add({ topic: 't', key: 'a' });
  await without.step();
  expect(await relay.step()).toBe('waiting');
  await without.close();
  outbox.add({ topic: 't', key: 'a' });
  await clock.advance(500);
  while ((await relay.step()) === 'worked');
  expect(kafka.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'a2']);
  await relay.close();
});

test('a log of many pages is sent in order by whoever goes on after an end between two of them', async () => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  for (let number = 0; number < 4_500; number += 1) outbox.add({ topic: 't', key: `k${number % 7}` });
  for (const [index, row] of outbox.rows.entries())
    row.sent = { position: index + 1, partition: null, offset: null };
  for (let key = 0; key < 7; key += 1) outbox.add({ topic: 't', key: `k${key}` });
  const resend = outbox.resendLogged;
  outbox.resendLogged = async (after, limit) => {
    const last = await resend(after, limit);
    outbox.failing.add('resendLogged');
    return last;
  };
  const first = makeScriptedTarget();
  const ended = makeRelay(outbox, first, { ...relayDefaults, clock, holder: 'first' });
  await expect(ended.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  await ended.close();
  expect(first.written).toEqual([]);
  expect(outbox.rows.filter(({ sent }) => sent === null)).toHaveLength(2_007);
  outbox.failing.clear();
  outbox.resendLogged = resend;
  const kafka = makeScriptedTarget();
  const relay = makeRelay(outbox, kafka, { ...relayDefaults, clock, holder: 'second' });
  for (let step = await relay.step(); step === 'worked'; ) step = await relay.step();
  expect(kafka.written).toHaveLength(4_507);
  for (let key = 0; key < 7; key += 1) {
    const sequences = kafka.written.filter((row) => row.key === `k${key}`).map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  }
});

test('a log of many pages is left to another after the page during which that began to lead', async () => {
  const clock = makeHandClock(0);
  const outbox = makeMemoryOutbox(clock);
  for (let number = 0; number < 4_500; number += 1) outbox.add({ topic: 't', key: `k${number % 7}` });
  for (const [index, row] of outbox.rows.entries())
    row.sent = { position: index + 1, partition: null, offset: null };
  const resend = outbox.resendLogged;
  outbox.resendLogged = async (after, limit) => {
    const last = await resend(after, limit);
    outbox.giveLeaseTo('another', 60_000);
    await clock.advance(relayDefaults.leaseMs / 3);
    return last;
  };
  const kafka = makeScriptedTarget();
  const relay = makeRelay(outbox, kafka, { ...relayDefaults, clock, holder: 'me' });
  expect(await relay.step()).toBe('waiting');
  expect(kafka.calls).toEqual(['open', 'discard']);
  expect(outbox.rows.filter(({ sent }) => sent === null)).toHaveLength(2_000);
});
