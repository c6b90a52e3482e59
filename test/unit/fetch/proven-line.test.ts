/**
 * A 401 is the token's only when the same token is refused elsewhere too; what it costs to find that out is one call for
 * all who ask together, and nothing is concluded from trouble on the way.
 */
import type { Question, Request } from '../../../src/fetch/ask';
import { Attempt } from '../../../src/fetch/attempt';
import type { Verdict } from '../../../src/fetch/classify';
import type { Exchange } from '../../../src/fetch/client';
import { makeProvenLine } from '../../../src/fetch/proven-line';
import { makeRenewingLine } from '../../../src/fetch/renewing-line';
import { type Connection, oauth1Ending } from '../../../src/model/connection';
import type { Renewed } from '../../../src/model/consent';
import { Secret } from '../../../src/tools/secret';
import { connectionOf } from '../../support/provider-client';

const catalogUrl = new URL('https://p.test/platform/');
const listingUrl = new URL('https://p.test/platform/organizations?itemLimit=100');
const machineUrl = new URL('https://p.test/isg/equipment/1');
const connection = connectionOf({ connectionId: 'c1' });
const trouble: Verdict = {
  kind: 'transient',
  code: 'status-503',
  detail: '',
  origin: catalogUrl.origin,
  connectionId: 'c1',
  retryAfterMs: null,
};
const verdicts: Record<number, Verdict> = {
  200: { kind: 'ok', document: { body: {}, address: '', mediaType: '', connectionId: 'c1' } },
  304: { kind: 'not-modified', connectionId: 'c1' },
  401: { kind: 'reauthorize', connectionId: 'c1', message: 'ended', sealedToken: 's' },
  403: { kind: 'forbidden', connectionId: 'c1', message: null, client: false },
  404: { kind: 'gone', certain: false, connectionId: 'c1', origin: catalogUrl.origin },
  429: { kind: 'rate-limited', retryAfterMs: 1000, untilMs: 2000 },
  503: trouble,
};

/** What the client alone is refused with. */
let ofClient: Verdict = verdicts[401]!;

/** A provider that answers each address with a status of its own, and a list of what it was asked with which token. */
function stage(answers: Record<string, number | ((token: string) => number)>, renew?: () => Renewed) {
  const asked: string[] = [];
  let waiting: (() => void)[] | null = null;
  const attempt = new Attempt(5000);
  const plain = {
    async exchange({ url, connection }: Request): Promise<Exchange> {
      const token = connection?.token.open() ?? 'the client alone';
      asked.push(`${url.pathname} ${token}`);
      const answer = answers[url.pathname] ?? 200;
      const status = typeof answer === 'number' ? answer : answer(token);
      if (waiting !== null && url.pathname === catalogUrl.pathname)
        await new Promise<void>((resolve) => void waiting!.push(resolve));
      return { status, headers: {}, body: Buffer.from('no licensed seat'), wireBytes: 0 };
    },
    verdictOf: ({ status }: Exchange, { connection }: Question): Verdict =>
      status === 401 && connection === null ? ofClient : verdicts[status ?? 503]!,
  };
  const line = makeProvenLine({
    plain,
    renewed: (calls, show) =>
      renew === undefined
        ? calls
        : makeRenewingLine(calls, { current: (known) => known, renew: async () => renew() }, show, {
            steadyMs: () => 0,
          }),
    catalogUrl,
    timeoutMs: 5000,
  });
  async function ask(
    url = machineUrl,
    operation: Request['operation'] = 'equipment',
    within = attempt,
    auth: Connection['auth'] = 'oauth2',
  ) {
    const question = { url, operation, connection: { ...connection, auth } };
    return line.verdictOf(await line.exchange(question, within), question);
  }
  return {
    asked,
    attempt,
    ask,
    holdCatalog: () => {
      waiting = [];
    },
    answerCatalog: () => {
      for (const resolve of waiting!.splice(0)) resolve();
    },
  };
}

let staged: ReturnType<typeof stage>;
afterEach(() => {
  staged.attempt.end();
  ofClient = verdicts[401]!;
});

test.each([200, 304])(
  'of one address alone is a refusal of what is there: the catalog says %i',
  async (status) => {
    staged = stage({ [machineUrl.pathname]: 401, [catalogUrl.pathname]: status });
    expect(await staged.ask()).toEqual({
      kind: 'forbidden',
      connectionId: 'c1',
      message: 'no licensed seat',
      client: false,
    });
    expect(staged.asked).toEqual(['/isg/equipment/1 canary-token', '/platform/ canary-token']);
  },
);

test('at the catalog too is the token’s, in the words of the first', async () => {
  staged = stage({ [machineUrl.pathname]: 401, [catalogUrl.pathname]: 401 });
  expect(await staged.ask()).toEqual({
    kind: 'reauthorize',
    connectionId: 'c1',
    message: 'ended',
    sealedToken: 's',
  });
});

