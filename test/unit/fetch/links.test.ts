import { linksOf, unreadLinkOf, unreadLinksOf } from '../../../src/fetch/links';

test.each(['links', 'link'])('links are found under %s', (key) => {
  const document = {
    [key]: [
      { rel: 'organizations', uri: 'https://a.test/o' },
      { rel: 'files', uri: 'https://a.test/f' },
    ],
  };
  expect([...linksOf(document)]).toEqual([
    ['organizations', 'https://a.test/o'],
    ['files', 'https://a.test/f'],
  ]);
});

test('a single link object is a list of one', () => {
  expect(linksOf({ link: { '@type': 'Link', rel: 'self', uri: 'https://a.test/u' } }).get('self')).toBe(
    'https://a.test/u',
  );
});

test('user info of a link is not kept', () => {
  expect(linksOf({ link: { rel: 'self', uri: 'https://ann:pw@a.test/o' } }).get('self')).toBe(
    'https://[secret]@a.test/o',
  );
});

test('the first of a repeated relationship counts, and malformed entries are skipped', () => {
  const links = [
    null,
    3,
    'x',
    {},
    { rel: 'a' },
    { uri: 'u' },
    { rel: 1, uri: 'u' },
    { rel: 'a', uri: '/one' },
    { rel: 'a', uri: 'https://a.test/one' },
    { rel: 'a', uri: 'https://a.test/two' },
  ];
  expect([...linksOf({ links })]).toEqual([['a', 'https://a.test/one']]);
});

test.each([null, undefined, 3, 'links', [], {}, { links: 'x' }, { links: null }])(
  '%j has no links',
  (document) => {
    expect(linksOf(document).size).toBe(0);
  },
);

test('no more than a thousand links are read', () => {
  const links = Array.from({ length: 5000 }, (_, at) => ({ rel: `r${at}`, uri: 'https://a.test/u' }));
  expect(linksOf({ links }).size).toBe(1000);
});

test('what of the links cannot be read is told by its relationship, or as any of them', () => {
  const entry = { rel: 'self', uri: 'https://a.test/u' };
  const links = [entry, { rel: 'a', uri: 1 }, { rel: 'a', uri: null }, { rel: 'b c', uri: [] }];
  expect([...unreadLinksOf({ links })]).toEqual([
    ['a', 'expected an address in the link `a`, got number'],
    ['b c', 'expected an address in a link, got a list'],
  ]);
  const many = Array.from({ length: 1001 }, () => entry);
  expect([...unreadLinksOf({ link: many })]).toEqual([['', 'expected at most 1000 links, got 1001']]);
  for (const document of [null, 3, {}, { links: null }, { links: [] }, { link: entry }])
    expect(unreadLinksOf(document).size).toBe(0);
});

test.each([
  ['/relative/path?key=canary', '`/relative/path`'],
  ['not an address', '`not an address`'],
  ['//ann:canary@evil.test/x', '`[address]`'],
  [`//${'canary'.repeat(100)}@evil.test`, '`[address]`'],
  ['see ann@a.test\u202e\nnow', '`see [address] now`'],
  [`/${'a'.repeat(200)}`, `\`/${'a'.repeat(119)}\``],
  ['https:///path', '`https:///path`'],
  ['javascript:alert(1)', '`javascript:alert(1)`'],
  ['', 'none'],
])('%j is no absolute address: it is no link, and is told without what may be secret in it', (uri, got) => {
  const links = [{ rel: 'nextPage', uri }];
  expect(linksOf({ links }).size).toBe(0);
  expect([...unreadLinksOf({ links })]).toEqual([
    ['nextPage', `expected an absolute address in the link \`nextPage\`, got ${got}`],
  ]);
});

test.each(['ftp://evil.test/x', 'https://evil.test', 'http://a.test/{page}', 'https://[secret]@a.test/'])(
  '%j is an address, for the gate to judge',
  (uri) => {
    expect(linksOf({ link: { rel: 'self', uri } }).get('self')).toBe(uri);
    expect(unreadLinksOf({ link: { rel: 'self', uri } }).size).toBe(0);
  },
);

test('a link that cannot be read is asked about by any of its names', () => {
  const unread = unreadLinksOf({ links: [{ rel: 'b', uri: 1 }] });
  expect(unreadLinkOf(unread, ['a', 'b'])).toContain('`b`');
  expect(unreadLinkOf(unread, ['a'])).toBeNull();
  expect(unreadLinkOf(unreadLinksOf({ links: 'x' }), ['a'])).toBe('expected a list of links, got string');
});
