/**
 * The door of the room: whatever is handed in is answered with a document that fits its schema or with a coded refusal.
 * Method: documents of the provider, mutated at random; ajv, which knows nothing of the code, judges what comes out.
 */
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { NormalizedDocument } from '../../../src/model/event';
import { dataschemaOf } from '../../../src/model/event';
import type { EventKind } from '../../../src/model/resource';
import { eventSchemas, normalizeDocument, normalizerVersion } from '../../../src/normalize/normalize';
import { draftEvent } from '../../../src/publish/draft-event';
import { writeJsonSchema } from '../../../src/tools/schema';
import { processorTimeOf } from '../../support/processor-time';
import fc from '../../support/properties';
import { documentNames, type Json, type JsonObject, normalized, providerDocument } from './provider-document';

const codes = [
  'required',
  'wrong-type',
  'unknown-type',
  'unsafe-integer',
  'malformed-id',
  'malformed-time',
  'out-of-range',
  'too-long',
  'too-many',
  'too-deep',
  'too-large',
];

const validators = new Map<EventKind, ValidateFunction>();
for (const kind of Object.keys(eventSchemas) as EventKind[]) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats(ajv);
  validators.set(kind, ajv.compile(JSON.parse(writeJsonSchema(eventSchemas[kind], dataschemaOf(kind)))));
}

/** What ajv complains about in the value that would be published. */
function complaints(document: NormalizedDocument): unknown {
  const draft = draftEvent(document, {
    address: 'https://provider.example/platform/thing',
    mediaType: 'application/json',
    observedAt: '2025-05-06T18:00:00.000Z',
  });
  const validate = validators.get(document.kind) as ValidateFunction;
  return validate(JSON.parse(draft.value)) ? null : validate.errors;
}

/** A document that fits, or a refusal that is one of the known and names a place. */
function judge(body: unknown): 'document' | 'refusal' {
  const result = normalizeDocument(body, { includeOperatorNames: true });
  if (result.ok) {
    expect(complaints(result.document)).toBeNull();
    expect(result.document.contentHash).toMatch(/^[0-9a-f]{64}$/);
    return 'document';
  }
  expect(codes).toContain(result.code);
  expect(result.path).toMatch(/^(\/([^~/]|~[01])*)*$/);
  expect(result.detail.length).toBeLessThan(100);
  return 'refusal';
}

test.each(documentNames)('%s is taken, fits its schema, and holds nothing unknown', (name) => {
  const document = normalized(providerDocument(name));
  expect(complaints(document)).toBeNull();
  expect(document.unknownFields).toEqual([]);
  expect(document.normalizerVersion).toBe(normalizerVersion);
});

test.each(documentNames)('%s gives the same document each time and is left as it was', (name) => {
  const body = providerDocument(name);
  expect(normalized(body)).toEqual(normalized(providerDocument(name)));
  expect(body).toEqual(providerDocument(name));
});

/** Places in a document: the parent and the key under which a value stands. */
function placesOf(value: Json, places: [JsonObject, string][] = []): [JsonObject, string][] {
  if (typeof value !== 'object' || value === null) return places;
  for (const key of Object.keys(value)) {
    places.push([value as JsonObject, key]);
    placesOf((value as JsonObject)[key] as Json, places);
  }
  return places;
}

const strangeValues = fc.oneof(
  fc.constantFrom<unknown>(null, '', '0', 0, -0, 1.5, true, false, [], {}, [[]], '\u0000', '\ud800', '---'),
  fc.constantFrom<unknown>(2 ** 53, 2 ** 53 + 2, -1e308, 1e308, 5e-324, Number.POSITIVE_INFINITY),
  fc.constantFrom<unknown>('2025-02-30T00:00:00Z', 'x'.repeat(5000), { value: 1e308, unitId: 't' }),
  fc.constantFrom<unknown>({ value: null, unitId: null }, [null], [[], []], [{}, {}], { '@type': 'Machine' }),
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);

type Mutation =
  | { kind: 'delete' | 'nest' | 'swap' | 'repeat'; at: number; other: number }
  | { kind: 'retype' | 'add'; at: number; value: unknown };

const mutations: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('delete' as const, 'nest' as const, 'swap' as const, 'repeat' as const),
    at: fc.nat(10_000),
    other: fc.nat(10_000),
  }),
  fc.record({
    kind: fc.constantFrom('retype' as const, 'add' as const),
    at: fc.nat(10_000),
    value: strangeValues,
  }),
);

