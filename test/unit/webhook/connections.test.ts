// Goal: at the bound of connections those who hold one without asking anything give way to who comes to deliver.
// Method: the real listener with a small bound, bare connections on loopback.
import type { Accepted } from '../../../src/model/notification';
import {
  notification,
  openConnection,
  post,
  requestText,
  startReceiver,
  stopReceivers,
  stored,
} from './receiver';

afterEach(stopReceivers);

const stranger = 'GET /other HTTP/1.1\r\nHost: a\r\n\r\n';
const delivery = requestText(JSON.stringify([notification()]));

async function openAfter(port: number, text: string) {
  const connection = openConnection(port);
  connection.write(text);
  await connection.answers(1);
  return connection;
}

test('W10: strangers who hold all connections and ask nothing keep no delivery out', async () => {
  const receiver = await startReceiver({ settings: { limits: { connectionsMax: 20 } } });
  for (let count = 0; count < 30; count += 1) await openAfter(receiver.port, stranger);
  for (let count = 0; count < 30; count += 1) {
    expect((await post(receiver.port, [notification()])).status).toBe(204);
  }
  expect(receiver.refusals.map(({ reason }) => reason)).not.toContain('too-many-connections');
});

test('W10: connections over which nothing came keep no delivery out', async () => {
  const receiver = await startReceiver({ settings: { limits: { connectionsMax: 5 } } });
  for (let count = 0; count < 10; count += 1) await openConnection(receiver.port).opened;
  expect((await post(receiver.port, [notification()])).status).toBe(204);
});

test('the one that is idle for the longest time ends first, and none with a request under way', async () => {
  const waiting: ((accepted: Accepted) => void)[] = [];
  const receiver = await startReceiver({
    settings: { limits: { connectionsMax: 3 } },
    accept: async () =>
      waiting.length > 0 ? stored : new Promise<Accepted>((resolve) => waiting.push(resolve)),
  });
  const busy = openConnection(receiver.port);
  busy.write(delivery);
  while (waiting.length === 0) await new Promise(setImmediate);
  const early = await openAfter(receiver.port, delivery);
  const late = await openAfter(receiver.port, delivery);
  // What is asked again makes it the later one.
  early.write(delivery);
  await early.answers(2);
  const next = await openAfter(receiver.port, delivery);
  await late.ended;
  const last = await openAfter(receiver.port, delivery);
  await early.ended;
  waiting[0]?.(stored);
  expect(await busy.answers(1)).toMatch(/^HTTP\/1\.1 204 /);
  await openAfter(receiver.port, delivery);
  await next.ended;
  for (const open of [busy, last]) open.write(delivery);
  await Promise.all([busy, last].map((open) => open.answers(2)));
});

test('W10: whoever asks for much ahead and hears nothing is cut off, and no more than 16 of it is looked at', async () => {
  const waiting: ((accepted: Accepted) => void)[] = [];
  const receiver = await startReceiver({
    accept: () => new Promise<Accepted>((resolve) => waiting.push(resolve)),
  });
  const ahead = openConnection(receiver.port);
  ahead.write(delivery.repeat(16));
  while (waiting.length === 0) await new Promise(setImmediate);
  for (const take of waiting) take(stored);
  await ahead.answers(1);
  const refused = receiver.refusals.length;
  const greedy = openConnection(receiver.port);
  greedy.write(`${delivery}${stranger.repeat(2000)}`);
  await greedy.ended;
  expect(receiver.refusals.length - refused).toBeLessThanOrEqual(16);
  for (const take of waiting) take(stored);
});
