// The machine and implement endpoints that the equipment API replaces: the same records in their old shape, on the
// platform, with its media type and paging. From January 2025 every answer says that they are deprecated.
import type { RequestHandler, Router } from 'express';
import { isObject, type Json, type JsonObject } from '../json';
import { PRINCIPAL_DISTANCE } from '../world/equipment';
import type { Seen } from '../world/world';
import { embedsIn } from './embeds';
import { route } from './entry';
import { trim } from './equipment';
import type { Answer } from './exchange';
import { link } from './links';
import { collection, PLATFORM_PAGE, pageRequest, takePage } from './paging';
import { admittedOrganization, type Provider, present, userWith } from './provider';
import { Refusal } from './refusal';

type OldKind = 'machines' | 'implements';

/** All that is known of; none of them brings what is paired. */
const EMBEDS = ['terminals', 'breadcrumbs', 'categories', 'capabilities', 'displays'];
/** The facts that both shapes call by one name. */
const SHARED = [
  '@type',
  'name',
  'isoName',
  'principalId',
  'serialNumber',
  'engineSerialNumber',
  'isSerialNumberCertified',
  'modelYear',
  'organizationRole',
  'telematicsCapable',
  'archived',
  'archivedTimestamp',
  'isCsc',
  'alternateIdentifiers',
  'mergedEquipment',
] as const;
/** 2025-01-01T00:00:00Z, as RFC 9745 writes it. */
const DEPRECATED_SINCE = '@1735689600';

export function serveOldEquipment(router: Router, provider: Provider): void {
  for (const kind of ['machines', 'implements'] as const) {
    router.get(`/organizations/:organizationId/${kind}`, oldList(provider, kind));
    router.get(`/${kind}/:id`, oldRecord(provider, kind));
  }
}

function oldList(provider: Provider, kind: OldKind): RequestHandler {
  const { addresses, coverage, world, nowMs } = provider;
  return route((exchange, { organizationId }) => {
    inService(provider);
    userWith(provider, exchange, 'eq1');
    const organization = admittedOrganization(provider, exchange, organizationId!);
    coverage.count(`${kind}-list`);
    const query = new URLSearchParams(exchange.query);
    const page = pageRequest(provider, exchange, query, PLATFORM_PAGE);
    const embeds = embedsIn(exchange.query);
    const inactive = query.get('includeInactive') === 'true';
    const all = function* (): Generator<Seen> {
      for (const seen of world.equipmentOf(organization, (id) => world.shown('equipment', id, nowMs()))) {
        const { implement, archived } = seen.outline();
        if (implement === (kind === 'implements') && (inactive || !archived)) yield seen;
      }
    };
    const { taken, total } = takePage(all(), page);
    const values = taken.map((seen) => oldShape(provider, seen.content(), kind, embeds));
    const address = addresses.platform(`/organizations/${organization.id}/${kind}`);
    return deprecated(provider, { json: collection(address, query, page, total, values) });
  }, EMBEDS);
}

function oldRecord(provider: Provider, kind: OldKind): RequestHandler {
  const { coverage, world, nowMs } = provider;
  return route((exchange, { id }) => {
    inService(provider);
    userWith(provider, exchange, 'eq1');
    const sought = provider.oldEquipmentIds === 'principal' ? idOfPrincipal(id!) : id!;
    const seen = present(provider, exchange, world.shown('equipment', sought, nowMs()));
    const content = seen.content();
    if (!isOfKind(content, kind)) throw new Refusal(404, 'The requested resource was not found');
    coverage.count(kind === 'machines' ? 'machine-get' : 'implement-get');
    const embeds = embedsIn(exchange.query);
    return deprecated(provider, { json: oldShape(provider, content, kind, embeds) });
  }, EMBEDS);
}

function isOfKind(content: JsonObject, kind: OldKind): boolean {
  return content['@type'] === (kind === 'machines' ? 'Machine' : 'Implement');
}

/** '' for what is none. */
function idOfPrincipal(id: string): string {
  return /^\d{1,15}$/.test(id) ? String(Number(id) + PRINCIPAL_DISTANCE) : '';
}

function inService({ rules }: Provider): void {
  if (rules.oldEquipmentEnded()) throw new Refusal(410, 'This resource has been replaced by /equipment.');
}

function deprecated({ addresses, coverage, rules }: Provider, answer: Answer): Answer {
  const deprecatedNow = rules.oldEquipmentDeprecated();
  coverage.count(deprecatedNow ? 'equipment-old-deprecated' : 'equipment-old-in-service');
  if (!deprecatedNow) return answer;
  const successor = `<${addresses.equipment('/equipment')}>; rel="successor-version"`;
  return { ...answer, headers: { Deprecation: DEPRECATED_SINCE, Link: successor } };
}

/**
 * The record as the old endpoints wrote it: `GUID` is the ERID, `vin` the serial number. The id is the same, or else the
 * `principalId`, and then nothing in the record names the other one. What is paired is always there.
 */
function oldShape(
  provider: Provider,
  content: JsonObject,
  kind: OldKind,
  embeds: ReadonlySet<string>,
): JsonObject {
  const { addresses } = provider;
  const byPrincipal = provider.oldEquipmentIds === 'principal';
  const { ERID, serialNumber, make, type, isgType, model, organization } = content;
  const organizationId = isObject(organization) ? String(organization.id) : '';
  const record: JsonObject = {};
  const add = (name: string, value: Json | undefined): void => {
    if (value !== undefined) record[name] = value;
  };
  const id = byPrincipal ? content.principalId : content.id;
  for (const name of SHARED) if (!byPrincipal || name !== 'principalId') add(name, content[name]);
  add('id', String(id));
  add('GUID', ERID);
  add('vin', serialNumber);
  add('equipmentMake', make);
  add('equipmentType', type);
  add('equipmentISGType', isgType);
  add('equipmentModel', model);
  if (kind === 'machines') Object.assign(record, machineCategories(content));
  add('owningOrganization', { '@type': 'Organization', id: organizationId });
  // Pairing details are an embed of the equipment API alone.
  if (embeds.has('terminals')) add('terminals', trim(content.devices, embeds));
  add('implements', trim(content.implements, embeds));
  add('machine', trim(content.machine, embeds));
  if (embeds.has('capabilities'))
    add('capabilities', content.telematicsCapable === true ? [{ type: 'Connectivity' }] : []);
  record.links = [
    link('self', addresses.platform(`/${kind}/${String(id)}`)),
    link('owningOrganization', addresses.platform(`/organizations/${organizationId}`)),
    ...(byPrincipal ? [] : [link('equipment', addresses.equipment(`/equipment/${String(id)}`))]),
  ];
  return record;
}

/** The second place where machines named make, model and type: a list of categories, all ids as text. */
function machineCategories({ make, model, type }: JsonObject): JsonObject {
  const entries = Object.entries({ Make: make, Model: model, Type: type })
    .filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
    .map(([kind, named]) => ({
      '@type': 'MachineCategory',
      name: named.name ?? null,
      id: String(named.id),
      type: kind,
    }));
  return {
    visualizationCategory: 'machine',
    machineCategories: { '@type': 'MachineCategories', machineCategories: entries },
  };
}
