/**
 * Connections: sealed at rest, opened in memory, imported once, and listed before anything is read through them.
 */
import { type BookDoors, makeConnectionBook, type SightPage } from '../../../src/connect/connection-book';
import type { Answer } from '../../../src/model/answer';
import type { NamedToken, SealedConnection, SealedTokens } from '../../../src/model/connection';
import { isProblem } from '../../../src/model/problem';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { makeHandClock } from '../../support/hand-clock';

const keyOf = (id: string, fill: number) => ({ id, key: Buffer.alloc(32, fill) });
const named = (token: string) => ({
  connection: 'c1',
  user: 'u1',
  auth: 'oauth1' as const,
  token: new Secret(token),
  secret: new Secret('s/+='),
  refresh: null,
  expiresAt: null,
});

function stage(
  pages: SightPage[],
  sealer = makeSealer([keyOf('k1', 1)]),
  pagesOf: Record<string, SightPage[]> = {},
) {
  const rows = new Map<string, SealedConnection & { importHash: string }>();
  const calls: string[] = [];
  const marks = ['1'];
  const clock = makeHandClock(0);
  const store = {
    async importConnections(connections: (SealedConnection & { importHash: string })[]) {
      for (const connection of connections) {
        if (rows.get(connection.connectionId)?.importHash === connection.importHash) continue;
        rows.set(connection.connectionId, connection);
        calls.push(`imported ${connection.connectionId}`);
      }
    },
    listConnections: async () => [...rows.values()],
    async replaceTokens(id: string, replaces: string, tokens: SealedTokens) {
      const row = rows.get(id)!;
      if (row.sealedToken !== replaces) return false;
      rows.set(id, { ...row, ...tokens });
      calls.push(`replaced ${id}`);
      return true;
    },
    connectionsMark: async () => marks.at(-1),
    epochs: async () => new Map([['x', 7]]),
    async learn(seen: { id: string; connectionId: string }[]) {
      for (const { id, connectionId } of seen) {
        const { organizations } = rows.get(connectionId)!;
        if (!organizations.includes(id)) organizations.push(id);
      }
    },
  } as unknown as BookDoors['store'];
  const book = makeConnectionBook({
    store,
    sealer,
    async *list(connectionId) {
      await clock.advance(1000);
      yield* pagesOf[connectionId] ?? pages;
    },
    unconnected: async (id, _url, epoch) => void calls.push(`unconnected ${id} ${epoch}`),
    refused: async (...refusal) => void calls.push(`refused ${refusal.join(' ')}`),
    async keepSights(id: string, seen: string[]) {
      calls.push(`keeps ${id} ${seen}`);
      const others = [...rows.values()].filter(({ connectionId }) => connectionId !== id);
      const isElsewhere = (one: string) => others.some(({ organizations }) => organizations.includes(one));
      const row = rows.get(id)!;
      row.organizations = row.organizations.filter((one) => seen.includes(one) || !isElsewhere(one));
    },
    wanted: () => void calls.push('wanted'),
    clock,
  });
  return { book, rows, calls, clock, marks };
}

const brokenOff: SightPage = {
  partial: true,
  answer: {
    kind: 'transient',
    code: 'status-503',
    detail: 'status 503',
    origin: 'https://api.test',
    connectionId: 'c1',
    retryAfterMs: null,
  },
  reason: 'call-failed',
  detail: 'page 1: status 503',
};

const page = (...ids: string[]): SightPage => ({
  partial: false,
  organizations: ids.map((id) => ({
    id,
    name: id,
    unconnected: id === 'x',
    connectUrl: null,
    manageUrl: null,
  })),
});

test('a token is sealed at rest and opened in memory', async () => {
  const { book, rows } = stage([]);
  await book.importTokens([named('plain-token')]);
  expect(JSON.stringify([...rows.values()])).not.toContain('plain-token');
  const [connection] = book.connections();
  expect([connection!.token.open(), connection!.tokenSecret!.open(), connection!.refresh]).toEqual([
    'plain-token',
    's/+=',
    null,
  ]);
});

test('the same token is imported once, another one replaces it', async () => {
  const { book, calls } = stage([]);
  await book.importTokens([named('a')]);
  await book.importTokens([named('a')]);
  await book.importTokens([named('b')]);
  expect(calls).toEqual(['imported c1', 'imported c1']);
  expect(book.connections()[0]!.token.open()).toBe('b');
});