function mutate(body: Json, mutation: Mutation): void {
  const places = placesOf(body);
  const [parent, key] = places[mutation.at % places.length] ?? [{} as JsonObject, ''];
  const value = parent[key] as Json;
  switch (mutation.kind) {
    case 'delete':
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      break;
    case 'nest':
      parent[key] = mutation.other % 2 === 0 ? [value] : { value };
      break;
    case 'swap': {
      const [otherParent, otherKey] = places[mutation.other % places.length] ?? [parent, key];
      parent[key] = structuredClone(otherParent[otherKey] as Json);
      otherParent[otherKey] = structuredClone(value);
      break;
    }
    case 'repeat':
      parent[key] = Array.from({ length: (mutation.other % 3) + 1 }, () => structuredClone(value));
      break;
    case 'retype':
      // A copy: what later mutations change must not be the value that the next run is given.
      parent[key] = structuredClone(mutation.value) as Json;
      break;
    case 'add':
      Object.defineProperty(parent, '__proto__', {
        value: structuredClone(mutation.value),
        enumerable: true,
        writable: true,
        configurable: true,
      });
      break;
  }
}

test('any mutation of a document gives a document that fits or a coded reason', () => {
  const seen = { document: 0, refusal: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom(...documentNames),
      fc.array(mutations, { minLength: 1, maxLength: 4 }),
      (name, list) => {
        const body = providerDocument(name);
        for (const mutation of list) mutate(body, mutation);
        seen[judge(body)] += 1;
      },
    ),
    { numRuns: 1500 },
  );
  // Neither answer may be the only one, or the property says nothing.
  expect(Math.min(seen.document, seen.refusal)).toBeGreaterThan(100);
});

test('any JSON value gives a document that fits or a coded reason', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => void judge(body)),
    { numRuns: 300 },
  );
});

test('a body that is no object is refused as a whole', () => {
  for (const body of [null, 5, 'text', true, [providerDocument('equipment-machine')]]) {
    expect(normalizeDocument(body, { includeOperatorNames: false })).toMatchObject({
      ok: false,
      path: '',
      code: 'wrong-type',
    });
  }
});

test('nesting of 200,000 levels is refused, in a known field and in an unknown one', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`) as Json;
  for (const name of ['products', 'unknown']) {
    const body = { ...providerDocument('field-operation-tank-mix-new'), [name]: deep };
    expect(normalizeDocument(body, { includeOperatorNames: false })).toMatchObject({
      ok: false,
      code: 'too-deep',
      path: `/${name}${'/0'.repeat(63)}`,
    });
  }
});

test('a body of more than a million values is refused', () => {
  const body = { ...providerDocument('equipment-machine'), unknown: new Array(1_000_000).fill(0) };
  expect(normalizeDocument(body, { includeOperatorNames: false })).toMatchObject({ code: 'too-large' });
});

test('members named __proto__ and constructor are unknown fields and change no prototype', () => {
  const text = JSON.stringify(providerDocument('equipment-machine')).replace(
    /\}$/,
    ',"__proto__":{"archived":true,"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  );
  const document = normalized(JSON.parse(text));
  expect(document.unknownFields).toEqual(['/__proto__', '/constructor']);
  expect(document.archived).toBe(false);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('facts come from own members only', () => {
  const { id: _, ...rest } = providerDocument('equipment-machine');
  const heir = Object.assign(Object.create({ id: 1, name: 'inherited' }), rest);
  expect(normalizeDocument(heir, { includeOperatorNames: false })).toMatchObject({ path: '/id' });
});

test('objects that are no JSON are refused, whatever they do when they are read', () => {
  const cyclic: Record<string, unknown> = { ...providerDocument('equipment-machine') };
  cyclic.self = cyclic;
  const doubling = Array.from({ length: 60 }).reduce<unknown[]>((inner) => [inner, inner], []);
  const hostile = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('no');
      },
    },
  );
  const codeOf = (body: unknown) => {
    const result = normalizeDocument(body, { includeOperatorNames: false });
    return result.ok ? null : result.code;
  };
  expect(codeOf(cyclic)).toBe('too-deep');
  expect(codeOf({ doubling })).toBe('too-large');
  expect(codeOf(hostile)).toBe('unreadable');
  expect(codeOf(undefined)).toBe('wrong-type');
  expect(codeOf({ '@type': 'Machine', id: 1n })).toBe('wrong-type');
  expect(codeOf({ '@type': 'Machine', id: Symbol('id') })).toBe('wrong-type');
});

test('many totals of many products are joined in time that grows with their number', () => {
  const product = (index: number): JsonObject => ({ productId: `p${index}`, name: `n${index % 10}` });
  const total = (index: number): JsonObject => ({ name: `n${index % 10}` });
  const body = {
    ...providerDocument('field-operation-tank-mix-new'),
    products: Array.from({ length: 10_000 }, (_, index) => product(index)),
    measurementTypes: Array.from({ length: 10 }, (_, index) => ({
      measurementName: `M${index}`,
      applicationProductTotals: Array.from({ length: 10_000 }, (_, at) => total(at)),
    })),
  };
  const took = processorTimeOf(() => {
    expect(normalized(body).facts.measurements).toHaveLength(10);
  });
  expect(took).toBeLessThan(5_000_000);
});
