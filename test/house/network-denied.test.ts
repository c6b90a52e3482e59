// Goal: no test can reach anything but this machine, by whatever library it tries.
// Method: real attempts; the reserved name `.invalid` and the documentation network 192.0.2.0/24 lead nowhere anyway.
import { createServer, get, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { isHostAllowed } from '../support/deny-network';

function failureOf(attempt: (fail: (error: Error) => void) => void): Promise<NodeJS.ErrnoException> {
  return new Promise((resolve) => attempt(resolve));
}

test('a socket to another machine is refused, and the error names it', async () => {
  const error = await failureOf((fail) => connect(443, '192.0.2.1').on('error', fail));
  expect(error.code).toBe('ENETWORKDENIED');
  expect(error.message).toContain('192.0.2.1');
});

test('a socket given as an address object is refused', async () => {
  const error = await failureOf((fail) => connect({ host: 'provider.invalid', port: 443 }).on('error', fail));
  expect(error.code).toBe('ENETWORKDENIED');
});

test('a request by node:http is refused', async () => {
  const error = await failureOf((fail) => get('http://provider.invalid/').on('error', fail));
  expect(error.code).toBe('ENETWORKDENIED');
});

test('a request by fetch is refused', async () => {
  const error = (await fetch('https://provider.invalid/').catch((thrown) => thrown)) as Error;
  expect((error.cause as NodeJS.ErrnoException).code).toBe('ENETWORKDENIED');
});

describe('on loopback', () => {
  let server: Server;

  beforeAll(async () => {
    server = createServer((_request, response) => response.end('here'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  test('a request is let through', async () => {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(await response.text()).toBe('here');
  });
});

test.each([
  ['localhost', true],
  ['127.9.0.1', true],
  ['[::1]', true],
  ['127.0.0.1.example.org', false],
  ['0.0.0.0', false],
  ['example.org', false],
])('of the hosts, %s is allowed: %s', (host, allowed) => {
  expect(isHostAllowed(host, {})).toBe(allowed);
});

test('the hosts of named neighbours are allowed, and no others', () => {
  const environment = {
    TEST_KAFKA_BROKERS: 'one.test:9092, two.test:9093',
    TEST_DATABASE_URL: 'postgres://user:secret@store.test/name',
  };
  expect(
    ['one.test', 'two.test', 'store.test', 'three.test'].map((host) => isHostAllowed(host, environment)),
  ).toEqual([true, true, true, false]);
});
