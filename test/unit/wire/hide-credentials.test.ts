// The provider's words are kept and shown, so a credential that it quotes must not be among them; everything else that it
// says, and every document, must come through as it is.
import type { OrganizationsPage, ProviderClient } from '../../../src/fetch/provider-client';
import type { ReadRequest } from '../../../src/fetch/read-through';
import type { Answer } from '../../../src/model/answer';
import type { Connection } from '../../../src/model/connection';
import type { RawFault } from '../../../src/model/provider-data';
import { Secret } from '../../../src/tools/secret';
import { hideCredentials } from '../../../src/wire/hide-credentials';

const token = 'token/of+ann=1234567890';
const ann: Connection = {
  connectionId: 'c1',
  user: 'ann',
  auth: 'oauth1',
  token: new Secret(token),
  sealedToken: 'sealed',
  tokenSecret: new Secret('token-secret-of-ann'),
  refresh: new Secret('short'),
  expiresAt: null,
  status: 'valid',
};
const cost = { calls: 1, resends: 0, bytes: 2, tookMs: 3, status: 403 };
const due = { organizationId: '1', epoch: 1, refusedAddress: null, knownAddress: null, connectionId: 'c1' };
const request: ReadRequest = {
  address: 'https://provider.test/a',
  resource: null,
  organizationId: null,
  hintedOrganizationId: null,
  hintedUser: null,
  connectionId: null,
};

/** A client that answers this to everything. */
function clientAnswering(
  answer: Answer,
  pages: OrganizationsPage[] = [],
  connections = () => [ann],
): ProviderClient {
  const plain: ProviderClient = {
    read: async () => ({ answer, cost }),
    probe: async () => answer,
    showUnprobed: async () => false,
    readOrganization: async () => ({ answer }),
    async *organizations() {
      yield* pages;
    },
    equipmentTrouble: async () => ('message' in answer ? String(answer.message) : null),
    async *listing() {},
    data: {
      fileContent: async () => ({ fault: faultWith(answer) }),
      async *files() {
        yield { fault: faultWith(answer) };
      },
    } as Partial<ProviderClient['data']> as ProviderClient['data'],
    subscriptions: {
      async *list() {
        yield { fault: faultWith(answer) };
      },
      create: async () => ({ fault: faultWith(answer) }),
    } as Partial<ProviderClient['subscriptions']> as ProviderClient['subscriptions'],
    close: () => {},
  };
  return hideCredentials(plain, {
    clientSecret: new Secret('secret-of-the-client'),
    connections,
    former: () => [new Secret('former-token-of-ann')],
  });
}

/** What a person's read becomes, the provider's words in it twice. */
function faultWith(answer: Answer): RawFault {
  const detail = 'message' in answer ? String(answer.message) : '';
  return { answer: answer as RawFault['answer'], detail, address: null, organizationId: null };
}

async function allOf<Page>(pages: AsyncIterable<Page>): Promise<Page[]> {
  const all: Page[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

const refusedWith = (message: string): Answer => ({ kind: 'no-access', connectionId: 'c1', message });

async function wordsAfter(message: string): Promise<unknown> {
  const { answer } = await clientAnswering(refusedWith(message)).read(request);
  return 'message' in answer ? answer.message : answer;
}

test.each([
  ['as it is', `not taken: ${token}.`, 'not taken: [secret].'],
  ['encoded', `token=${encodeURIComponent(token)}&a=b`, 'token=[secret]&a=b'],
  ['twice', `${token} ${token}`, '[secret] [secret]'],
  ['cut off with the end of the text', `not taken: ${token.slice(0, 12)}`, 'not taken: [secret]'],
  ['as a token secret', 'token-secret-of-ann!', '[secret]!'],
  ['as the secret of the client', 'secret-of-the-client', '[secret]'],
])('a credential that is quoted %s is hidden', async (_how, message, shown) => {
  expect(await wordsAfter(message)).toBe(shown);
});

test('what is too short to be told from other words stays, and so do the words around', async () => {
  expect(await wordsAfter('a short token')).toBe('a short token');
});

test('it is hidden in every kind of answer and for every question, and nothing else of it changes', async () => {
  const transient: Answer = {
    kind: 'transient',
    code: 'status-500',
    detail: `status 500: ${token}`,
    retryAfterMs: 5,
    origin: 'https://provider.test',
    connectionId: 'c1',
  };
  const hidden = { ...transient, detail: 'status 500: [secret]' };
  const client = clientAnswering(transient, [
    { partial: true, reason: 'call-failed', detail: `call: ${token}`, answer: transient },
  ]);
  expect(await client.read(request)).toEqual({ answer: hidden, cost });
  expect(await client.probe(due)).toEqual(hidden);
  expect(await client.readOrganization('1', 'c1')).toEqual({ answer: hidden });
  const pages = await allOf(client.organizations('c1'));
  expect(pages).toEqual([{ partial: true, reason: 'call-failed', detail: 'call: [secret]', answer: hidden }]);
});

test('a document, a page and an answer without words pass untouched', async () => {
  const document = {
    body: { token },
    address: request.address,
    mediaType: 'application/json',
    connectionId: 'c1',
  };
  const ok: Answer = { kind: 'ok', document };
  expect((await clientAnswering(ok).read(request)).answer).toBe(ok);
  const limited: Answer = { kind: 'rate-limited', retryAfterMs: 1, untilMs: 1 };
  expect(await clientAnswering(limited).probe(due)).toBe(limited);
  const page: OrganizationsPage = { partial: false, organizations: [] };
  expect(await allOf(clientAnswering(ok, [page]).organizations('c1'))).toEqual([page]);
  const unknown: Answer = { kind: 'no-access', connectionId: 'gone', message: null };
  expect(await clientAnswering(unknown).probe(due)).toEqual(unknown);
});

test('a page that was read opens no credential, and one that was not does', async () => {
  let opened = 0;
  const connections = () => {
    opened += 1;
    return [ann];
  };
  const read: OrganizationsPage = { partial: false, organizations: [] };
  const answer = refusedWith(token);
  await allOf(clientAnswering(answer, [read, read], connections).organizations('c1'));
  expect(opened).toBe(0);
  const broken: OrganizationsPage = { partial: true, reason: 'call-failed', detail: `not ${token}`, answer };
  const [page] = await allOf(clientAnswering(answer, [broken], connections).organizations('c1'));
  expect(opened).toBeGreaterThan(0);
  expect(page).toMatchObject({ detail: 'not [secret]', answer: { message: '[secret]' } });
});

test('what a person reads directly quotes no credential either', async () => {
  const client = clientAnswering(refusedWith(`token ${token} is refused`));
  const [listed] = await allOf(client.data.files(null));
  const read = await client.data.fileContent('f1', 0, null);
  const trouble = await client.equipmentTrouble('c1');
  expect(trouble).toBe('token [secret] is refused');
  const said = JSON.stringify([listed, read]);
  expect(said).toContain('is refused');
  expect(said).not.toContain(token);
});

test('a token that was renewed lately is hidden as well', async () => {
  expect(await wordsAfter('not former-token-of-ann')).toBe('not [secret]');
});