test.each([
  ['oauth1', null, '1971-01-01T00:00:00.000Z'],
  ['oauth1', '1970-02-01T00:00:00Z', '1970-02-01T00:00:00Z'],
  ['oauth2', null, null],
] as const)('a token of %s whose end is said to be %s ends at %s', async (auth, expiresAt, end) => {
  const { book, clock } = stage([]);
  const token = { ...named('a'), auth, expiresAt };
  await book.importTokens([token]);
  expect(book.connections()[0]!.expiresAt).toBe(end);
  // Counted from the first import, however often the process starts.
  await clock.advance(86_400_000);
  await book.importTokens([token]);
  expect(book.connections()[0]!.expiresAt).toBe(end);
});

describe('a token that was imported before', () => {
  const inAYear = '1971-01-02T00:00:00.000Z';
  const later = '1970-03-01T00:00:00Z';

  /** On the second day the settings name `expiresAt`; where the book held the end `known`, and `inForce` of the token. */
  async function restart(
    named1: Partial<NamedToken>,
    { known, inForce }: { known: string | null; inForce?: string },
  ) {
    const staged = stage([]);
    const { book, rows, calls, clock } = staged;
    await book.importTokens([{ ...named('a'), ...named1, expiresAt: null }]);
    const sealer = makeSealer([keyOf('k1', 1)]);
    const renewed = inForce && { sealedToken: sealer.seal(new Secret(inForce), 'c1/token') };
    rows.set('c1', { ...rows.get('c1')!, ...renewed, expiresAt: known });
    await clock.advance(86_400_000);
    calls.length = 0;
    await book.importTokens([{ ...named('a'), ...named1 }]);
    return { calls, end: book.connections()[0]!.expiresAt };
  }

  test.each<[string, Partial<NamedToken>, Parameters<typeof restart>[1], string | null]>([
    ['without an end, which an earlier version left out, ends in a year', {}, { known: null }, inAYear],
    ['takes the end that is named since', { expiresAt: later }, { known: inAYear }, later],
    ['takes it where none was known', { expiresAt: later }, { known: null }, later],
    ['of OAuth 2 has none where none is named', { auth: 'oauth2' }, { known: null }, null],
    ['of OAuth 2 takes one that is', { auth: 'oauth2', expiresAt: later }, { known: null }, later],
    ['keeps its own where none is named', {}, { known: later }, later],
    [
      'and replaced since keeps what came with the other',
      { expiresAt: later },
      { known: inAYear, inForce: 'b' },
      inAYear,
    ],
    [
      'and replaced by another method stays',
      { auth: 'oauth2', expiresAt: later },
      { known: null, inForce: 'b' },
      null,
    ],
  ])('%s', async (_fact, token, before, end) => {
    const { calls, end: shown } = await restart(token, before);
    expect(shown).toBe(end);
    expect(calls).toEqual(end === before.known ? [] : ['replaced c1']);
  });
});

test('what a connection sees is learned page by page, and unconnected organizations are told', async () => {
  const { book, calls } = stage([page('1', 'x'), page('2')]);
  await book.importTokens([named('a')]);
  expect(book.known()).toBe(false);
  expect(await book.learn()).toBe(true);
  expect(book.known()).toBe(true);
  expect([...book.sees('c1')]).toEqual(['1', 'x', '2']);
  expect([...book.sees('unknown')]).toEqual([]);
  expect(calls).toContain('unconnected x 7');
});

test('a listing that did not come to its end is not taken as all there is', async () => {
  const { book } = stage([page('1'), brokenOff]);
  await book.importTokens([named('a')]);
  expect(await book.learn()).toBe(false);
});

const endedBy = (reason: string, detail: string, answer: Answer | null = null): SightPage => ({
  partial: true,
  answer,
  reason,
  detail,
});
const refusedForGood = endedBy('call-failed', 'page 1: forbidden');
const unreadableEntry = endedBy('malformed-entry', 'entry 1 of a page: got null');
const changed = endedBy('changed-meanwhile', 'page 2: changed');
const clientRefused = endedBy('call-failed', 'page 1: client-refused', {
  kind: 'client-refused',
  connectionId: 'c1',
  message: null,
});

test.each([
  ['holds what names nothing', unreadableEntry, true],
  ['is refused', refusedForGood, true],
  ['breaks off', brokenOff, false],
  ['changed while it was read', changed, false],
])(
  'a list that %s is asked for again soon only where that may help, and then keeps the others waiting',
  async (_how, end, isKnown) => {
    const { book } = stage([], undefined, { c1: [end], c2: [page('1')] });
    await book.importTokens([named('a'), { ...named('b'), connection: 'c2', user: 'u2' }]);
    expect(await book.learn()).toBe(isKnown);
    expect(book.known()).toBe(isKnown);
    expect(book.learnedSince(0)).not.toBeNull();
  },
);

