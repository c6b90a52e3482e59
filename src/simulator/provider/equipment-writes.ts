// Creating, updating and deleting equipment. Promises every problem of a body at once, a serial number that is optional
// and unique within one organization only, and that clients change nothing but what a client has created.
import type { Router } from 'express';
import { isObject, type Json, type JsonObject } from '../json';
import { modelReferences, reference } from '../world/equipment';
import type { Organization } from '../world/organizations';
import { MAKES, MODELS, TYPES, typeOf } from '../world/vocabulary';
import type { Seen } from '../world/world';
import { route } from './entry';
import type { Exchange } from './exchange';
import { admittedOrganization, type Provider, present, userWith } from './provider';
import { invalid, type Problem, Refusal } from './refusal';
import { jsonObject, unknownNames } from './request-body';

const SERIAL_NUMBER_MAX = 30;
const NAME_MAX = 100;
const KNOWN = ['@type', 'id', 'name', 'serialNumber', 'make', 'type', 'model', 'icon'];
/** Facts that a client may write and leave out, and what comes with them. */
const OPTIONAL = ['serialNumber', 'alternateIdentifiers', 'make', 'type', 'model', 'isgType', 'icon'];

export function serveEquipmentWrites(router: Router, provider: Provider): void {
  const { addresses, coverage, nowMs, settings, world } = provider;
  router.post(
    '/organizations/:organizationId/equipment',
    route((exchange, { organizationId }) => {
      userWith(provider, exchange, 'eq2');
      const organization = admittedOrganization(provider, exchange, organizationId!);
      if (world.created.isFull) throw new Refusal(503, 'No further equipment can be created.');
      const body = jsonObject(exchange);
      const facts = checked(provider, body, { organization, before: undefined });
      const seen = world.createEquipment(organization, facts, nowMs(), settings.createdLagMs);
      coverage.count('equipment-create');
      if (facts.serialNumber === undefined) coverage.count('equipment-create-no-serial');
      provider.announce(seen);
      return { status: 201, text: '', headers: { Location: addresses.equipment(`/equipment/${seen.id}`) } };
    }),
  );
  router.put(
    '/equipment/:id',
    route((exchange, { id }) => {
      const { seen, organization } = contributed(provider, exchange, id!);
      const patch = checked(provider, jsonObject(exchange), { organization, before: seen });
      const replaced = settings.equipmentPut === 'replaced';
      const displaced = modelDisplaced(seen.content(), patch) ? ['model', 'isgType'] : [];
      const take = replaced ? OPTIONAL.filter((name) => patch[name] === undefined) : displaced;
      provider.announce(world.change('equipment', seen.id, { patch, take }, nowMs(), 0)!);
      coverage.count('equipment-update');
      return { status: 204 };
    }),
  );
  router.delete(
    '/equipment/:id',
    route((exchange, { id }) => {
      const { seen } = contributed(provider, exchange, id!);
      provider.announce(world.change('equipment', seen.id, { removed: true }, nowMs(), 0)!);
      coverage.count('equipment-delete');
      return { status: 204 };
    }),
  );
}

/** Equipment that a client created and this user may see. Throws 404, and 403 for what no client created. */
function contributed(
  provider: Provider,
  exchange: Exchange,
  id: string,
): { seen: Seen; organization: Organization } {
  const { world } = provider;
  userWith(provider, exchange, 'eq2');
  const seen = present(provider, exchange, world.truth('equipment', id));
  const organization = world.organizations.find(seen.organizationId)!;
  if (world.isCreated(seen.id)) return { seen, organization };
  throw new Refusal(403, 'Only equipment that an API client has contributed can be changed.');
}

interface Target {
  organization: Organization;
  /** Undefined for equipment that is being created. */
  before: Seen | undefined;
}

