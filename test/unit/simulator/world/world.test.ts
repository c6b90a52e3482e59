// The world behind the answers: the same for the same seed, found without tables, changed in revisions.
import { merge, without } from '../../../../src/simulator/json';
import { Changes } from '../../../../src/simulator/world/changes';
import { indexOfUuid, randomFor, uuidFor } from '../../../../src/simulator/world/random';
import { Revisions } from '../../../../src/simulator/world/revisions';
import { World } from '../../../../src/simulator/world/world';

const size = { organizations: 3, equipment: 5, fieldOperations: 20 };

test('the same seed gives the same world, another seed another one', () => {
  const [one, same, other] = [new World(7, size), new World(7, size), new World(8, size)];
  const field = one.fieldAt(one.organizations.at(1), 0);
  const [id] = one.operationIdsOf(field);
  expect(same.truth('fieldOperations', id!)!.content()).toEqual(one.truth('fieldOperations', id!)!.content());
  expect(other.truth('fieldOperations', id!)).toBeUndefined();
  expect(other.truth('equipment', '217001')!.content()).not.toEqual(
    one.truth('equipment', '217001')!.content(),
  );
});

test('every identifier leads back to its number and no other', () => {
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;
  const seen = new Set<string>();
  for (let index = 0; index < 5_000; index += 1) {
    const uuid = uuidFor(1, 41, index);
    if (form.test(uuid) && indexOfUuid(1, 41, uuid) === index) seen.add(uuid);
  }
  expect(seen.size).toBe(5_000);
  expect(indexOfUuid(1, 42, uuidFor(1, 41, 3))).toBeUndefined();
  expect(indexOfUuid(1, 41, 'no uuid')).toBeUndefined();
});

test('random numbers keep their bounds', () => {
  const random = randomFor(1, 2, 3);
  for (let time = 0; time < 1_000; time += 1) {
    expect([1, 2, 3]).toContain(random.integer(1, 3));
    const decimal = random.decimal(0.05, 0.1, 3);
    expect(decimal >= 0.05 && decimal <= 0.1).toBe(true);
  }
  expect(random.hex(7)).toMatch(/^[0-9a-f]{7}$/);
});

test('operations belong to fields, eight each, the last field takes the rest', () => {
  const world = new World(1, size);
  const organization = world.organizations.at(2);
  const counts = [0, 1, 2].map(
    (position) => world.operationIdsOf(world.fieldAt(organization, position)).length,
  );
  expect([world.fieldsPerOrganization, counts]).toEqual([3, [8, 8, 4]]);
  const field = world.fieldAt(organization, 2);
  expect(world.fieldOfOperation(world.operationIdsOf(field)[3]!)).toEqual(field);
  expect(world.findField(field.id)).toEqual(field);
  expect(new World(1, { ...size, organizations: 2 }).findField(field.id)).toBeUndefined();
});

test('a world without resources has none', () => {
  const empty = new World(1, { organizations: 1, equipment: 0, fieldOperations: 0 });
  expect([
    empty.fieldsPerOrganization,
    [...empty.equipmentOf(empty.organizations.at(0), () => undefined)],
  ]).toEqual([0, []]);
  expect(empty.truth('equipment', '217001')).toBeUndefined();
});

test('clients see the newest revision that is visible, the truth is the newest of all', () => {
  const revisions = new Revisions(new Changes());
  revisions.add('a', { patch: { x: 1 } }, 1_000, 0);
  revisions.add('a', { patch: { x: 2 } }, 1_100, 500);
  revisions.add('a', { patch: { y: { z: 1 } }, take: ['w'] }, 1_200, 100);
  expect(revisions.shown('a', 999)).toBeUndefined();
  expect(revisions.shown('a', 1_299)!.patch).toEqual({ x: 1 });
  expect(revisions.shown('a', 1_300)!).toMatchObject({
    number: 3,
    patch: { x: 2, y: { z: 1 } },
    taken: ['w'],
  });
  expect(revisions.truth('a')!.number).toBe(3);
  expect(revisions.truth('b')).toBeUndefined();
});

test('merging goes into objects only and keeps the prototype out', () => {
  const patch = JSON.parse('{"a":{"b":2},"list":[9],"none":null,"__proto__":{"polluted":true}}');
  expect(merge({ a: { b: 1, c: 1 }, list: [1, 2], none: { x: 1 } }, patch)).toEqual({
    a: { b: 2, c: 1 },
    list: [9],
    none: null,
  });
  expect(Object.getPrototypeOf(merge({}, patch))).toBe(Object.prototype);
  expect(without({ a: { b: 1, c: 2 }, d: 3 }, 'a.b')).toEqual({ a: { c: 2 }, d: 3 });
  expect(without({ a: 1 }, 'a.b')).toEqual({ a: 1 });
  expect(without({ a: 1 }, 'x')).toEqual({ a: 1 });
});

test('two changes in one moment still raise modifiedTime, and so does one on a clock that is behind', () => {
  const world = new World(1, size);
  const [id] = world.operationIdsOf(world.fieldAt(world.organizations.at(0), 0));
  const modified = (): number =>
    Date.parse(String(world.truth('fieldOperations', id!)!.content().modifiedTime));
  const before = modified();
  world.change('fieldOperations', id!, {}, 0, 0);
  world.change('fieldOperations', id!, {}, 0, 0);
  expect(modified()).toBe(before + 2);
});