test('what a whole listing does not hold any more, and nobody else sees, is told until it is back', async () => {
  const pages = [page('a', ...Array.from({ length: 25 }, (_none, at) => `left${at}`))];
  const { book, clock } = stage(pages);
  await book.importTokens([named('t')]);
  await book.learn();
  expect(book.conditions()).toEqual([]);
  // A listing that ends before its end misses nobody.
  pages.splice(0, 1, page('a'), brokenOff);
  await book.learn();
  expect(book.conditions()).toEqual([]);
  pages.splice(0, 2, page('a'));
  await book.learn();
  const sinceMs = clock.nowMs();
  await book.learnOne('c1');
  expect(book.conditions()).toEqual([
    {
      name: 'organizations-unlisted',
      sinceMs,
      labels: { connection_id: 'c1' },
      detail: expect.stringMatching(/^Connection c1 .*: left0, left1, .*left19 and 5 more\.$/),
    },
  ]);
  expect(book.settled()).toEqual(['organizations-unlisted']);
  pages.splice(0, 1, page('a', ...Array.from({ length: 25 }, (_none, at) => `left${at}`)));
  await book.learn();
  expect(book.conditions()).toEqual([]);
});

test('an organization that goes from one user to another whose list is asked for later is missed by nobody', async () => {
  const lists = { c1: [page('a', 'moved')], c2: [page('b')] };
  const { book } = stage([], undefined, lists);
  await book.importTokens([named('t'), { ...named('u'), connection: 'c2', user: 'u2' }]);
  await book.learn();
  [lists.c1[0], lists.c2[0]] = [page('a'), page('b', 'moved')];
  await book.learn();
  expect(book.conditions()).toEqual([]);
  expect([...book.sees('c1')]).toEqual(['a']);
  expect([...book.sees('c2')]).toEqual(['b', 'moved']);
});

test.each<[string, SightPage]>([
  ['came to its end with an entry that names nothing', unreadableEntry],
  ['broke off', brokenOff],
])('a listing that %s loses nothing, whatever another connection is shown', async (_how, last) => {
  const pagesOf: Record<string, SightPage[]> = { c1: [page('a', 'b', 'c')], c2: [page('b', 'c')] };
  const { book, calls } = stage([], undefined, pagesOf);
  await book.importTokens([named('t'), { ...named('u'), connection: 'c2', user: 'u2' }]);
  await book.learn();
  Object.assign(pagesOf, { c1: [page('b'), last] });
  calls.length = 0;
  await book.learn();
  expect(calls.filter((call) => call.startsWith('keeps'))).toEqual(['keeps c2 b,c']);
  expect([[...book.sees('c1')], [...book.sees('c2')]]).toEqual([
    ['a', 'b', 'c'],
    ['b', 'c'],
  ]);
  // Nobody is missed for it, and nothing is settled by it.
  expect(book.conditions()).toEqual([]);
  expect(book.learnedSince(2000)).not.toBeNull();
});

describe('a list that goes on being refused', () => {
  const minuteMs = 60_000;

  /** Learned at once, and again after so many minutes with what each list ends by then. */
  async function learned(...lists: [atMinute: number, end: SightPage][]) {
    const pages: SightPage[] = [];
    const { book, rows, clock } = stage(pages);
    await book.importTokens([named('t')]);
    for (const [atMinute, end] of lists) {
      await clock.advance(Math.max(0, atMinute * minuteMs - clock.nowMs()));
      pages.splice(0, pages.length, page('a'), end);
      await book.learn();
    }
    return { book, rows };
  }

  test.each([
    ['is refused', refusedForGood, 'page 1: forbidden'],
    ['holds what names nothing', unreadableEntry, 'entry 1 of a page: got null'],
  ])('since it %s is told with the reason after five minutes, until it is whole', async (_how, end, why) => {
    const unlisted = `its list of organizations could not be read: ${why}`;
    const { book: atOnce } = await learned([0, end], [4, end]);
    expect([atOnce.conditions(), atOnce.unlisted('c1'), atOnce.unlisted('c2')]).toEqual([[], unlisted, null]);
    const { book, rows } = await learned([0, end], [5, end], [6, brokenOff]);
    const told = {
      name: 'organizations-unlisted',
      sinceMs: 1000,
      labels: { connection_id: 'c1' },
      detail: `Of connection c1 nobody knows what it sees since: ${unlisted}.`,
    };
    expect([book.conditions(), book.settled()]).toEqual([[told], []]);
    rows.get('c1')!.status = 'refused';
    await book.refresh();
    expect(book.conditions()).toEqual([]);
    const { book: mended } = await learned([0, end], [5, end], [6, page('b')]);
    expect([mended.conditions(), mended.unlisted('c1')]).toEqual([[], null]);
  });

  test('is one state with what a whole list of that connection missed before', async () => {
    const { book } = await learned([0, page('b')], [1, page()], [2, refusedForGood], [9, refusedForGood]);
    const condition = {
      name: 'organizations-unlisted',
      labels: { connection_id: 'c1' },
      sinceMs: 61_000,
      detail: expect.stringMatching(/page 1: forbidden\. .* no other connection sees: b\.$/),
    };
    expect(book.conditions()).toEqual([condition]);
  });

  test('for the client key is told of the key alone, and known all the same', async () => {
    const { book } = await learned([0, clientRefused], [9, clientRefused]);
    expect([book.conditions(), book.unlisted('c1')]).toEqual([[], expect.stringContaining('client-refused')]);
  });
});

