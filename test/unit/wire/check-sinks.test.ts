// What a check says of Alertmanagers: one that is away and one that is reached and says something else are told apart.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkSinks } from '../../../src/wire/check-sinks';

let server: Server;
let answer: { status: number; text: string };
beforeEach(async () => {
  server = createServer((_request, response) => response.writeHead(answer.status).end(answer.text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => void server.close());

test('an Alertmanager that answers with something else than its status is not said to be away', async () => {
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sinks = [{ name: 'alertmanager', repeats: true }] as const;
  const check = (...alertmanagerUrls: string[]) => checkSinks({ alertmanagerUrls }, sinks, async () => []);
  answer = { status: 200, text: '{"uptime":"2026-01-01T00:00:00Z"}' };
  expect(await check(address)).toBe('1 Alertmanager answers');
  for (const other of [
    { status: 503, text: '' },
    { status: 401, text: '' },
    { status: 307, text: '' },
    { status: 200, text: '<html>' },
  ]) {
    answer = other;
    await expect(check(address)).rejects.toMatchObject({
      message: `Alertmanager at ${address} answers ${other.status}, but not with its status`,
      next: 'Look at the sinks’ addresses.',
    });
  }
  // Two behind one proxy are told apart.
  await expect(check(`${address}/one`, `${address}/two/`)).rejects.toMatchObject({
    message: `Alertmanager at ${address}/one answers 200, but not with its status; Alertmanager at ${address}/two answers 200, but not with its status`,
  });
  await expect(check('http://127.0.0.1:1')).rejects.toMatchObject({
    message: 'Alertmanager at http://127.0.0.1:1 does not answer',
  });
});
