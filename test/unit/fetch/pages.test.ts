import type { Question } from '../../../src/fetch/ask';
import type { Verdict } from '../../../src/fetch/classify';
import { makeGate } from '../../../src/fetch/gate';
import {
  equipmentLimits,
  makePages,
  type Page,
  type PartialEnd,
  partialDetail,
  partialSentence,
  platformLimits,
  withPaging,
} from '../../../src/fetch/pages';
import { connectionOf } from '../../support/provider-client';

const connection = connectionOf();
const gate = makeGate(['https://a.test/']);
const first = 'https://a.test/organizations';

type Body = { values?: unknown; links?: unknown; total?: number } | Verdict['kind'];

/** Follows a listing whose pages are told by address, in whatever order they are asked for. */
async function follow(bodies: Record<string, Body> | ((url: URL, asked: number) => Body), pagesMax = 5) {
  const asked: string[] = [];
  const call = async ({ url }: Question): Promise<Verdict> => {
    asked.push(url.href);
    const body = typeof bodies === 'function' ? bodies(url, asked.length) : bodies[url.href];
    if (typeof body === 'string') {
      return {
        kind: 'transient',
        code: 'status-503',
        detail: '',
        origin: '',
        connectionId: '',
        retryAfterMs: null,
      };
    }
    return { kind: 'ok', document: { body, address: url.href, mediaType: '', connectionId: 'c1' } };
  };
  const pages: Page[] = [];
  for await (const page of makePages(
    gate,
    pagesMax,
  )({ first, operation: 'organizations', connection, call })) {
    pages.push(page);
  }
  return { asked, pages, last: pages.at(-1) };
}

const next = (uri: string) => [{ rel: 'nextPage', uri }];

test('a listing is followed to the page without a next one', async () => {
  const { asked, pages } = await follow({
    'https://a.test/organizations?itemLimit=100': {
      values: [1, 2],
      links: next('https://a.test/organizations?pageOffset=2&itemLimit=2'),
    },
    'https://a.test/organizations?pageOffset=2&itemLimit=2': { values: [3], links: [] },
  });
  expect(asked).toHaveLength(2);
  expect(pages).toMatchObject([
    { partial: false, values: [1, 2], next: 'https://a.test/organizations?pageOffset=2&itemLimit=2' },
    { partial: false, values: [3], next: null, address: asked[1] },
  ]);
});

test('F-15: a list that became shorter or longer while it was read is whole to nobody', async () => {
  const { pages, last } = await follow((_url, at) => ({
    values: [at],
    total: 10 + at,
    links: at < 3 ? next(`https://a.test/organizations?pageOffset=${at}`) : [],
  }));
  expect(pages).toHaveLength(4);
  expect(last).toMatchObject({ partial: true, reason: 'changed-meanwhile' });
});

test('an item that comes again on a later page says that the list changed; one page alone says nothing', async () => {
  const items = (...ids: string[]) => ids.map((id) => ({ id }));
  const { last } = await follow((_url, at) => ({
    values: [items('a', 'b'), items('b', 'c'), items('d')][at - 1],
    links: at < 3 ? next(`https://a.test/organizations?pageOffset=${at}&sig=secret`) : [],
  }));
  expect(last).toMatchObject({ partial: true, reason: 'changed-meanwhile', page: 3 });
  expect(partialSentence(last as never)).toBe(
    'page 3: the list changed while it was read: an item came twice (changed-meanwhile) ' +
      'at https://a.test/organizations?pageOffset=2',
  );
  const alone = await follow(() => ({ values: items('a', 'a'), links: [] }));
  expect(alone.last).toMatchObject({ partial: false });
});

test('of a list without end only the ids of its last pages are remembered', async () => {
  const { last } = await follow(
    (_url, at) => ({
      values: Array.from({ length: 6000 }, (_none, place) => ({ id: at === 4 ? place : at * 6000 + place })),
      links: at < 4 ? next(`https://a.test/organizations?pageOffset=${at}`) : [],
    }),
    9,
  );
  expect(last).toMatchObject({ partial: false, next: null });
});

