// The equipment API: single records and the filtered list, with embeds.
// As the provider's samples disagree, records with an odd id wrap make, type, isgType, model and organization in arrays
// of one element and records with an even id do not: a client has to accept both.
import type { Router } from 'express';
import { isObject, type Json, type JsonObject } from '../json';
import type { Organization } from '../world/organizations';
import type { Seen } from '../world/world';
import { embedsIn } from './embeds';
import { route } from './entry';
import type { Exchange } from './exchange';
import { EQUIPMENT_PAGE, equipmentCollection, pageRequest, takeSome } from './paging';
import { admit, admittedOrganization, type Provider, present, userOf, userWith } from './provider';
import { invalid, type Problem, Refusal } from './refusal';
import { Serialized } from './serialized';

const LIST_EMBEDS = ['devices', 'equipment', 'icon', 'pairingDetails'] as const;
const RECORD_EMBEDS = [...LIST_EMBEDS, 'offsets', 'capabilities'] as const;
/** Every embed a record can show: what the simulator's own controls print. */
export const ALL_EMBEDS: ReadonlySet<string> = new Set(RECORD_EMBEDS);
/** What a list call may be asked by; `category` is the contract's word, `categories` the provider's other one. */
const LIST_PARAMETERS: readonly string[] = [
  'ids',
  'serialNumbers',
  'organizationIds',
  'principalIds',
  'category',
  'categories',
  'capableOf',
  'organizationRole.type',
  'archived',
  'embed',
  'pageOffset',
  'itemLimit',
];
const WRAPPED = ['make', 'type', 'isgType', 'model', 'organization'] as const;

export function serveEquipment(router: Router, provider: Provider): void {
  const { coverage, world, nowMs } = provider;
  const serialized = new Serialized();
  router.get(
    '/equipment/:id',
    route((exchange, { id }) => {
      userWith(provider, exchange, 'eq1');
      const seen = present(provider, exchange, world.shown('equipment', id!, nowMs()));
      coverage.count('equipment-get');
      const embeds = readEmbeds(exchange.query);
      if (embeds.size > 0) coverage.count('equipment-embed');
      const form = embeds.size === 0 ? seen.id : `${seen.id} ${[...embeds].sort().join()}`;
      return { text: serialized.get(form, seen.revision, () => equipmentRecord(seen.content(), embeds)) };
    }, RECORD_EMBEDS),
  );
  router.get(
    '/equipment',
    route((exchange) => {
      userWith(provider, exchange, 'eq1');
      const query = new URLSearchParams(exchange.query);
      if (query.size === 0) throw new Refusal(400, 'At least one query parameter is required.');
      checkParameters(query);
      const embeds = readEmbeds(exchange.query);
      if (embeds.size > 0) coverage.count('equipment-embed');
      const page = pageRequest(provider, exchange, query, EQUIPMENT_PAGE);
      const { taken, more } = takeSome(matching(provider, exchange, query), page);
      if (query.has('serialNumbers') && new Set(taken.map((seen) => seen.organizationId)).size > 1)
        coverage.count('equipment-serial-shared');
      const values = taken.map((seen) => equipmentRecord(seen.content(), embeds));
      const address = provider.addresses.equipment('/equipment');
      return { json: equipmentCollection(address, query, page, { taken: values, more }) };
    }, LIST_EMBEDS),
  );
}

/** Throws 400 for a parameter that is unknown or empty: a client that loses its filter is not shown everything instead. */
function checkParameters(query: URLSearchParams): void {
  const problems: Problem[] = [...new Set(query.keys())].flatMap((field): Problem[] => {
    if (!LIST_PARAMETERS.includes(field)) return [{ message: `${field} is unknown`, field }];
    return values(query, field).length === 0 ? [{ message: `${field} must not be empty`, field }] : [];
  });
  if (problems.length > 0) throw invalid(problems);
}

/** Throws 400 for pairing details without what is paired. */
function readEmbeds(query: string): ReadonlySet<string> {
  const embeds = embedsIn(query);
  if (embeds.has('pairingDetails') && !embeds.has('devices') && !embeds.has('equipment')) {
    throw new Refusal(400, 'pairingDetails needs devices or equipment', {
      field: 'embed',
      value: 'pairingDetails',
    });
  }
  return embeds;
}

/** A comma list, which may also be repeated. */
function values(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((text) => text.split(',').filter((part) => part !== ''));
}

/** The records a list call asks for, those of every organization named in turn. Throws the refusals of an organization. */
function* matching(provider: Provider, exchange: Exchange, query: URLSearchParams): Generator<Seen> {
  const { coverage } = provider;
  const keep = recordFilter(provider, query);
  const ids = values(query, 'ids');
  const serialNumbers = values(query, 'serialNumbers');
  const organizationIds = values(query, 'organizationIds');
  if (ids.length > 0) coverage.count('equipment-list-ids');
  if (serialNumbers.length > 0) coverage.count('equipment-list-serials');
  if (organizationIds.length > 0) coverage.count('equipment-list-organizations');
  const organizations = organizationIds.map((id) => admittedOrganization(provider, exchange, id));
  const isNamed = ids.length > 0 || serialNumbers.length > 0;
  const found = isNamed
    ? named(provider, exchange, { ids, serialNumbers, organizationIds })
    : reached(provider, exchange, organizations);
  for (const seen of found) if (keep(seen)) yield seen;
}

