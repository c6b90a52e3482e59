/**
 * Goal: the authorization server is the one that is configured, as it describes itself: metadata that name another issuer, or
 * an endpoint elsewhere, connect nobody and are sent nothing; a server that takes the client's secret in the body gets it there;
 * an endpoint that moves is found again.
 * Method: the issuer is a server of the test's own that describes the provider's stand-in, truly or not.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Browser } from '../support/browser';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import { freePort } from '../support/free-port';

const metadata = 'GET /.well-known/oauth-authorization-server';

let server: Server;
let issuer: string;
let described: Record<string, unknown>;
let asked: string[];
let stage: ConnectStory;

beforeAll(async () => {
  asked = [];
  server = createServer((request, response) => {
    const call = `${request.method} ${request.url}`;
    asked.push(call);
    response.statusCode = call === metadata ? 200 : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(described));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const port = await freePort();
  stage = await beginConnectStory({
    flags: { port },
    settings: { PROVIDER_ISSUER: issuer, PROVIDER_ORIGINS: `http://127.0.0.1:${port}` },
  });
});
afterAll(async () => {
  await stage.story.end();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  const own = stage.story.simulator.issuer;
  described = {
    issuer,
    authorization_endpoint: `${own}/v1/authorize`,
    token_endpoint: `${own}/v1/token`,
    revocation_endpoint: `${own}/v1/revoke`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
});

test.each([
  [
    'another issuer',
    { issuer: 'https://elsewhere.example' },
    'expected PROVIDER_ISSUER as issuer, got https://elsewhere.example/',
  ],
  [
    'a token endpoint elsewhere',
    { token_endpoint: 'https://elsewhere.example/v1/token' },
    'expected token_endpoint at an origin that PROVIDER_ORIGINS names, got https://elsewhere.example/v1/token',
  ],
  [
    'a token endpoint without TLS',
    { token_endpoint: 'http://elsewhere.example/v1/token?secret=1' },
    'expected an https address as token_endpoint, got http://elsewhere.example/v1/token',
  ],
  [
    'no place for consent',
    { authorization_endpoint: 7 },
    'expected an address that can be asked as authorization_endpoint, got none',
  ],
])('metadata that name %s are told, and connect nobody', async (_what, wrong, said) => {
  described = { ...described, ...wrong };
  const command = stage.connect();
  const link = await command.untilPrinted(/(http:\S+link=[\w-]+)/);
  const page = await new Browser().press(link);
  expect(page.address).toContain(stage.environment.PUBLIC_URL);
  const { code, error } = await command.ended;
  expect(code).toBe(1);
  expect(error).toContain(said);
  expect(error).toContain(`${issuer}/.well-known/oauth-authorization-server`);
  expect(await stage.connections()).toEqual([]);
  expect(new Set(asked)).toEqual(new Set([metadata]));
});

test('a server that takes the client in the body alone gives a token, and renews it', async () => {
  const { story } = stage;
  const counted = async (wanted: string) => {
    const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
    return rows.find(({ row }) => row === wanted)!.count;
  };
  const command = stage.connect();
  await stage.consent(command, 'harrow-user-1');
  expect((await command.ended).code).toBe(0);
  expect(await counted('oauth2.client-post')).toBe(1);
  const [machine] = await story.equipment();
  await story.simulator.expireTokens();
  await story.simulator.changeEquipment(machine!.id, { name: 'Renewed' });
  await story.untilEvents(machine!, 1);
  expect([await counted('oauth2.client-post'), await counted('oauth2.client-basic')]).toEqual([2, 0]);
  expect(new Set(asked)).toEqual(new Set([metadata]));
});

test('a token endpoint that moves while a user consents is found where the metadata have it now', async () => {
  const own = described.token_endpoint;
  described.token_endpoint = `${issuer}/former`;
  const command = stage.connect();
  const browser = new Browser();
  const page = await browser.press(await command.untilPrinted(/(http:\S+link=[\w-]+)/));
  described.token_endpoint = own;
  asked.length = 0;
  await browser.answer(page, 'harrow-user-1');
  expect((await command.ended).code).toBe(0);
  expect(asked).toEqual(['POST /former', metadata]);
});
