// The machine and implement endpoints, where they are chosen: found through relationships, listed the one after the
// other, and the equipment API asked for what they have not got. Recorded answers; no other network is there.
import nock from 'nock';
import type { ListingPage } from '../../../src/fetch/listing';
import type { EquipmentNames } from '../../../src/model/equipment-names';
import type { EquipmentFilter, RawListed } from '../../../src/model/provider-data';
import type { ListingRequest } from '../../../src/model/sync';
import {
  equipmentOrigin,
  origin,
  requestFor,
  type Staged,
  stageClient,
  startMs,
} from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const json = { 'content-type': 'application/json' };
const api = () => nock(origin);
const embed = 'terminals';
const asked = `${equipmentOrigin}/isg/equipment/7`;
const record = (kind: 'machines' | 'implements', id: number, more: object = {}) => ({
  '@type': kind === 'machines' ? 'Machine' : 'Implement',
  id: String(id),
  ...more,
  links: [{ rel: 'self', uri: `${origin}/platform/${kind}/${id}` }],
});

let staged: Staged;

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  staged = stageClient({ equipmentApi: 'old' });
  catalog();
});

afterEach(() => {
  staged.client.close();
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
  nock.enableNetConnect();
});

function catalog(): void {
  const links = [{ rel: 'organizations', uri: `${origin}/platform/organizations` }];
  api().get('/platform/').reply(200, { links }, axiom);
}

function organization(rels: string[] = ['machines', 'implements'], times = 1): void {
  organizationOf(
    rels.map((rel) => ({ rel, uri: `${origin}/platform/organizations/4711/${rel}` })),
    times,
  );
}

function organizationOf(links: { rel: string; uri: unknown }[], times = 1): void {
  const values = [{ id: '4711', links }];
  api()
    .get('/platform/organizations?itemLimit=100')
    .times(times)
    .reply(200, { links: [], total: 1, values }, axiom);
}

function listed(kind: 'machines' | 'implements', values: object[], next: string | null = null): void {
  api()
    .get(`/platform/organizations/4711/${kind}`)
    .query({ embed, includeInactive: 'true', itemLimit: '100' })
    .reply(200, { links: next === null ? [] : [{ rel: 'nextPage', uri: next }], values }, axiom);
}

const read = (owner: string | null = null) =>
  staged.client.read(requestFor(asked, { resource: { kind: 'equipment', id: '7' }, organizationId: owner }));

describe('a record', () => {
  test('is read among the machines, else among the implements, and the forms are remembered for a minute', async () => {
    organization();
    listed('machines', [record('machines', 1)]);
    listed('implements', [record('implements', 2)]);
    api().get('/platform/machines/7').query({ embed }).reply(404);
    api().get('/platform/implements/7').query({ embed }).reply(200, record('implements', 7), axiom);
    expect((await read()).answer).toMatchObject({
      kind: 'ok',
      document: { address: `${origin}/platform/implements/7` },
    });
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await read()).answer).toMatchObject({ document: { address: `${origin}/platform/machines/7` } });
    staged.clock.set(startMs + 60_000);
    organization();
    listed('machines', [record('machines', 1)]);
    listed('implements', []);
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await read()).answer.kind).toBe('ok');
  });

  test('that neither has is read in the equipment API', async () => {
    organization(['machines']);
    listed('machines', [record('machines', 1)]);
    api().get('/platform/machines/7').query({ embed }).reply(410);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(200, { '@type': 'Machine', id: 7 }, json);
    expect((await read('4711')).answer).toMatchObject({ kind: 'ok', document: { address: asked } });
  });

  test('whose organization cannot be looked at waits', async () => {
    api().get('/platform/organizations?itemLimit=100').reply(503);
    expect((await read('4711')).answer).toMatchObject({ kind: 'transient' });
  });

  test('is read in the equipment API where nothing older is shared', async () => {
    organization([]);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(200, { '@type': 'Machine', id: 7 }, json);
    expect((await read()).answer.kind).toBe('ok');
    organization([]);
    nock(equipmentOrigin)
      .get('/isg/equipment?ids=7&embed=devices,equipment')
      .reply(200, { values: [{ '@type': 'Machine', id: 7 }] }, json);
    const byList = await staged.client.read(requestFor(`${equipmentOrigin}/isg/equipment?ids=7`));
    expect(byList.answer).toMatchObject({ kind: 'ok', document: { body: { id: 7 } } });
  });

  test('whose older address has moved is found where its links lead now', async () => {
    const old = `${origin}/platform/before/machines/7`;
    api().get('/platform/before/machines/7').query({ embed }).reply(404);
    organization();
    listed('machines', [record('machines', 1)]);
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await staged.client.read(requestFor(old))).answer).toMatchObject({
      kind: 'ok',
      document: { address: `${origin}/platform/machines/7` },
    });
  });

  test('that is not found at an older address with a query is asked for at the one without', async () => {
    const viewed = `${origin}/platform/machines/7?view=all`;
    api().get('/platform/machines/7').query({ view: 'all', embed }).reply(404);
    organization();
    listed('machines', [record('machines', 1)]);
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await staged.client.read(requestFor(viewed))).answer).toMatchObject({
      kind: 'ok',
      document: { address: `${origin}/platform/machines/7` },
    });
  });
});