test.each([
  ['https://a.test/o;count=5;start=10', 'https://a.test/o?itemLimit=5&pageOffset=10'],
  ['https://a.test/o%3Bstart=20/x', 'https://a.test/o/x?pageOffset=20'],
  ['https://a.test/o;START=3?itemLimit=7', 'https://a.test/o?itemLimit=7&pageOffset=3'],
  ['https://a.test/o;start=many', 'https://a.test/o'],
  ['https://a.test/o;start%3D10;co%75nt=5', 'https://a.test/o?pageOffset=10&itemLimit=5'],
  ['https://a.test/o;start/x', 'https://a.test/o/x'],
  ['https://a.test/o?embed=x;start=10;count=5', 'https://a.test/o?embed=x&pageOffset=10&itemLimit=5'],
  ['https://a.test/o?;START=10', 'https://a.test/o?pageOffset=10'],
  ['https://a.test/o?x=1%3Bst%61rt=10&y=2', 'https://a.test/o?x=1&y=2&pageOffset=10'],
  ['https://a.test/o?x=1;count%3D7&y=2', 'https://a.test/o?x=1&y=2&itemLimit=7'],
  ['https://a.test/o?q=a;started=1', 'https://a.test/o?q=a;started=1'],
  ['https://a.test/o?itemLimit=5000', 'https://a.test/o?itemLimit=100'],
  ['https://a.test/o;keep=1?itemLimit=20', 'https://a.test/o;keep=1?itemLimit=20'],
])('%s is asked for as %s', (given, asked) => {
  expect(withPaging(new URL(given), platformLimits, false).href).toBe(asked);
});

test('as many items are asked for as a page of its API may well hold', () => {
  expect(withPaging(new URL('https://a.test/o'), platformLimits, true).search).toBe('?itemLimit=100');
  expect(withPaging(new URL('https://a.test/o'), equipmentLimits, true).search).toBe('?itemLimit=1000');
  expect(withPaging(new URL('https://a.test/o?itemLimit=9999'), equipmentLimits, true).search).toBe(
    '?itemLimit=5000',
  );
});

test('the old paging form of a link is never sent', async () => {
  const { asked } = await follow((_url, at) => ({
    values: [],
    ...(at === 1 && { links: next('https://a.test/organizations;start=10;count=5?x=1') }),
  }));
  expect(asked[1]).toBe('https://a.test/organizations?x=1&pageOffset=10&itemLimit=5');
});

test('F-15: a loop ends partial', async () => {
  const { asked, last } = await follow(() => ({
    values: [1],
    links: next('https://a.test/organizations?itemLimit=100'),
  }));
  expect(asked).toHaveLength(1);
  expect(last).toMatchObject({ partial: true, reason: 'loop', page: 2 });
});

test('F-15: a chain of pages that hold nothing ends partial after ten of them', async () => {
  const body = (_url: URL, at: number) => ({
    values: at === 3 ? [1] : [],
    links: next(`https://a.test/organizations?pageOffset=${at}`),
  });
  const { asked, last } = await follow(body, 100);
  expect(asked).toHaveLength(13);
  expect(last).toMatchObject({ partial: true, reason: 'loop' });
});

test.each<[string, number, number, (at: number) => number]>([
  ['a list that is given whole each time', 1, 8, () => 0],
  ['a list of several pages that begins again', 3, 100, (at) => at % 3],
  ['a list of more entries than are remembered', 3, 5000, (at) => at % 3],
  ['a list whose last page comes again and again', 4, 10, (at) => Math.min(at, 3)],
])(
  'F-15: a chain that leads back into %s ends partial ten pages behind what it brought',
  async (_what, count, size, pageAt) => {
    const { asked, last } = await follow((_url, at) => {
      const from = pageAt(at - 1) * size;
      const values = Array.from({ length: size }, (_none, place) => ({ id: from + place }));
      return { values, links: next(`https://a.test/organizations?pageOffset=${at}`) };
    }, 10_000);
    expect(asked).toHaveLength(count + 10);
    expect(last).toMatchObject({
      partial: true,
      reason: 'loop',
      detail: '10 pages in a row hold nothing new',
      page: count + 11,
    });
  },
);

