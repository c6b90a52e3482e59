import { linksOf } from '../../../src/fetch/links';

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
  expect(linksOf({ link: { '@type': 'Link', rel: 'self', uri: 'u' } }).get('self')).toBe('u');
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
    { rel: 'a', uri: 'one' },
    { rel: 'a', uri: 'two' },
  ];
  expect([...linksOf({ links })]).toEqual([['a', 'one']]);
});

test.each([null, undefined, 3, 'links', [], {}, { links: 'x' }, { links: null }])(
  '%j has no links',
  (document) => {
    expect(linksOf(document).size).toBe(0);
  },
);

test('no more than a thousand links are read', () => {
  const links = Array.from({ length: 5000 }, (_, at) => ({ rel: `r${at}`, uri: 'u' }));
  expect(linksOf({ links }).size).toBe(1000);
});