describe('a record that its lists cannot show', () => {
  const old = `${origin}/platform/machines/7`;
  const owner = '4711';
  const gone = () => {
    api().get('/platform/machines/7').query({ embed }).reply(404);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(404, '', json);
    catalog();
  };
  const readOld = () =>
    staged.client.read(
      requestFor(old, {
        resource: { kind: 'equipment', id: '7' },
        organizationId: owner,
        connectionId: 'c1',
      }),
    );
  const refusedList = (kind: string, status: number) =>
    api().get(`/platform/organizations/4711/${kind}`).query(true).reply(status);

  test.each([
    [503, 'status-503'],
    [403, 'relocation-incomplete'],
    [404, 'relocation-incomplete'],
    [410, 'relocation-incomplete'],
  ])('waits where a list is answered %i', async (status, code) => {
    gone();
    organization();
    refusedList('machines', status);
    expect((await readOld()).answer).toMatchObject({ kind: 'transient', code });
  });

  test('is found in the equipment API all the same', async () => {
    organization();
    refusedList('machines', 503);
    listed('implements', []);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(200, { '@type': 'Machine', id: 7 }, json);
    expect((await read('4711')).answer.kind).toBe('ok');
  });

  test.each<[string, unknown[]]>([
    ['without a link', [{ id: '7' }]],
    ['at a foreign origin', [{ id: '7', links: [{ rel: 'self', uri: 'https://evil.test/machines/7' }] }]],
    ['perhaps, by an entry that names nothing', [{ '@type': 'Machine' }]],
  ])('waits while it is listed %s', async (_how, values) => {
    gone();
    organization();
    listed('machines', values as object[]);
    expect((await readOld()).answer).toMatchObject({ kind: 'transient', code: 'relocation-incomplete' });
  });

  test.each<[string, unknown]>([
    ['may not be followed', 'https://evil.test/machines'],
    ['is none', 5],
  ])('waits where the link to a list %s', async (_how, uri) => {
    gone();
    organizationOf([
      { rel: 'machines', uri },
      { rel: 'implements', uri: `${origin}/platform/organizations/4711/implements` },
    ]);
    expect((await readOld()).answer).toMatchObject({ kind: 'transient', code: 'relocation-incomplete' });
  });

  test('is gone where the list of its kind was read to its end', async () => {
    gone();
    organization(undefined, 2);
    listed('machines', []);
    expect((await readOld()).answer.kind).toBe('gone');
  });

  const unshared = (rel: string) => ({
    kind: 'transient',
    code: 'relocation-incomplete',
    detail: `organization 4711: expected a link to ${rel}, got none: not shared with this user`,
  });

  test('waits where the list of its kind is not shared, unless it was said to be gone for good', async () => {
    gone();
    organization(['implements']);
    expect((await readOld()).answer).toMatchObject(unshared('`machines`'));
    api().get('/platform/machines/7').query({ embed }).reply(410);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(404, '', json);
    catalog();
    organization(['implements'], 2);
    expect((await readOld()).answer).toMatchObject({ kind: 'gone', certain: true });
  });

  test('is gone where the list of the other kind is not shared', async () => {
    gone();
    organization(['machines'], 2);
    listed('machines', []);
    expect((await readOld()).answer.kind).toBe('gone');
  });

  const waits = { kind: 'transient', code: 'relocation-incomplete' };
  test.each<[string, number, number | null, object]>([
    ['404 is gone where its list is sound and that of the other kind refused', 404, null, { kind: 'gone' }],
    ['404 waits where its list is refused', 404, 403, waits],
    ['410 is gone where its list is refused', 410, 403, { kind: 'gone', certain: true }],
    ['410 waits where its list is no more either', 410, 410, waits],
    ['410 waits where its list is not answered', 410, 503, { kind: 'transient', code: 'status-503' }],
  ])('with %s', async (_what, own, status, expected) => {
    api().get('/platform/machines/7').query({ embed }).reply(own);
    nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(404, '', json);
    catalog();
    organization(undefined, 'code' in expected ? 1 : 2);
    if (status === null) listed('machines', []);
    else refusedList('machines', status);
    api().get('/platform/organizations/4711/implements').query(true).optionally().reply(403);
    expect((await readOld()).answer).toMatchObject(expected);
  });

  test.each([
    [403, 'organization 4711 is closed: page 1: it was not answered with a page (forbidden) at '],
    [404, 'organization 4711: page 1: it was not answered with a page (gone) at '],
  ])(
    'with an unknown owner and a list that is answered %i says so with its address',
    async (status, detail) => {
      gone();
      organization();
      refusedList('machines', status);
      const resource = { kind: 'equipment', id: '7' } as const;
      expect((await staged.client.read(requestFor(old, { resource }))).answer).toMatchObject({
        ...waits,
        detail: expect.stringContaining(`${detail}${origin}/platform/organizations/4711/machines`),
      });
    },
  );

  const names = (side: EquipmentNames['side']) => {
    return { side, id: '7', organizationId: owner, principalId: null, erid: null, serialNumber: null };
  };

  test('is gone from the equipment API where nothing older is shared, unless it was seen there', async () => {
    const notThere = () => {
      nock(equipmentOrigin).get('/isg/equipment/7').query(true).reply(404, '', json);
      catalog();
    };
    staged.book.records = [names('new')];
    organization([], 2);
    notThere();
    expect((await read(owner)).answer.kind).toBe('gone');
    staged.book.records = [names('old'), names('new')];
    organization([]);
    notThere();
    expect((await read(owner)).answer).toMatchObject(unshared('`machines` and `implements`'));
    // Where another organization has shown how such addresses look, its own is looked at all the same.
    organization();
    listed('machines', [record('machines', 1)]);
    listed('implements', [record('implements', 2)]);
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await read()).answer.kind).toBe('ok');
    for (const kind of ['machines', 'implements'])
      api().get(`/platform/${kind}/7`).query({ embed }).reply(404);
    organization([]);
    notThere();
    expect((await read(owner)).answer).toMatchObject(unshared('`machines` and `implements`'));
  });

  test('is found by what stands behind entries that teach nothing', async () => {
    organization();
    listed('machines', [
      { id: '1' },
      { id: '2', links: [{ rel: 'self', uri: 'https://evil.test/machines/2' }] },
      record('machines', 3),
    ]);
    listed('implements', []);
    api().get('/platform/machines/7').query({ embed }).reply(200, record('machines', 7), axiom);
    expect((await read('4711')).answer).toMatchObject({ kind: 'ok', document: { address: old } });
  });
});