test('F-15: entries that have no id are told apart by what they say', async () => {
  const chain = (value: (at: number) => unknown) =>
    follow(
      (_url, at) => ({
        values: [value(at)],
        links: at < 30 ? next(`https://a.test/organizations?pageOffset=${at}`) : [],
      }),
      100,
    );
  expect((await chain(() => ({ name: 'no id' }))).last).toMatchObject({ partial: true, reason: 'loop' });
  expect((await chain((at) => ({ name: `no id ${at}` }))).last).toMatchObject({ partial: false, next: null });
});

test('a list that grows while it is read is read to its end, whatever it repeats', async () => {
  // With each page asked for, nine entries came in front: each page but the first repeats nine of ten.
  const { asked, pages, last } = await follow(
    (_url, at) => ({
      values: Array.from({ length: 10 }, (_none, place) => ({ id: at + place })),
      links: at < 60 ? next(`https://a.test/organizations?pageOffset=${at * 10}`) : [],
    }),
    100,
  );
  expect(asked).toHaveLength(60);
  const ids = pages.flatMap((page) =>
    page.partial ? [] : page.values.map((value) => (value as { id: number }).id),
  );
  expect(new Set(ids).size).toBe(69);
  expect(last).toMatchObject({ partial: true, reason: 'changed-meanwhile' });
});

test('F-15: an endless chain ends partial after the most pages', async () => {
  const { asked, last } = await follow((_url, at) => ({
    values: [at],
    links: next(`https://a.test/organizations?pageOffset=${at}`),
  }));
  expect(asked).toHaveLength(5);
  expect(last).toMatchObject({ partial: true, reason: 'too-many-pages' });
});

test.each([
  ['another origin', 'https://evil.test/organizations', 'address-refused'],
  ['a template', 'https://a.test/organizations?x={page}', 'address-template'],
  ['traversal before the old form', 'https://a.test/organizations/..%3bstart=1/oauth', 'address-refused'],
  ['what has an empty part without the old form', 'https://a.test/a/;start=1/b', 'address-refused'],
])('S6: a next page at %s is not asked for', async (_what, uri, reason) => {
  const { asked, last } = await follow(() => ({ values: [], links: next(uri) }));
  expect(asked).toHaveLength(1);
  expect(last).toMatchObject({ partial: true, reason });
});

test.each([[{}], [{ values: { a: 1 } }], [null], ['text']])(
  'a page without a list of values is not the end: %j',
  async (body) => {
    const { last } = await follow(() => body as never);
    expect(last).toMatchObject({
      partial: true,
      reason: typeof body === 'string' ? 'call-failed' : 'malformed-page',
    });
  },
);

test.each([
  [[{ rel: 'nextPage', uri: 5 }], 'expected an address in the link `nextPage`, got number'],
  [
    [{ rel: 'nextPage', uri: '/organizations?pageOffset=1' }],
    'expected an absolute address in the link `nextPage`, got `/organizations`',
  ],
  [[{ rel: 'nextPage', uri: null }], 'expected an address in the link `nextPage`, got null'],
  [
    [{ rel: 'self', uri: first }, { rel: 'nextPage' }],
    'expected an address in the link `nextPage`, got nothing',
  ],
  [[null], 'expected an object as link, got null'],
  [[{ uri: first }], 'expected a link to name its relationship, got nothing'],
  ['x', 'expected a list of links, got string'],
  [{}, 'expected a link to name its relationship, got nothing'],
])('F-15: a page with the links %j is not the last of its list', async (links, detail) => {
  const { asked, pages, last } = await follow(() => ({ values: [1], links }));
  expect(asked).toHaveLength(1);
  expect(pages).toMatchObject([
    { partial: false, values: [1] },
    { reason: 'malformed-page', detail },
  ]);
  expect(partialSentence(last as never)).toBe(
    `page 1: ${detail} (malformed-page) at https://a.test/organizations?itemLimit=100`,
  );
});