test('a listing that is refused for its token says so', async () => {
  const answer = { kind: 'reauthorize', connectionId: 'c1', message: 'expired', sealedToken: 's' } as const;
  const { book, calls } = stage([endedBy('call-failed', 'page 1: reauthorize', answer)]);
  await book.importTokens([named('a')]);
  expect(book.settled()).toEqual([]);
  expect(await book.learn()).toBe(false);
  expect(calls).toContain('refused c1 expired s');
});

test('whoever asks before anything was listed waits for the listing under way, and asks for none afterwards', async () => {
  const { book, calls, clock } = stage([page('1')]);
  await book.importTokens([named('a')]);
  const learning = book.learn();
  await Promise.all([book.sighted(), book.sighted(), learning]);
  expect([...book.sees('c1')]).toEqual(['1']);
  await book.sighted();
  expect(calls.filter((call) => call.startsWith('keeps'))).toHaveLength(1);
  expect(clock.nowMs()).toBe(1000);
});

test('whoever asks after a listing that broke off makes one more, when it is time for it', async () => {
  const pages: SightPage[] = [brokenOff];
  const { book, clock } = stage(pages);
  await book.importTokens([named('a')]);
  await book.learn();
  await clock.advance(20_000);
  pages.splice(0, 1, page('1'));
  await book.sighted();
  expect([...book.sees('c1')]).toEqual(['1']);
});

test('however many ask while a list goes on breaking off, all is listed no more often than on request', async () => {
  const { book, calls, clock, rows } = stage([page('1')], undefined, { c2: [brokenOff] });
  await book.importTokens([named('a'), { ...named('b'), connection: 'c2' }]);
  expect([...rows.keys()]).toEqual(['c1', 'c2']);
  const listings = () => calls.filter((call) => call.startsWith('keeps c1')).length;
  await book.learn();
  for (let ask = 0; ask < 20; ask += 1) await book.sighted();
  expect(listings()).toBe(1);
  await clock.advance(40_000);
  for (let ask = 0; ask < 20; ask += 1) await book.sighted();
  expect(listings()).toBe(2);
});

test('what was listed before something was asked for does not answer it', async () => {
  const { book, calls, clock } = stage([page('1')]);
  await book.importTokens([named('a')]);
  expect(book.learnedSince(0)).toBe(1000);
  expect(calls).toContain('wanted');
  await book.learn();
  expect(book.learnedSince(0)).toBeNull();
  expect(book.learnedSince(clock.nowMs())).toBe(2000);
});

test('listings on request take a twentieth of the time', async () => {
  const { book, calls, clock } = stage([page('1')]);
  await book.importTokens([named('a')]);
  await book.learn();
  await book.learn();
  const asked = clock.nowMs();
  await clock.advance(19_999);
  expect(book.learnedSince(asked)).toBe(1000);
  expect(calls).not.toContain('wanted');
  await clock.advance(1);
  expect(book.learnedSince(asked)).toBe(1000);
  expect(calls).toContain('wanted');
});

test('a clock that is set back an hour holds up no listing on request', async () => {
  const { book, calls, clock } = stage([page('1')]);
  await book.importTokens([named('a')]);
  await book.learn();
  const asked = clock.nowMs();
  clock.setBack(3_600_000);
  expect(book.learnedSince(asked)).toBe(2000);
  await clock.advance(2000);
  expect(book.learnedSince(asked)).toBe(1000);
  expect(calls).toContain('wanted');
});