test('what the older endpoints say is not certain where they are not read any more', async () => {
  staged.client.close();
  staged = stageClient();
  catalog();
  organization();
  nock(equipmentOrigin).get('/isg/equipment/7').query(true).twice().reply(404, '', json);
  api().get('/platform/machines/7').query({ embed }).reply(410);
  const resource = { kind: 'equipment', id: '7' } as const;
  const address = `${origin}/platform/machines/7`;
  const { answer } = await staged.client.read(requestFor(address, { resource, organizationId: '4711' }));
  expect(answer).toMatchObject({ kind: 'gone', certain: false });
});

describe('a listing', () => {
  const first = (kind: string) =>
    `${origin}/platform/organizations/4711/${kind}?embed=terminals&includeInactive=true`;
  const request: ListingRequest = {
    connectionId: 'c1',
    of: { what: 'equipment', organizationId: '4711' },
    from: null,
    changeToken: null,
    unpaged: false,
  };
  const pagesOf = async (more: Partial<ListingRequest> = {}) => {
    const pages: ListingPage[] = [];
    for await (const page of staged.client.listing({ ...request, ...more })) pages.push(page);
    return pages;
  };

  test('is the machines and then the implements, the one leading to the other', async () => {
    organization();
    const next = `${origin}/platform/organizations/4711/machines?pageOffset=1`;
    listed('machines', [record('machines', 1)], next);
    api()
      .get('/platform/organizations/4711/machines?pageOffset=1&embed=terminals&includeInactive=true')
      .reply(200, { links: [], values: [record('machines', 2)] }, axiom);
    listed('implements', [record('implements', 3)]);
    const pages = await pagesOf();
    expect(
      pages.map((page) => (page.partial ? page.reason : [page.items.map(({ id }) => id), page.next])),
    ).toEqual([
      [['1'], next],
      [['2'], first('implements')],
      [['3'], null],
    ]);
  });

  test('whose one link may not be followed is the other, and partial', async () => {
    organizationOf([
      { rel: 'machines', uri: 'https://evil.test/machines?key=secret' },
      { rel: 'implements', uri: `${origin}/platform/organizations/4711/implements` },
    ]);
    listed('implements', [record('implements', 3)]);
    expect(await pagesOf()).toMatchObject([
      { partial: false, items: [{ id: '3' }], next: null },
      {
        partial: true,
        reason: 'address-refused',
        detail:
          "page 1: the origin https://evil.test is not one of the provider's (address-refused) at https://evil.test/machines",
        answer: null,
      },
    ]);
  });

  test('goes on from any of its pages', async () => {
    organization();
    api()
      .get(
        '/platform/organizations/4711/implements?pageOffset=100&itemLimit=100&embed=terminals&includeInactive=true',
      )
      .reply(200, { links: [], values: [] }, axiom);
    const from = `${origin}/platform/organizations/4711/implements?pageOffset=100`;
    expect(await pagesOf({ from })).toMatchObject([{ partial: false, items: [], next: null }]);
  });

  test('that breaks off, or whose organization is not answered, is partial', async () => {
    organization();
    api().get('/platform/organizations/4711/machines').query(true).reply(500);
    expect(await pagesOf()).toMatchObject([{ partial: true, answer: { kind: 'transient' } }]);
    api().get('/platform/organizations?itemLimit=100').reply(503);
    const detail = 'its organization was not answered (transient) – status 503';
    expect(await pagesOf()).toMatchObject([{ partial: true, detail }]);
  });
});

