// What never becomes an ordinary request gets an answer in the form of all others, once, and is counted as they are: also
// where Node would answer by itself, or not at all. Who does not read it holds nothing open.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Accepted } from '../../../src/model/notification';
import { answerBrokenRequests } from '../../../src/webhook/broken-requests';
import { until } from '../../support/until';
import {
  authorization,
  notification,
  openConnection,
  requestText,
  startReceiver,
  stopReceivers,
  stored,
} from './receiver';

afterEach(stopReceivers);

const delivery = requestText(JSON.stringify([notification()]));
const chunked = [
  'Host: a',
  `Authorization: ${authorization}`,
  'Content-Type: text/plain',
  'Transfer-Encoding: chunked',
];

const requests: [what: string, text: string, status: number, code: string, reason: string][] = [
  [
    'an expectation that is not met',
    delivery.replace('\r\n', '\r\nExpect: cake\r\n'),
    417,
    'expectation',
    'expectation',
  ],
  ['no host', delivery.replace(/Host: .*\r\n/, ''), 400, 'bad-request', 'not-http'],
  ['a tunnel that is asked for', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method', 'method'],
  ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad-request', 'not-http'],
  ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'bad-request', 'not-http'],
];

test.each(requests)('%s is answered once, as every refusal is, and counted', async (...given) => {
  const [, text, status, code, reason] = given;
  const receiver = await startReceiver();
  const connection = openConnection(receiver.port);
  connection.write(text);
  const answer = await connection.ended;
  expect(answer.match(/^HTTP\//gm)).toHaveLength(1);
  expect(answer).toMatch(
    new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close[^]*"code":"webhook\\.${code}"}$`),
  );
  expect(answer).toMatch(/^Content-Type: application\/problem\+json\r$/m);
  expect(/^Allow: (.*)\r$/m.exec(answer)?.[1]).toBe(status === 405 ? 'POST' : undefined);
  expect([receiver.refusals, receiver.deliveries]).toEqual([[{ reason, status }], []]);
});

test('a broken body after the answer to its head does not take that answer away', async () => {
  const receiver = await startReceiver();
  const connection = openConnection(receiver.port);
  connection.write(`POST /webhooks HTTP/1.1\r\n${chunked.join('\r\n')}\r\n\r\nzz\r\n`);
  expect((await connection.ended).match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 415']);
});

test.each(['CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 'BREW\r\n\r\n'])(
  'after a delivery without an answer yet, %j gets none: it would be taken for that one',
  async (text) => {
    const saved = Promise.withResolvers<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    const connection = openConnection(receiver.port);
    connection.write(delivery + text);
    expect(await connection.ended).toBe('');
    saved.resolve(stored);
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.refusals.at(-1)).toMatchObject({ status: 0 });
  },
);

test('who reads no answer loses the connection all the same', async () => {
  const server = createServer((_request, response) => response.end('x'.repeat(8_000_000)));
  const refused: string[] = [];
  answerBrokenRequests(server, (reason) => void refused.push(reason));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {}).pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\nBREW\r\n\r\n');
  await until(() => refused.length > 0, { withinMs: 5000 });
  const closed = once(server, 'close');
  server.close();
  await closed;
  expect(refused).toEqual(['not-http']);
  socket.destroy();
}, 10_000);