/** The facts of a body, ready to be kept. Throws a 400 that names every problem. */
function checked(provider: Provider, body: JsonObject, target: Target): JsonObject {
  const { seed } = provider.world;
  const problems = unknownNames(body, KNOWN);
  const before = target.before?.content();
  const kind = body['@type'] ?? before?.['@type'] ?? null;
  if (kind !== 'Machine' && kind !== 'Implement')
    problems.push({ message: '@type must be Machine or Implement', field: '@type', value: kind });
  else if (before && kind !== before['@type'])
    problems.push({ message: '@type cannot be changed', field: '@type', value: kind });
  if (before && body.id !== undefined && ![String(before.id), before.ERID].includes(String(body.id)))
    problems.push({ message: 'id is not the one of the address', field: 'id', value: body.id });
  const facts: JsonObject = { '@type': kind };
  const named = before !== undefined && provider.settings.equipmentPut === 'merged';
  readName(body, facts, named, problems);
  readSerialNumber(provider, body, facts, target, problems);
  if (isObject(body.icon)) facts.icon = body.icon;
  else if (body.icon !== undefined)
    problems.push({ message: 'icon must be an object', field: 'icon', value: body.icon });
  Object.assign(facts, readReferences(seed, body, kind, problems));
  if (problems.length === 0) return facts;
  provider.coverage.count('equipment-invalid');
  throw invalid(problems);
}

function readName(body: JsonObject, facts: JsonObject, optional: boolean, problems: Problem[]): void {
  const { name } = body;
  if (name === undefined && optional) return;
  if (typeof name === 'string' && name.trim() !== '' && name.length <= NAME_MAX) facts.name = name;
  else
    problems.push({
      message: `name must have 1 to ${NAME_MAX} characters`,
      field: 'name',
      value: name ?? null,
    });
}

/** Optional, against the provider's own form of documents: the contract says that external clients need none. */
function readSerialNumber(
  { world }: Provider,
  { serialNumber }: JsonObject,
  facts: JsonObject,
  { organization, before }: Target,
  problems: Problem[],
): void {
  if (serialNumber === undefined) return;
  const field = 'serialNumber';
  if (typeof serialNumber !== 'string' || serialNumber === '' || serialNumber.length > SERIAL_NUMBER_MAX) {
    const message = `serialNumber must have 1 to ${SERIAL_NUMBER_MAX} characters`;
    problems.push({ message, field, value: serialNumber });
    return;
  }
  facts.serialNumber = serialNumber;
  facts.alternateIdentifiers = [{ type: 'serialNumber', value: serialNumber }];
  const others = world
    .equipmentWithSerial(serialNumber)
    .map((id) => world.truth('equipment', id)!)
    .filter((other) => !other.removed && other.organizationId === organization.id && other.id !== before?.id);
  if (others.length > 0)
    problems.push({ message: 'serialNumber is used in this organization', field, value: serialNumber });
}

/** A model brings its make and type, and goes with no others; without one, make and type stand alone. */
function readReferences(seed: number, body: JsonObject, kind: Json, problems: Problem[]): JsonObject {
  const model = find(body, 'model', MODELS, problems);
  const make = find(body, 'make', MAKES, problems);
  const type = find(body, 'type', TYPES, problems);
  if (model) {
    if (typeOf(model).category !== kind)
      problems.push({ message: `The model is no ${String(kind)}`, field: 'model.id', value: model.id });
    if (make && make.id !== model.makeId)
      problems.push({ message: 'make is not the one of the model', field: 'make.id', value: make.id });
    if (type && type.id !== model.typeId)
      problems.push({ message: 'type is not the one of the model', field: 'type.id', value: type.id });
    return modelReferences(seed, model);
  }
  return {
    ...(make ? { make: reference(seed, 'EquipmentMake', make, { certified: true }) } : {}),
    ...(type ? { type: reference(seed, 'EquipmentType', type, {}) } : {}),
  };
}

/** True where a change names a make or type that the record's model does not have, and no model. */
function modelDisplaced(before: JsonObject, patch: JsonObject): boolean {
  const idOf = (one: Json | undefined): Json => (isObject(one) ? (one.id ?? null) : null);
  const model = MODELS.find(({ id }) => id === idOf(before.model));
  if (model === undefined || patch.model !== undefined) return false;
  const [make, type] = [idOf(patch.make), idOf(patch.type)];
  return (make !== null && make !== model.makeId) || (type !== null && type !== model.typeId);
}

function find<T extends { id: number }>(
  body: JsonObject,
  field: string,
  known: readonly T[],
  problems: Problem[],
): T | undefined {
  const given = Array.isArray(body[field]) ? body[field][0] : body[field];
  if (given === undefined) return undefined;
  const id = isObject(given) ? (given.id ?? null) : null;
  const found = known.find((one) => String(one.id) === String(id));
  if (!found) problems.push({ message: `${field} is unknown`, field: `${field}.id`, value: id });
  return found;
}
