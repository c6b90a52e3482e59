import { draftEvent } from '../../../src/publish/draft-event';

const document = {
  kind: 'equipment' as const,
  id: '12',
  organizationId: '4711',
  facts: { name: 'Größte', archived: false },
  contentHash: 'c',
  wireHash: 'w',
  normalizerVersion: 3,
  modifiedTime: '2025-06-01T00:00:00.000Z',
  archived: false,
  unknownFields: ['/x'],
};
const read = {
  address: 'https://api.example.com/equipment/12',
  mediaType: 'application/json',
  observedAt: '2025-06-01T08:00:00.000Z',
};

test('the value is identity, time and source, then the facts', () => {
  expect(draftEvent(document, read).value).toBe(
    '{"id":"12","organizationId":"4711","observedAt":"2025-06-01T08:00:00.000Z","source":' +
      '{"address":"https://api.example.com/equipment/12","mediaType":"application/json"},"name":"Größte","archived":false}',
  );
});

test('the same document read the same way is the same draft', () => {
  expect(draftEvent(structuredClone(document), { ...read })).toEqual(draftEvent(document, read));
});

test('a document without facts is its identity alone', () => {
  const value = JSON.parse(draftEvent({ ...document, facts: {} }, read).value);
  expect(Object.keys(value)).toEqual(['id', 'organizationId', 'observedAt', 'source']);
});

test('no fact takes the place of the identity', () => {
  const facts = { id: 'forged', source: 'forged', name: 'n' };
  const value = JSON.parse(draftEvent({ ...document, facts }, read).value);
  expect(value).toEqual({
    id: '12',
    organizationId: '4711',
    observedAt: read.observedAt,
    source: { address: read.address, mediaType: read.mediaType },
    name: 'n',
  });
});

test('what the store needs for its decision is carried over, unknown fields are not', () => {
  expect(draftEvent(document, read)).toEqual({
    kind: 'equipment',
    id: '12',
    organizationId: '4711',
    contentHash: 'c',
    wireHash: 'w',
    normalizerVersion: 3,
    modifiedTime: '2025-06-01T00:00:00.000Z',
    archived: false,
    value: expect.any(String),
    ...read,
  });
});

test('a time of modification that has not come yet is published as it is said, and orders nothing', () => {
  const draftOfTime = (modifiedTime: string) =>
    draftEvent({ ...document, modifiedTime, facts: { modifiedTime } }, read);
  const early = '2025-06-01T08:05:00.000Z';
  expect(draftOfTime(early).modifiedTime).toBe(early);
  const [late, never] = [draftOfTime('2025-06-01T08:05:00.001Z'), draftOfTime('9999-12-31T23:59:59.000Z')];
  expect([late.modifiedTime, never.modifiedTime]).toEqual([null, null]);
  expect(JSON.parse(never.value)).toMatchObject({ modifiedTime: '9999-12-31T23:59:59.000Z' });
});