describe('once they have ended', () => {
  const ended = expect.stringMatching(/ended: PROVIDER_EQUIPMENT_API=new$/);
  const asksMachines = (status: number) => {
    organization(['machines']);
    api().get('/platform/organizations/4711/machines').query(true).reply(status);
  };

  test.each([404, 410])(
    'a list that is answered with %i says what there is to do, in a sync and to a person',
    async (status) => {
      asksMachines(status);
      const of = { what: 'equipment', organizationId: '4711' } as const;
      const listing = { connectionId: 'c1', of, from: null, changeToken: null, unpaged: false };
      const pages: ListingPage[] = [];
      for await (const page of staged.client.listing(listing)) pages.push(page);
      expect(pages).toMatchObject([{ partial: true, answer: { kind: 'gone' }, detail: ended }]);
      asksMachines(status);
      const filter = { organizationIds: [], ids: [], serialNumbers: [], category: null, archived: null };
      const lines: RawListed[] = [];
      for await (const line of staged.client.data.equipment(filter)) lines.push(line);
      expect(lines[0]).toMatchObject({ fault: { answer: { kind: 'gone' }, detail: ended } });
    },
  );
});

describe('for a person', () => {
  const any: EquipmentFilter = {
    organizationIds: [],
    ids: [],
    serialNumbers: [],
    category: null,
    archived: null,
  };
  const linesOf = async (filter: Partial<EquipmentFilter>) => {
    const lines: RawListed[] = [];
    for await (const line of staged.client.data.equipment({ ...any, ...filter })) lines.push(line);
    return lines;
  };
  const idsOf = async (filter: Partial<EquipmentFilter>) =>
    (await linesOf(filter)).map((line) =>
      'fault' in line ? line.fault.organizationId : (line.item.body as { id: string }).id,
    );

  test.each<[Partial<EquipmentFilter>, string[]]>([
    [{}, ['1', '2', '3']],
    [{ category: 'implement' }, ['3']],
    [{ archived: true }, ['2']],
    [{ ids: ['1', '3'], serialNumbers: ['S1'] }, ['1']],
    [{ ids: ['3'], serialNumbers: ['S1'] }, []],
    [{ archived: false, serialNumbers: ['S2'] }, []],
  ])('%j is filtered here, since the endpoints know no filter', async (filter, ids) => {
    nock.cleanAll();
    organization();
    catalog();
    listed('machines', [
      record('machines', 1, { vin: 'S1' }),
      record('machines', 1, { vin: 'S1' }),
      record('machines', 2, { serialNumber: 'S2', archived: true }),
    ]);
    listed('implements', [record('implements', 3)]);
    expect(await idsOf(filter)).toEqual(ids);
  });

  test('a link that may not be followed, or is not there, is a fault behind what can be listed', async () => {
    organizationOf([{ rel: 'machines', uri: 'https://evil.test/machines' }]);
    expect(await linesOf({})).toMatchObject([
      { fault: { answer: null, address: 'https://evil.test/machines', organizationId: '4711' } },
      { fault: { answer: { kind: 'no-access' }, organizationId: '4711' } },
    ]);
    organizationOf([{ rel: 'implements', uri: `${origin}/platform/organizations/4711/implements` }]);
    listed('implements', [record('implements', 3)]);
    expect(await idsOf({})).toEqual(['3', '4711']);
  });

  test('an organization that nobody sees, or that is not answered, is a fault', async () => {
    api().get('/platform/organizations?itemLimit=100').reply(503);
    expect(await idsOf({ organizationIds: ['99', '4711'] })).toEqual(['99', '4711']);
  });
});
