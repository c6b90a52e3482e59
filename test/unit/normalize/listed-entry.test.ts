/**
 * What is only shown: files and reference data. Read leniently, and whatever is handed in is an entry or a refusal.
 */
import { readFileEntry, readReferenceEntry } from '../../../src/normalize/listed-entry';
import fc from '../../support/properties';

const source = { address: 'https://provider.example/platform/files/5', mediaType: 'application/json' };

test('a file is read with its numbers and truth values as text or as they are', () => {
  const said = {
    id: 577,
    name: 'x.zip',
    type: 'SETUP',
    nativeSize: '72946',
    archived: 'false',
    status: 'READY',
  };
  const view = { id: '577', name: 'x.zip', type: 'SETUP', bytes: 72946, archived: false, status: 'READY' };
  const unsaid = { createdTime: null, modifiedTime: null, source };
  expect(readFileEntry(said, source)).toEqual({ ok: true, view: { ...view, ...unsaid } });
  expect(readFileEntry({ ...said, nativeSize: 72946, archived: true }, source)).toMatchObject({
    view: { bytes: 72946, archived: true },
  });
});

test('what a file does not say, or says oddly, is null', () => {
  const nothing = { name: null, type: null, bytes: null, status: null, archived: null };
  expect(readFileEntry({ id: 'f' }, source)).toMatchObject({ ok: true, view: { id: 'f', ...nothing } });
  for (const nativeSize of ['many', -1, 1.5, 1e300, {}]) {
    expect(readFileEntry({ id: 'f', nativeSize, name: {} }, source)).toMatchObject({ view: nothing });
  }
});

test('an entry of the reference data keeps what tells it from others, its category written as equipment’s', () => {
  const said = {
    '@type': 'EquipmentType',
    id: 1,
    ERID: 'e',
    name: 7,
    category: 'Machine',
    certified: true,
    icon: {},
  };
  expect(readReferenceEntry(said)).toEqual({
    ok: true,
    view: { id: '1', erid: 'e', name: '7', category: 'machine', certified: true },
  });
  expect(readReferenceEntry({ id: 'x', category: 7 })).toEqual({ ok: true, view: { id: 'x', name: null } });
});

test('without an id there is no entry', () => {
  expect(readReferenceEntry({ name: 'n' })).toEqual({
    ok: false,
    path: '/id',
    detail: 'expected an id, got none',
  });
  expect(readFileEntry([], source)).toMatchObject({ ok: false, path: '' });
});

test('any JSON value, and any object at all, is an entry or a refusal', () => {
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw new RangeError('trap');
      },
      has: () => true,
      getOwnPropertyDescriptor: () => {
        throw new RangeError('trap');
      },
    },
  );
  expect(readFileEntry(trap, source)).toEqual({ ok: false, path: '', detail: 'it cannot be read' });
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom('id', 'name', 'nativeSize', 'archived', 'ERID'),
      (value, name) => {
        for (const body of [value, { id: 'f', [name]: value }]) {
          expect(typeof readFileEntry(body, source).ok).toBe('boolean');
          expect(typeof readReferenceEntry(body).ok).toBe('boolean');
        }
      },
    ),
    { numRuns: 300 },
  );
});