interface Named {
  ids: string[];
  serialNumbers: string[];
  /** Only those of these; all where there are none. */
  organizationIds: string[];
}

/** Those of these ids and serial numbers that the user sees, each once. */
function* named(
  provider: Provider,
  exchange: Exchange,
  { ids, serialNumbers, organizationIds }: Named,
): Generator<Seen> {
  const { world, accounts } = provider;
  const withSerial = serialNumbers.flatMap((serial) => world.equipmentWithSerial(serial));
  for (const seen of [...new Set([...ids, ...withSerial])].map(lookIn(provider))) {
    const organization = seen && world.organizations.find(seen.organizationId);
    if (!seen || !organization || seen.removed) continue;
    if (organizationIds.length > 0 && !organizationIds.includes(organization.id)) continue;
    if (!accounts.sees(userOf(exchange), organization.index)) continue;
    admit(provider, exchange, organization);
    yield seen;
  }
}

/** Those of these organizations; where none is named, everything the user can reach, as far as it is open to the client. */
function* reached(provider: Provider, exchange: Exchange, organizations: Organization[]): Generator<Seen> {
  const { world, accounts } = provider;
  const user = userOf(exchange);
  const open = world.organizations.list.filter(
    (one) => accounts.sees(user, one.index) && one.connected && one.termsAccepted,
  );
  for (const organization of organizations.length > 0 ? organizations : open)
    yield* world.equipmentOf(organization, lookIn(provider));
}

function lookIn({ world, nowMs }: Provider): (id: string) => Seen | undefined {
  return (id) => world.shown('equipment', id, nowMs());
}

/** Throws 400 for values that are unknown. */
function recordFilter({ coverage }: Provider, query: URLSearchParams): (seen: Seen) => boolean {
  const categories = [...values(query, 'category'), ...values(query, 'categories')].map((text) =>
    text.toLowerCase(),
  );
  for (const category of categories) {
    if (category === 'machine' || category === 'implement') continue;
    throw new Refusal(400, 'category must be machine or implement', { field: 'category', value: category });
  }
  const archived = query.get('archived');
  if (archived !== null && archived !== 'true' && archived !== 'false') {
    throw new Refusal(400, 'archived must be true or false', { field: 'archived', value: archived });
  }
  const principals = values(query, 'principalIds');
  const capability = query.get('capableOf');
  const role = query.get('organizationRole.type');
  if (categories.length > 0) coverage.count('equipment-list-category');
  if (archived !== null) coverage.count('equipment-list-archived');
  const outlined = (seen: Seen): boolean => {
    if (categories.length === 0 && archived === null) return true;
    const outline = seen.outline();
    return (
      (categories.length === 0 || categories.includes(outline.implement ? 'implement' : 'machine')) &&
      (archived === null || String(outline.archived) === archived)
    );
  };
  if (principals.length === 0 && capability === null && role === null) return outlined;
  const fits = (content: JsonObject): boolean =>
    (principals.length === 0 || principals.includes(String(content.principalId))) &&
    (capability === null || content.telematicsCapable === (capability === 'Connectivity')) &&
    (role === null || (isObject(content.organizationRole) && content.organizationRole.type === role));
  return (seen) => outlined(seen) && fits(seen.content());
}

/** A record as it is sent: without what was not asked for, and wrapped in arrays where its id is odd. */
export function equipmentRecord(content: JsonObject, embeds: ReadonlySet<string>): JsonObject {
  const { devices, implements: implementList, machine, icon, pairingDetails, ...record } = content;
  const add = (name: string, value: Json | undefined): void => {
    if (value !== undefined) record[name] = value;
  };
  if (embeds.has('icon')) add('icon', icon);
  if (embeds.has('devices')) add('devices', trim(devices, embeds));
  if (embeds.has('equipment')) add('implements', trim(implementList, embeds));
  if (embeds.has('equipment')) add('machine', trim(machine, embeds));
  if (embeds.has('pairingDetails')) add('pairingDetails', pairingDetails);
  if (embeds.has('offsets')) add('offsets', []);
  if (embeds.has('capabilities'))
    add('capabilities', content.telematicsCapable === true ? [{ type: 'Connectivity' }] : []);
  if (Number(record.id) % 2 === 1) {
    for (const name of WRAPPED) if (isObject(record[name])) record[name] = [record[name]];
  }
  return record;
}

/** Pairing details inside devices and paired equipment are an embed of their own. */
export function trim(value: Json | undefined, embeds: ReadonlySet<string>): Json | undefined {
  if (value === undefined || embeds.has('pairingDetails')) return value;
  if (Array.isArray(value)) return value.map((entry) => trim(entry, embeds)!);
  if (!isObject(value)) return value;
  const { pairingDetails: _left, ...rest } = value;
  return rest;
}
