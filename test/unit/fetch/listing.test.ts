// Goal: a listing is asked for as the contract has it, and an item says of itself only what it says.
// Method: a caller that answers from a script, and remembers what it was asked.
import type { Request } from '../../../src/fetch/ask';
import type { Verdict } from '../../../src/fetch/classify';
import { makeEquipmentAddresses } from '../../../src/fetch/equipment-addresses';
import { makeGate } from '../../../src/fetch/gate';
import { type ListingPage, makeListItems } from '../../../src/fetch/listing';
import { makePages } from '../../../src/fetch/pages';
import type { ListingRequest } from '../../../src/model/sync';
import { connectionOf } from '../../support/provider-client';

const gate = makeGate(['https://a.test/', 'https://eq.test/isg']);
const equipment = makeEquipmentAddresses('https://eq.test/isg');

type Scripted = { body?: unknown; headers?: Record<string, string>; verdict?: Verdict };

async function list(
  request: Partial<ListingRequest> & Pick<ListingRequest, 'of'>,
  given: Scripted | ((call: number) => Scripted),
) {
  const asked: Request[] = [];
  const caller = {
    catalog: async () => ({ answer: { kind: 'aborted' as const } }),
    call: async (question: Request): Promise<Verdict> => {
      asked.push(question);
      const answer = typeof given === 'function' ? given(asked.length) : given;
      question.heard?.(answer.headers ?? {});
      const document = { body: answer.body, address: '', mediaType: 'm', connectionId: 'c1' };
      return answer.verdict ?? { kind: 'ok', document };
    },
  };
  const listItems = makeListItems({
    vendor: 'Acme',
    gate,
    pages: makePages(gate, 5),
    equipment,
    oldEquipment: null,
  });
  const pages: ListingPage[] = [];
  const whole = { connectionId: 'c1', from: null, changeToken: null, unpaged: false, ...request };
  for await (const page of listItems(whole, connectionOf(), caller)) pages.push(page);
  return { asked, pages, page: pages.at(-1) as ListingPage };
}

const operations = { what: 'field-operations', address: 'https://a.test/fields/1/fieldOperations' } as const;

test('equipment is listed by its organization, with what belongs to it, and each record has its address', async () => {
  const { asked, pages, page } = await list(
    { of: { what: 'equipment', organizationId: '4711' } },
    { body: { values: [{ '@type': 'Machine', id: 7 }, 'text', null, { id: '' }] } },
  );
  expect(asked[0]!.url.href).toBe(
    'https://eq.test/isg/equipment?organizationIds=4711&embed=devices%2Cequipment&itemLimit=1000',
  );
  expect(asked[0]!.headers).toEqual({});
  expect(pages[0]).toMatchObject({
    items: [
      { id: '7', address: 'https://eq.test/isg/equipment/7' },
      { id: null, address: null },
      { id: null, body: null },
      { id: null },
    ],
  });
  expect(page).toEqual({
    partial: true,
    reason: 'malformed-entry',
    detail:
      'entry 2 of a page: expected an object with an id, got string, and 2 more (malformed-entry) at ' +
      'https://eq.test/isg/equipment?organizationIds=4711&embed=devices,equipment&itemLimit=1000',
    answer: null,
  });
});

test.each([
  [{ what: 'equipment', organizationId: '4711' }, 'https://eq.test/isg/equipment', 'devices,equipment'],
  [operations, operations.address, 'measurementTypes'],
] as const)(
  'what belongs to %j is asked for on each page, also where the link to it does not repeat it',
  async (of, address, embed) => {
    const next = `${address}?pageOffset=1&itemLimit=1`;
    const { asked } = await list({ of }, (call) => ({
      body: { values: [{ id: `${call}` }], links: call === 1 ? [{ rel: 'nextPage', uri: next }] : [] },
    }));
    expect(asked.map(({ url }) => url.searchParams.get('embed'))).toEqual([embed, embed]);
    expect(asked[1]!.url.searchParams.get('pageOffset')).toBe('1');
  },
);

