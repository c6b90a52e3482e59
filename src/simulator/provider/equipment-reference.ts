// The equipment API's reference lists: makes, types and models.
// The same for every user, and open to any user token; nothing here depends on an organization.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import { reference } from '../world/equipment';
import { MAKES, MODELS, type Model, makeOf, TYPES, typeOf } from '../world/vocabulary';
import { embedsIn } from './embeds';
import { route } from './entry';
import { EQUIPMENT_PAGE, equipmentCollection, pageRequest, takeSome } from './paging';
import { type Provider, userWith } from './provider';
import { Refusal } from './refusal';

/** Of lists of models; makes and types have none. */
const MODEL_EMBEDS = ['make', 'type', 'isgType'];

export function serveEquipmentReference(router: Router, provider: Provider): void {
  const seed = provider.world.seed;
  const makes = MAKES.map((make) =>
    reference(seed, 'EquipmentMake', make, {
      certified: true,
      harrowOrSubsidiary: make.id === 1,
      deprecated: false,
    }),
  );
  const types = TYPES.map((type) => typeRecord(seed, type));
  serveList(router, provider, { name: 'equipmentMakes', row: 'equipment-makes', records: () => makes });
  serveList(router, provider, { name: 'equipmentTypes', row: 'equipment-types', records: () => types });
  serveList(router, provider, {
    name: 'equipmentModels',
    row: 'equipment-models',
    records: (query) => models(seed, query),
    embeds: MODEL_EMBEDS,
  });
  serveNested(router, provider);
}

/** The nested lists: the types of a make, and the models of a make's type. */
function serveNested(router: Router, provider: Provider): void {
  const { addresses, coverage, world } = provider;
  const madeBy = (id: string): Model[] => {
    const models = MODELS.filter(({ makeId }) => String(makeId) === id);
    if (!MAKES.some((make) => String(make.id) === id))
      throw new Refusal(404, 'The requested resource was not found', { field: 'id', value: id });
    return models;
  };
  router.get(
    '/equipmentMakes/:makeId/equipmentTypes',
    route((exchange, { makeId }) => {
      userWith(provider, exchange, 'eq1');
      coverage.count('equipment-types');
      const query = new URLSearchParams(exchange.query);
      const page = pageRequest(provider, exchange, query, EQUIPMENT_PAGE);
      const types = [...new Set(madeBy(makeId!).map(typeOf))].map((type) => typeRecord(world.seed, type));
      const address = addresses.equipment(`/equipmentMakes/${makeId}/equipmentTypes`);
      return { json: equipmentCollection(address, query, page, takeSome(types, page)) };
    }),
  );
  router.get(
    '/equipmentMakes/:makeId/equipmentISGTypes/:typeId/equipmentModels',
    route((exchange, { makeId, typeId }) => {
      userWith(provider, exchange, 'eq1');
      coverage.count('equipment-models');
      const query = new URLSearchParams(exchange.query);
      const page = pageRequest(provider, exchange, query, EQUIPMENT_PAGE);
      const fits = madeBy(makeId!).filter((model) => String(model.typeId % 100) === typeId);
      const records = models(world.seed, query).filter(({ id }) => fits.some((model) => model.id === id));
      const address = addresses.equipment(
        `/equipmentMakes/${makeId}/equipmentISGTypes/${typeId}/equipmentModels`,
      );
      return { json: equipmentCollection(address, query, page, takeSome(records, page)) };
    }, MODEL_EMBEDS),
  );
}

function typeRecord(seed: number, type: (typeof TYPES)[number]): JsonObject {
  return reference(seed, 'EquipmentType', type, {
    category: type.category,
    marketSegment: type.marketSegment,
    allowsCustomModel: true,
  });
}

interface ReferenceList {
  name: string;
  row: 'equipment-makes' | 'equipment-types' | 'equipment-models';
  records: (query: URLSearchParams) => JsonObject[];
  embeds?: readonly string[];
}

function serveList(router: Router, provider: Provider, list: ReferenceList): void {
  const { name, row, records, embeds = [] } = list;
  router.get(
    `/${name}`,
    route((exchange) => {
      userWith(provider, exchange, 'eq1');
      provider.coverage.count(row);
      const query = new URLSearchParams(exchange.query);
      const page = pageRequest(provider, exchange, query, EQUIPMENT_PAGE);
      const address = provider.addresses.equipment(`/${name}`);
      return { json: equipmentCollection(address, query, page, takeSome(records(query), page)) };
    }, embeds),
  );
  router.get(
    `/${name}/:id`,
    route((exchange, { id }) => {
      userWith(provider, exchange, 'eq1');
      provider.coverage.count(row);
      const found = records(new URLSearchParams()).find(
        (record) => String(record.id) === id || record.ERID === id,
      );
      if (!found) throw new Refusal(404, 'The requested resource was not found', { field: 'id', value: id! });
      return { json: found };
    }),
  );
}

/** `equipmentModelName` may hold `*` for any text; `embed` adds make, type and ISG type. */
function models(seed: number, query: URLSearchParams): JsonObject[] {
  const name = query.get('equipmentModelName');
  const embeds = embedsIn(query.toString());
  const fits = (model: Model): boolean => {
    if (name === null) return true;
    const pattern = name.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${pattern.join('.*')}$`, 'i').test(model.name);
  };
  return MODELS.filter(fits).map((model) => {
    const type = typeOf(model);
    return reference(seed, 'EquipmentModel', model, {
      category: type.category,
      certified: true,
      ...(embeds.has('make') ? { make: reference(seed, 'EquipmentMake', makeOf(model), {}) } : {}),
      ...(embeds.has('type') ? { type: reference(seed, 'EquipmentType', type, {}) } : {}),
      ...(embeds.has('isgType')
        ? { isgType: reference(seed, 'EquipmentISGType', { id: type.id % 100, name: type.name }, {}) }
        : {}),
    });
  });
}