test('a malformed link of another name, and one that a readable one stands beside, hide no next page', async () => {
  const { pages } = await follow((_url, at) => ({
    values: [at],
    links: [
      { rel: 'previousPage', uri: 5 },
      { rel: 'nextPage', uri: 5 },
      ...(at === 1 ? next(`${first}?pageOffset=1`) : []),
    ].slice(0, at === 1 ? 3 : 1),
  }));
  expect(pages).toMatchObject([{ values: [1] }, { values: [2], next: null }]);
});

test('F-15: a page that fails ends partial, in words that name it', async () => {
  const { last } = await follow((_url, at) =>
    at === 1 ? { values: [1], links: next(`${first}?p=2`) } : 'transient',
  );
  expect(last).toMatchObject({ partial: true, reason: 'call-failed', verdict: { code: 'status-503' } });
  expect(partialDetail(last as never)).toBe('page 2: it was not answered with a page (status-503)');
  expect(partialSentence(last as never)).toBe(
    'page 2: it was not answered with a page (status-503) at https://a.test/organizations',
  );
  // What was answered is named once, by its code or in words.
  const told = (code: string, detail: string) =>
    partialSentence({ ...last, verdict: { ...(last as PartialEnd).verdict, code, detail } } as never);
  const head = 'page 2: it was not answered with a page';
  const at = 'at https://a.test/organizations';
  expect(told('status-503', 'status 503')).toBe(`${head} ${at} – status 503`);
  expect(told('connection-reset', 'no answer: connection-reset')).toBe(
    `${head} ${at} – no answer: connection-reset`,
  );
  expect(told('html-answer', 'expected a JSON document, got text/html')).toBe(
    `${head} (html-answer) ${at} – expected a JSON document, got text/html`,
  );
  expect(
    partialDetail({ partial: true, reason: 'loop', detail: 'x', page: 2, address: null, verdict: null }),
  ).toBe('page 2: x (loop)');
  const gone = { kind: 'gone', certain: false, connectionId: '', origin: '' } as const;
  expect(
    partialDetail({
      partial: true,
      reason: 'call-failed',
      detail: 'x',
      page: 1,
      address: null,
      verdict: gone,
    }),
  ).toBe('page 1: x (gone)');
});

test.each<[PartialEnd['verdict'], string, string]>([
  [
    {
      kind: 'action-required',
      cause: 'terms',
      actionUrl: 'https://act.test/terms',
      message: 'Please accept the terms.',
      connectionId: 'c1',
    },
    'page 1: x (action-required) – Please accept the terms.',
    'page 1: x (action-required) at https://a.test/o?ids=1; a customer acts at https://act.test/terms – ' +
      'Please accept the terms.',
  ],
  [
    { kind: 'forbidden', connectionId: 'c1', message: 'scopes needed: eq1', client: true },
    'page 1: x (forbidden) – scopes needed: eq1',
    'page 1: x (forbidden) at https://a.test/o?ids=1 – scopes needed: eq1',
  ],
  [
    {
      kind: 'transient',
      code: 'html-answer',
      detail: 'expected a JSON document, got text/html, 9 bytes at https://a.test/o?ids=1',
      origin: 'https://a.test',
      connectionId: 'c1',
      retryAfterMs: null,
    },
    'page 1: x (html-answer) – expected a JSON document, got text/html, 9 bytes at https://a.test/o?ids=1',
    'page 1: x (html-answer) – expected a JSON document, got text/html, 9 bytes at https://a.test/o?ids=1',
  ],
])(
  'a page that is refused or unreadable is told with what was said, and where: %j',
  (verdict, detail, sentence) => {
    const address = 'https://a.test/o?ids=1&token=canary';
    const page = { partial: true, reason: 'call-failed', detail: 'x', page: 1, address, verdict } as const;
    expect([partialDetail(page), partialSentence(page)]).toEqual([detail, sentence]);
  },
);

test.each([
  [{}, 'an object without it'],
  [{ values: { a: 1 } }, 'an object'],
  [{ values: null }, 'null'],
  [{ values: 'none' }, 'string'],
  [[], 'a list'],
])('what stands where a list of values was expected is named: %j', async (body, got) => {
  const { last } = await follow(() => body as never);
  expect(last).toMatchObject({ detail: `expected a list of values, got ${got}` });
});
