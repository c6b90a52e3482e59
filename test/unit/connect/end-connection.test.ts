// An organization's connection ended at the provider: where, with whose token, and what is said when it cannot be done.
import { endConnection } from '../../../src/connect/end-connection';
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import type { TokenCall, TokenListed, UserToken } from '../../../src/model/consent';
import { Secret } from '../../../src/tools/secret';

const listing = 'https://api.test/p/connections';
const addressOf = (id: string) => `https://api.test/elsewhere/${id}`;
const entryOf = (id: string, orgId: unknown): TokenListed => ({
  document: { id, orgId },
  self: addressOf(id),
});

interface Stage {
  /** What the listing holds, look after look; the last one stays. */
  looks?: TokenListed[][];
  /** Answers to the deletions, in order; the last one stays. */
  statuses?: (number | null)[];
  body?: string;
  rels?: [string, string][];
}

function stage({
  looks = [[entryOf('c-1', '4710'), entryOf('c-2', 4711), entryOf('c-3', '4711')]],
  statuses = [204],
  body = '',
  rels = [['connections', listing]],
}: Stage = {}) {
  const called: TokenCall[] = [];
  const listed: string[] = [];
  const shown: string[] = [];
  const show = (token: UserToken | null) => shown.push(`${token?.auth} ${token?.token.open()}`);
  const doors = {
    calls: {
      async links(token: UserToken | null) {
        show(token);
        return { links: new Map(rels) };
      },
      async *list(url: string, token: UserToken) {
        show(token);
        listed.push(url);
        yield* looks[Math.min(listed.length, looks.length) - 1]!;
      },
      async call(call: TokenCall) {
        called.push(call);
        show(call.sign?.token ?? null);
        const status = statuses[Math.min(called.length, statuses.length) - 1]!;
        if (status === null) return { status, code: 'connection-refused' };
        return { status, mediaType: '', body, retryAfterMs: null };
      },
    },
    server: { application: async () => new Secret('of-the-application') },
  };
  return { doors, called, listed, shown };
}

test('each of its connections is ended where the listing says that it stands, by the application itself', async () => {
  const { doors, called, listed, shown } = stage();
  expect(await endConnection(doors, '4711')).toBe(true);
  expect(listed).toEqual([listing]);
  expect(called.map(({ method, url, ofApi }) => [method, url, ofApi])).toEqual([
    ['DELETE', addressOf('c-2'), true],
    ['DELETE', addressOf('c-3'), true],
  ]);
  expect(new Set(shown)).toEqual(new Set(['oauth2 of-the-application']));
});

test('what a whole listing does not hold has ended, and nothing is asked to end', async () => {
  const { doors, called } = stage({ looks: [[entryOf('c-1', '4710')]] });
  expect([await endConnection(doors, '4711'), called]).toEqual([true, []]);
});

test.each<[string, Stage]>([
  ['it is refused', { statuses: [403] }],
  ['one of two is refused', { statuses: [204, 500] }],
  ['no answer comes', { statuses: [null] }],
  ['a page answers in place of the provider', { statuses: [200], body: '<html>Please log in</html>' }],
  ['its address is not there, twice', { statuses: [404] }],
  ['the catalog names no listing', { rels: [['organizations', 'https://api.test/p/organizations']] }],
  ['the listing was not read to its end', { looks: [[{ partial: 'page 1: it was not answered' }]] }],
  ['it names no address', { looks: [[{ document: { orgId: '4711' }, self: null }]] }],
  ['an entry does not say whose it is', { looks: [[{ document: null, self: null }]] }],
])('it has not ended where %s', async (_what, given) => {
  expect(await endConnection(stage(given).doors, '4711')).toBe(false);
});

test('one that moved since it was listed is looked for once more', async () => {
  const moved: TokenListed = { document: { orgId: '4711' }, self: addressOf('moved') };
  const looks = [[entryOf('c-2', '4711')], [moved]];
  const { doors, called } = stage({ looks, statuses: [410, 204] });
  expect(await endConnection(doors, '4711')).toBe(true);
  expect(called.map(({ url }) => url)).toEqual([addressOf('c-2'), addressOf('moved')]);
  expect(await endConnection(stage({ looks: [looks[0]!, []], statuses: [404] }).doors, '4711')).toBe(true);
  const between = stage({ looks: [[{ partial: 'page 2: it was not answered with a page' }], [moved]] });
  expect(await endConnection(between.doors, '4711')).toBe(true);
});

test('nothing is asked without an issuer, or a token of the application', async () => {
  const { doors, called, shown } = stage();
  expect(await endConnection({ ...doors, server: null }, '4711')).toBe(false);
  const application = () => Promise.reject(new GrantRefusal('client-refused', 'no'));
  expect(await endConnection({ ...doors, server: { application } }, '4711')).toBe(false);
  expect([...called, ...shown]).toEqual([]);
});
