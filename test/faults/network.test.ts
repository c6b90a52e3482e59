/**
 * S5, S12 and F-21: names that resolve to somewhere else, not at all or never, and far sides that cannot prove who they
 * are. The network below the client is scripted: what a lookup says, what a certificate says. Whatever happens, no
 * request and no credential leaves, the read ends in time with a code of its own, and one read is one try.
 */
import dns from 'node:dns';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import tls from 'node:tls';
import { loadSettings } from '../../src/config';
import { isReachable } from '../../src/fetch/reachable';
import { makeAuthority, makeSelfSigned } from '../support/certificates';
import { requestFor, type Staged, stageClient } from '../support/provider-client';

// What is listened on here is loopback, which the real judge would never leave to a name. A test that needs a public
// place says so for one connection.
jest.mock('../../src/fetch/reachable', () => {
  const real = jest.requireActual('../../src/fetch/reachable');
  return { ...real, isReachable: jest.fn(real.isReachable) };
});

const real = jest.requireActual<{ isReachable: typeof isReachable }>('../../src/fetch/reachable');
const json = { 'content-type': 'application/json' };
const authority = makeAuthority();
const names = ['127.0.0.1', 'localhost'];
const dayMs = 86_400_000;
const trusted = tls.getCACertificates('default');
beforeAll(() => tls.setDefaultCACertificates([...trusted, authority.cert]));
afterAll(() => tls.setDefaultCACertificates(trusted));

let servers: Server[] = [];
let staged: Staged | null = null;
/** What reached the provider, each with its credential. */
let asked: (string | undefined)[];
let connections: number;

beforeEach(() => {
  asked = [];
  connections = 0;
  jest.mocked(isReachable).mockReset().mockImplementation(real.isReachable);
});

afterEach(async () => {
  jest.restoreAllMocks();
  staged?.client.close();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  servers = [];
});

/** A provider that answers everything. Its port. */
async function serve(secure: ServerOptions = authority.issue({ names })): Promise<number> {
  const listener: RequestListener = (request, response) => {
    asked.push(request.headers.authorization);
    // Each request takes a connection of its own, and so a lookup of its own.
    response.writeHead(200, { ...json, connection: 'close' }).end('{"id":"op-1","links":[]}');
  };
  const server = createServer(secure, listener);
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

async function read(base: string, timeoutMs = 3000) {
  staged?.client.close();
  staged = stageClient({ catalogUrl: `${base}/platform/`, equipmentUrl: `${base}/isg`, timeoutMs });
  const { answer } = await staged.client.read(requestFor(`${base}/platform/fieldOperations/op-1`));
  return answer;
}

const aPublicPlace = () =>
  jest.mocked(isReachable).mockImplementationOnce((host) => real.isReachable(host, '203.0.113.7'));

describe('S5: a name of the provider', () => {
  test('that leads to this machine at its second lookup is left at the connect, before anything is sent', async () => {
    const port = await serve();
    const lookups = jest.spyOn(dns, 'lookup');
    aPublicPlace();
    const answer = await read(`https://localhost:${port}`);
    // The catalog was read at the first place; the resource, with the token, was not asked for at the second.
    expect(answer).toMatchObject({ kind: 'transient', code: 'address-private' });
    expect(asked).toHaveLength(1);
    expect(lookups).toHaveBeenCalledTimes(2);
    expect(connections).toBe(2);
  });
});

describe('F-21: a name that does not resolve', () => {
  type Lookup = (error: Error | null, addresses?: { address: string; family: number }[]) => void;

  function lookUp(answer: (callback: Lookup) => void) {
    const scripted = (...words: unknown[]) => answer(words.at(-1) as Lookup);
    return jest.spyOn(dns, 'lookup').mockImplementation(scripted as unknown as typeof dns.lookup);
  }

  test.each([
    ['does not exist', 'ENOTFOUND'],
    ['is not answered for (SERVFAIL)', 'EAI_AGAIN'],
  ])('because it %s is one try, and worth another', async (_what, code) => {
    const port = await serve();
    const lookups = lookUp((callback) =>
      process.nextTick(callback, Object.assign(new Error(code), { code })),
    );
    expect(await read(`https://localhost:${port}`)).toMatchObject({
      kind: 'transient',
      code: 'name-not-resolved',
    });
    expect(lookups).toHaveBeenCalledTimes(1);
    lookups.mockRestore();
    aPublicPlace();
    aPublicPlace();
    expect(await read(`https://localhost:${port}`)).toMatchObject({ kind: 'ok' });
  });

  test('in time ends with the read’s deadline', async () => {
    const port = await serve();
    lookUp(() => {});
    const startedAt = performance.now();
    expect(await read(`https://localhost:${port}`, 200)).toMatchObject({
      kind: 'transient',
      code: 'deadline',
    });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(connections).toBe(0);
  });
});

describe('S12: a provider', () => {
  test.each<[string, () => ServerOptions]>([
    ['that signed for itself', () => makeSelfSigned({ names })],
    ['whom another authority signed', () => makeAuthority('Somebody else').issue({ names })],
    [
      'with the certificate of another name',
      () => authority.issue({ names: ['127.0.0.2', 'provider.example'] }),
    ],
    ['whose certificate has expired', () => authority.issue({ names, untilMs: Date.now() - 1000 })],
    ['whose certificate does not hold yet', () => authority.issue({ names, fromMs: Date.now() + dayMs })],
    [
      'that speaks TLS 1.1 only',
      () => ({
        ...authority.issue({ names }),
        minVersion: 'TLSv1.1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      }),
    ],
  ])('%s is told nothing, and tried once a read', async (_what, optionsOf) => {
    const port = await serve(optionsOf());
    expect(await read(`https://127.0.0.1:${port}`)).toMatchObject({ kind: 'transient', code: 'tls-refused' });
    expect(asked).toEqual([]);
    expect(connections).toBe(1);
  });

  test('with a certificate for its name, in its time, by an authority that is trusted, is asked', async () => {
    const port = await serve();
    expect(await read(`https://127.0.0.1:${port}`)).toMatchObject({ kind: 'ok' });
    expect(asked.at(-1)).toBe('Bearer canary-token');
  });

  test('is never believed unchecked: the variable by which Node would is refused at the start', () => {
    const environment = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(() => loadSettings('command', environment)).toThrow(
      /^NODE_TLS_REJECT_UNAUTHORIZED must not be 0/m,
    );
    expect(() => loadSettings('command', {})).not.toThrow();
  });
});