test.each([
  [
    'is the token’s where the client alone is answered: OAuth 1 has not ended',
    200,
    { kind: 'reauthorize', message: 'ended' },
  ],
  [
    'is the token’s where the client alone is refused for another reason, as when OAuth 1 has ended: the way on is named',
    401,
    { kind: 'reauthorize', message: `ended. ${oauth1Ending}` },
  ],
  ['concludes nothing while the client alone is not answered', 503, { kind: 'transient' }],
] as [string, number, object][])('of OAuth 1 everywhere %s', async (_what, status, expected) => {
  staged = stage({
    [machineUrl.pathname]: 401,
    [catalogUrl.pathname]: (by) => (by === 'the client alone' ? status : 401),
  });
  expect(await staged.ask(machineUrl, 'equipment', staged.attempt, 'oauth1')).toMatchObject(expected);
  expect(staged.asked.at(-1)).toBe('/platform/ the client alone');
});

test('of OAuth 1 is the client’s where its signature is refused without a token too', async () => {
  ofClient = { kind: 'client-refused', connectionId: '', message: 'signature-mismatch' };
  staged = stage({ [machineUrl.pathname]: 401, [catalogUrl.pathname]: 401 });
  const verdict = await staged.ask(machineUrl, 'equipment', staged.attempt, 'oauth1');
  expect(verdict).toEqual({ kind: 'client-refused', connectionId: 'c1', message: 'signature-mismatch' });
});

test.each([
  [503, trouble],
  [429, { kind: 'rate-limited' }],
  [404, { kind: 'transient', code: 'catalog-unavailable' }],
  [403, { kind: 'transient', code: 'catalog-unavailable' }],
] as [number, object][])('concludes nothing while the catalog answers %i', async (status, expected) => {
  staged = stage({ [machineUrl.pathname]: 401, [catalogUrl.pathname]: status });
  expect(await staged.ask()).toMatchObject(expected);
});

test('of very many at once shows the token twice at most: nobody is answered by what began before', async () => {
  staged = stage({ [machineUrl.pathname]: 401, [catalogUrl.pathname]: 401 });
  staged.holdCatalog();
  const first = staged.ask();
  const others = Array.from({ length: 20 }, () => staged.ask());
  const isShown = (times: number) => () =>
    staged.asked.filter((line) => line.startsWith('/platform/')).length === times;
  const settle = async (times: number) => {
    while (!isShown(times)()) await new Promise(setImmediate);
    await new Promise(setImmediate);
    staged.answerCatalog();
  };
  await settle(1);
  await settle(2);
  const kinds = (await Promise.all([first, ...others])).map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(['reauthorize']));
  expect(isShown(2)()).toBe(true);
});

test('after a renewal shows the token that was refused last', async () => {
  const renewed = { ...connection, token: new Secret('renewed') };
  staged = stage({ [machineUrl.pathname]: 401 }, () => ({ connection: renewed }));
  expect((await staged.ask()).kind).toBe('forbidden');
  expect(staged.asked).toEqual([
    '/isg/equipment/1 canary-token',
    '/isg/equipment/1 renewed',
    '/platform/ renewed',
  ]);
});

test('that a renewal cures, or that waits for one, shows nothing', async () => {
  const renewed = { ...connection, token: new Secret('renewed') };
  const old = (token: string) => (token === 'renewed' ? 200 : 401);
  staged = stage({ [machineUrl.pathname]: old }, () => ({ connection: renewed }));
  expect((await staged.ask()).kind).toBe('ok');
  expect(staged.asked).toHaveLength(2);
  staged.attempt.end();
  const waits = { code: 'token-unavailable', detail: '', retryAfterMs: null };
  staged = stage({ [machineUrl.pathname]: 401 }, () => ({ waits }));
  expect(await staged.ask()).toMatchObject({ kind: 'transient', code: 'token-unavailable' });
  expect(staged.asked).toHaveLength(1);
});

test('of the catalog is shown at the list of organizations once that is known, before at the catalog again', async () => {
  staged = stage({ [catalogUrl.pathname]: 401 });
  expect((await staged.ask(catalogUrl, 'catalog')).kind).toBe('reauthorize');
  expect(staged.asked).toEqual(['/platform/ canary-token', '/platform/ canary-token']);
  expect((await staged.ask(listingUrl, 'organizations')).kind).toBe('ok');
  expect((await staged.ask(catalogUrl, 'catalog')).kind).toBe('forbidden');
  expect(staged.asked.slice(-2)).toEqual(['/platform/ canary-token', '/platform/organizations canary-token']);
});

test('is not waited for beyond the attempt', async () => {
  staged = stage({ [machineUrl.pathname]: 401 });
  staged.holdCatalog();
  const signal = new AbortController();
  const attempt = new Attempt(5000, signal.signal);
  const judged = staged.ask(machineUrl, 'equipment', attempt);
  while (staged.asked.length < 2) await new Promise(setImmediate);
  signal.abort('stop');
  expect(await judged).toEqual({ kind: 'aborted' });
  staged.answerCatalog();
  attempt.end();
});
