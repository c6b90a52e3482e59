// Goal: a change of a schema that breaks a reader is seen, and one that does not is let through.
// Method: pairs of small schemas, one for each way in which a reader can be let down.
import { breakingChanges, type JsonSchema } from './schema-compatibility';

const quantity = { type: 'object', properties: { value: { type: 'number' } }, required: ['value'] };

const published: JsonSchema = {
  $id: 'https://schemas.example/thing.v1',
  title: 'Thing',
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: ['string', 'null'] },
    state: { type: 'string', enum: ['on', 'off'] },
    at: { type: 'string', format: 'date-time' },
    area: { anyOf: [{ $ref: '#/$defs/quantity' }, { type: 'null' }] },
    parts: { type: 'array', items: { $ref: '#/$defs/part' } },
  },
  required: ['id', 'state'],
  $defs: {
    quantity,
    part: {
      type: 'object',
      properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/$defs/part' } } },
    },
  },
};

type Change = [pointer: string, value: unknown];

/** A copy with other values at the pointers; undefined takes a member away. */
function changed(...changes: Change[]): JsonSchema {
  const copy = structuredClone(published);
  for (const [pointer, value] of changes) {
    const steps = pointer.split('/').slice(1);
    const last = steps.pop() ?? '';
    const parent = steps.reduce((at, step) => at[step] as JsonSchema, copy);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  }
  return copy;
}

test('a schema is compatible with itself', () => {
  expect(breakingChanges(published, structuredClone(published))).toEqual([]);
});

const nothing = { type: 'null' };
const amount = { $ref: '#/$defs/amount' };

test.each<[string, ...Change[]]>([
  ['a new optional field', ['/properties/colour', { type: 'string' }]],
  ['a new optional field inside a definition', ['/$defs/part/properties/size', { type: 'number' }]],
  ['other words about a field', ['/properties/id/description', 'Who it is.']],
  ['required names in another order', ['/required', ['state', 'id']]],
  ['alternatives in another order', ['/properties/area/anyOf', [nothing, { $ref: '#/$defs/quantity' }]]],
  [
    'a definition under another name',
    ['/$defs/amount', quantity],
    ['/properties/area/anyOf', [amount, nothing]],
  ],
  ['a definition written out', ['/properties/area/anyOf', [quantity, nothing]]],
])('%s breaks nobody', (_name, ...changes) => {
  expect(breakingChanges(published, changed(...changes))).toEqual([]);
});

test.each<[string, string, Change]>([
  ['a removed field', '/name: was removed', ['/properties/name', undefined]],
  ['a field that is no longer always there', ': required has lost state', ['/required', ['id']]],
  ['a field that is now demanded', ': required has gained name', ['/required', ['id', 'state', 'name']]],
  ['a changed type', '/id: type has lost string', ['/properties/id/type', 'integer']],
  ['a field that may now be null', '/id: type has gained null', ['/properties/id/type', ['string', 'null']]],
  ['a field that may no longer be null', '/name: type has lost null', ['/properties/name/type', 'string']],
  ['a narrowed enum', '/state: enum has lost off', ['/properties/state/enum', ['on']]],
  ['a widened enum', '/state: enum has gained idle', ['/properties/state/enum', ['on', 'off', 'idle']]],
  ['another format', '/at: format has changed', ['/properties/at/format', 'date']],
  ['a new bound', '/id: maxLength has changed', ['/properties/id/maxLength', 10]],
  ['a closed object', ': additionalProperties has changed', ['/additionalProperties', false]],
  ['a lost alternative', '/area: anyOf has changed', ['/properties/area/anyOf', [nothing]]],
  [
    'a new alternative',
    '/area: anyOf has changed',
    ['/properties/area/anyOf', [{ $ref: '#/$defs/quantity' }, nothing, { type: 'number' }]],
  ],
  [
    'a change inside a referred definition',
    '/area: anyOf has changed',
    ['/$defs/quantity/properties/value/type', 'string'],
  ],
  [
    'a change inside the entries of a list',
    '/parts/items/name: was removed',
    ['/$defs/part/properties/name', undefined],
  ],
  ['another address', ': $id has changed', ['/$id', 'https://schemas.example/other']],
])('%s breaks a reader', (_name, complaint, change) => {
  expect(breakingChanges(published, changed(change))).toContain(complaint);
});

test('a field added to a closed object breaks a reader', () => {
  const closed: Change = ['/additionalProperties', false];
  const added = changed(closed, ['/properties/colour', { type: 'string' }]);
  expect(breakingChanges(changed(closed), added)).toEqual(['/colour: was added where no field may be']);
});

test('a reference that leads nowhere is an error', () => {
  const lost = changed(['/$defs/quantity', undefined]);
  expect(() => breakingChanges(published, lost)).toThrow('#/$defs/quantity');
});