test('an id that nothing can be read by is none: it is told, and the rest of the page goes on', async () => {
  const { pages, page } = await list(
    { of: { what: 'equipment', organizationId: '4711' } },
    { body: { values: ['\ud800', 'a\0b', 1.5, Number.POSITIVE_INFINITY, 7].map((id) => ({ id })) } },
  );
  expect(pages[0]).toMatchObject({ items: [...Array(4).fill({ id: null, address: null }), { id: '7' }] });
  expect(page).toMatchObject({
    reason: 'malformed-entry',
    detail: expect.stringContaining(
      'entry 1 of a page: expected an object with an id (an integer or 1 to 256 printable characters), ' +
        'got an object with another, and 3 more (malformed-entry) at https://eq.test/isg/equipment?',
    ),
  });
});

test('an operation without an id is told nowhere while its link says where it stands, a field is', async () => {
  const self = { rel: 'self', uri: 'https://a.test/x?token=canary' };
  const given = () => ({ body: { values: [{ name: 'x', links: [self] }] } });
  const { page } = await list({ of: operations }, given);
  expect(page).toMatchObject({ partial: false, items: [{ id: null }] });
  const fields = await list({ of: { what: 'fields', address: 'https://a.test/fields?token=canary' } }, given);
  expect(fields.page).toMatchObject({ partial: true, reason: 'malformed-entry', answer: null });
  expect(JSON.stringify(fields.page)).not.toContain('canary');
});

test('an item whose link is longer than any address is told, and has its id alone', async () => {
  const uri = `https://a.test/${'農'.repeat(678)}`;
  const given = { body: { values: [{ id: '1', links: [{ rel: 'self', uri }] }] } };
  const { pages } = await list({ of: operations }, given);
  expect(pages).toMatchObject([
    { items: [{ id: '1', address: null }] },
    {
      reason: 'malformed-entry',
      detail: expect.stringContaining(
        'entry 1 of a page: expected an address of at most 2048 bytes, got 2049',
      ),
    },
  ]);
});

test.each([operations, { what: 'equipment', organizationId: '4711' }] as const)(
  'the documents of a page of %j are in its items alone',
  async (of) => {
    const body = { values: [{ id: '1' }, { id: '2' }] };
    const { pages } = await list({ of }, { body });
    expect(pages).toMatchObject([{ items: [{ body: { id: '1' } }, { body: { id: '2' } }] }]);
    expect(body.values).toEqual([]);
  },
);

test('a field whose link to its operations cannot be read is told, and is not one without any', async () => {
  const fields = [
    { id: 'f1', links: [] },
    { id: 'f2', links: [{ rel: 'fieldOperation', uri: 5 }] },
    {
      id: 'f3',
      links: [
        { rel: 'self', uri: 5 },
        { rel: 'fieldOperation', uri: 'https://a.test/f3' },
      ],
    },
  ];
  const { pages } = await list(
    { of: { what: 'fields', address: 'https://a.test/fields' } },
    { body: { values: fields } },
  );
  expect(pages).toMatchObject([
    { items: [{ operations: null }, { operations: null }, { operations: 'https://a.test/f3' }] },
    {
      reason: 'malformed-entry',
      detail:
        'entry 2 of a page: expected an address in the link `fieldOperation`, got number (malformed-entry) at ' +
        'https://a.test/fields?itemLimit=100',
    },
  ]);
});

test('F-14: a change token is sent where it is wanted, and the new one handed on', async () => {
  const { asked, page } = await list(
    { of: operations, changeToken: 'old' },
    {
      body: { values: [{ id: 'x', links: [{ rel: 'delete', uri: 'https://a.test/x' }] }] },
      headers: { 'x-acme-signature': 'new' },
    },
  );
  expect(asked[0]!.url.search).toBe('?embed=measurementTypes&itemLimit=100');
  expect(asked[0]!.headers).toEqual({ 'x-acme-signature': 'old' });
  expect(page).toMatchObject({
    changeToken: 'new',
    items: [{ id: 'x', deleted: true, address: 'https://a.test/x' }],
  });
});