test('while a listing is under way no other is asked for', async () => {
  const { book, calls } = stage([page('1')]);
  await book.importTokens([named('a')]);
  const learning = book.learn();
  expect(book.learnedSince(5000)).toBe(1000);
  expect(calls).not.toContain('wanted');
  await learning;
});

test('a listing that was cut off answers nothing', async () => {
  const { book } = stage([page('1'), brokenOff]);
  await book.importTokens([named('a')]);
  await book.learn();
  expect(book.learnedSince(0)).toBe(20_000);
});

test.each([
  ['holds what names nothing', unreadableEntry, null],
  ['is refused', refusedForGood, null],
  ['breaks off', brokenOff, 20_000],
])(
  'what no list tells for an hour while one %s is waited for until then, or on',
  async (_how, end, waitsMs) => {
    const { book, clock } = stage([page('1'), end]);
    await book.importTokens([named('a')]);
    const asked = clock.nowMs();
    await book.learn();
    expect(book.soughtSince(asked)).toBe(20_000);
    await clock.advance(3_600_000);
    await book.learn();
    expect(book.soughtSince(asked)).toBe(waitsMs);
    // Who must know what a whole list says goes on waiting.
    expect(book.learnedSince(asked)).toBe(20_000);
  },
);

test('a refused connection is not listed, and keeps nobody waiting', async () => {
  const { book, rows } = stage([page('1')]);
  await book.importTokens([named('a')]);
  rows.get('c1')!.status = 'refused';
  await book.refresh();
  expect(book.known()).toBe(true);
  expect(await book.learn()).toBe(true);
  expect([...book.sees('c1')]).toEqual([]);
});

test('a connection that another process made is learned, also where somebody else reads it first', async () => {
  const { book, rows, marks } = stage([page('1')]);
  await book.importTokens([named('a')]);
  await book.learn();
  expect(await book.follow()).toBe(false);
  const own = rows.get('c1')!;
  const other = stage([]);
  await other.book.importTokens([{ ...named('b'), connection: 'c2' }]);
  rows.set('c2', other.rows.get('c2')!);
  marks.push('2');
  await book.refresh();
  expect([await book.follow(), await book.follow()]).toEqual([true, false]);
  await book.learn();
  rows.set('c1', { ...own });
  marks.push('3');
  await book.refresh();
  expect(await book.follow()).toBe(false);
});

test('without the key of a row it is said which key is missing, and the row stays', async () => {
  const { book, rows } = stage([]);
  await book.importTokens([named('a')]);
  const other = stage([], makeSealer([keyOf('k2', 2)]));
  other.rows.set('c1', rows.get('c1')!);
  const refreshed = other.book.refresh();
  await expect(refreshed).rejects.toThrow('no encryption key with id k1');
  await refreshed.catch((error) => expect(isProblem(error, 'store.key-missing')).toBe(true));
});

describe('of a row whose key is missing here', () => {
  /** One that was read and listed, until another key sealed it anew. */
  async function resealed() {
    const staged = stage([page('1')]);
    const { book, rows, calls } = staged;
    await book.importTokens([named('a')]);
    await book.learn();
    const row = rows.get('c1')!;
    const other = makeSealer([keyOf('k2', 2)]);
    rows.set('c1', { ...row, sealedToken: other.seal(new Secret('b'), 'c1/token') });
    calls.length = 0;
    return { ...staged, mend: () => rows.set('c1', row) };
  }

  test('nothing is listed while it cannot be opened', async () => {
    const { book, calls, mend, clock } = await resealed();
    const beforeMs = clock.nowMs();
    await expect(book.learn()).rejects.toThrow('no encryption key with id k2');
    expect([calls, clock.nowMs()]).toEqual([[], beforeMs]);
    mend();
    expect(await book.learn()).toBe(true);
    expect(calls).toEqual(['keeps c1 1']);
  });

  test('it is read again until it can be opened, though nobody says that it was changed', async () => {
    const { book, mend } = await resealed();
    expect(await book.follow()).toBe(false);
    await expect(book.learn()).rejects.toThrow('no encryption key with id k2');
    for (const _round of [1, 2]) await expect(book.follow()).rejects.toThrow('no encryption key with id k2');
    mend();
    expect(await book.follow()).toBe(false);
    expect(book.find('c1')?.token.open()).toBe('a');
  });
});