test('a change token is sent for the address that it is of, and for no later page', async () => {
  const next = { rel: 'nextPage', uri: 'https://a.test/next' };
  const body = { values: [{ id: 1 }], links: [next] };
  const sent = async (more: Partial<ListingRequest>) => {
    const { asked } = await list({ of: operations, ...more }, { body });
    return asked.map(({ headers }) => headers);
  };
  for (const changeToken of ['old', ''])
    expect(await sent({ changeToken })).toEqual([{ 'x-acme-signature': changeToken }, {}]);
  expect(await sent({ changeToken: 'old', from: `${operations.address}?pageOffset=100` })).toEqual([{}, {}]);
});

test('F-14: a 304 that nobody asked for ends a listing in its middle, and is never the answer that nothing is new', async () => {
  const next = { rel: 'nextPage', uri: 'https://a.test/next' };
  const body = { values: [{ id: 1 }], links: [next] };
  const changesAskedFor = async (more: Partial<ListingRequest>, of: ListingRequest['of'] = operations) => {
    const { asked, page } = await list({ of, ...more }, { body });
    expect(page).toMatchObject({ partial: true, reason: 'loop' });
    return asked.map(({ changesOnly }) => changesOnly);
  };
  expect(await changesAskedFor({ changeToken: 'old' })).toEqual([true, false]);
  expect(await changesAskedFor({ changeToken: '' })).toEqual([false, false]);
  expect(await changesAskedFor({})).toEqual([false, false]);
  expect(await changesAskedFor({ changeToken: 'old', from: `${operations.address}?pageOffset=100` })).toEqual(
    [false, false],
  );
  expect(await changesAskedFor({}, { what: 'equipment', organizationId: '4711' })).toEqual([false, false]);
});

test('the whole list at once is asked for by header, without a limit', async () => {
  const { asked, page } = await list({ of: operations, unpaged: true }, { body: { values: [] } });
  expect(asked[0]!.headers).toEqual({ 'x-acme-no-paging': 'true' });
  expect(asked[0]!.url.search).toBe('?embed=measurementTypes');
  expect(page).toMatchObject({ partial: false, changeToken: null });
});

test('a field says where its operations are listed', async () => {
  const links = [
    { rel: 'self', uri: 'https://a.test/fields/1' },
    { rel: 'fieldOperation', uri: 'https://a.test/fields/1/ops' },
  ];
  const { asked, page } = await list(
    {
      of: { what: 'fields', address: 'https://a.test/fields' },
      from: 'https://a.test/fields?pageOffset=100',
    },
    { body: { values: [{ id: 1, links }] } },
  );
  expect(asked[0]!.url.href).toBe('https://a.test/fields?pageOffset=100&itemLimit=100');
  expect(page).toMatchObject({ items: [{ operations: 'https://a.test/fields/1/ops', deleted: false }] });
});

test.each([
  [{ kind: 'forbidden', connectionId: 'c1', message: 'm', client: true }, 'client-refused'],
  [{ kind: 'forbidden', connectionId: 'c1', message: 'm', client: false }, 'no-access'],
  [{ kind: 'not-modified', connectionId: 'c1' }, 'not-modified'],
] as [Verdict, string][])('a page that is answered %j ends the listing as %s', async (verdict, kind) => {
  const { page } = await list({ of: operations }, { verdict });
  expect(page).toMatchObject({ partial: true, reason: 'call-failed', answer: { kind } });
});

test('an address that leads elsewhere is not asked for', async () => {
  const { asked, page } = await list({ of: { what: 'fields', address: 'https://evil.test/' } }, {});
  expect(asked).toEqual([]);
  expect(page).toMatchObject({ partial: true, reason: 'address-refused', answer: null });
  const operationsElsewhere = { what: 'field-operations', address: 'https://evil.test/' } as const;
  expect((await list({ of: operationsElsewhere }, {})).asked).toEqual([]);
});
