// Single field operations and their measurement types, with `embed=measurementTypes`, in the form of the day and in the
// units asked for. Without the embed the key is absent. Answers of a single operation are kept
// serialized until its content or its form changes; at most 20,000 of them.
import type { Router } from 'express';
import { isObject, type JsonObject } from '../json';
import type { Seen } from '../world/world';
import { embedsIn } from './embeds';
import { route } from './entry';
import { type Exchange, header } from './exchange';
import { inPhase, inUnits, type Units } from './field-operation-forms';
import { fieldAddress } from './fields';
import { link } from './links';
import { collection, PLATFORM_PAGE, pageRequest, takePage } from './paging';
import { type Provider, present, userWith } from './provider';
import { Refusal } from './refusal';
import { Serialized } from './serialized';

export function serveFieldOperations(router: Router, provider: Provider): void {
  const { addresses, coverage } = provider;
  const serialized = new Serialized();
  router.get(
    '/fieldOperations/:id',
    route((exchange, { id }) => {
      const seen = admittedOperation(provider, exchange, id!);
      coverage.count('field-operation-get');
      const embed = embeds(exchange, provider);
      const units = unitsOf(provider, exchange);
      const phase = countPhase(provider);
      const form = `${seen.id} ${phase} ${addresses.moves} ${embed} ${units.english} ${units.yieldByVolume}`;
      return {
        text: serialized.get(form, seen.revision, () => operationRecord(provider, seen, { embed, units })),
      };
    }, OPERATION_EMBEDS),
  );
  router.get(
    '/fieldOperations/:id/measurementTypes',
    route((exchange, { id }) => {
      const seen = admittedOperation(provider, exchange, id!);
      coverage.count('measurement-types-list');
      const query = new URLSearchParams(exchange.query);
      const page = pageRequest(provider, exchange, query, PLATFORM_PAGE);
      const { taken, total } = takePage(measurements(provider, seen, unitsOf(provider, exchange)), page);
      const address = measurementsAddress(provider, seen);
      return { json: collection(address, query, page, total, taken) };
    }),
  );
  router.get(
    '/fieldOperations/:id/measurementTypes/:name',
    route((exchange, { id, name }) => {
      const seen = admittedOperation(provider, exchange, id!);
      coverage.count('measurement-type-get');
      const found = measurements(provider, seen, unitsOf(provider, exchange)).find(
        (entry) => entry.measurementName === name,
      );
      if (!found) throw new Refusal(404, 'The requested resource was not found');
      return { json: found };
    }),
  );
}

function admittedOperation(provider: Provider, exchange: Exchange, id: string): Seen {
  userWith(provider, exchange, 'ag2');
  return present(provider, exchange, provider.world.shown('fieldOperations', id, provider.nowMs()));
}

/** Of single operations and of their lists. */
export const OPERATION_EMBEDS = ['measurementTypes'];

/** Whether measurement types come with the operation. */
export function embeds(exchange: Exchange, { coverage }: Provider): boolean {
  if (embedsIn(exchange.query).size === 0) return false;
  coverage.count('field-operation-embed');
  return true;
}

export function countPhase({ coverage, rules }: Provider): string {
  const phase = rules.fieldOperationPhase();
  coverage.count(`fields-${phase}`);
  return phase;
}

/** `METRIC` without the header; `MIXED` is served as metric. Throws 400 for other words. */
export function unitsOf({ coverage }: Provider, exchange: Exchange): Units {
  const system = (header(exchange, 'accept-uom-system') ?? 'METRIC').toUpperCase();
  const measure = (header(exchange, 'accept-yield-preference') ?? 'MASS').toUpperCase();
  if (!['METRIC', 'ENGLISH', 'MIXED'].includes(system)) {
    throw new Refusal(400, 'Accept-UOM-System must be METRIC, ENGLISH or MIXED', {
      field: 'Accept-UOM-System',
      value: system,
    });
  }
  if (measure !== 'MASS' && measure !== 'VOLUME') {
    throw new Refusal(400, 'Accept-Yield-Preference must be VOLUME or MASS', {
      field: 'Accept-Yield-Preference',
      value: measure,
    });
  }
  if (system === 'ENGLISH') coverage.count('units-english');
  if (measure === 'VOLUME') coverage.count('yield-volume');
  return { english: system === 'ENGLISH', yieldByVolume: measure === 'VOLUME' };
}

/** An operation as it is sent: form, units, links. */
export function operationRecord(
  provider: Provider,
  seen: Seen,
  shown: { embed: boolean; units: Units },
): JsonObject {
  const { addresses, rules, world } = provider;
  const { measurementTypes, ...content } = inUnits(
    inPhase(seen.content(), rules.fieldOperationPhase()),
    shown.units,
  );
  const self = addresses.platform(`/fieldOperations/${seen.id}`);
  const types = Array.isArray(measurementTypes) ? measurementTypes.filter(isObject) : [];
  const field = world.fieldOfOperation(seen.id);
  return {
    ...content,
    ...(shown.embed && measurementTypes !== undefined
      ? {
          measurementTypes: Array.isArray(measurementTypes)
            ? types.map((entry) => withLinks(provider, seen, entry))
            : measurementTypes,
        }
      : {}),
    links: [
      link('self', self),
      link('organization', addresses.platform(`/organizations/${seen.organizationId}`)),
      link('field', fieldAddress(provider, field)),
      link('measurementTypes', measurementsAddress(provider, seen)),
      ...types.map((entry) => link(relOf(entry), measurementsAddress(provider, seen, entry))),
    ],
  };
}

/** Of all measurements of an operation, or of one. */
function measurementsAddress({ addresses }: Provider, { id }: Seen, one?: JsonObject): string {
  const below = one === undefined ? '' : `/${String(one.measurementName)}`;
  return addresses.platform(`/fieldOperations/${id}/measurementTypes${below}`);
}

/** `ApplicationRateResult` → `applicationRateResult`. */
function relOf(measurement: JsonObject): string {
  const name = String(measurement.measurementName);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function measurements(provider: Provider, seen: Seen, units: Units): JsonObject[] {
  countPhase(provider);
  const { measurementTypes } = inUnits(inPhase(seen.content(), provider.rules.fieldOperationPhase()), units);
  return Array.isArray(measurementTypes)
    ? measurementTypes.filter(isObject).map((entry) => withLinks(provider, seen, entry))
    : [];
}

function withLinks(provider: Provider, seen: Seen, measurement: JsonObject): JsonObject {
  const { addresses, world } = provider;
  const operation = addresses.platform(`/fieldOperations/${seen.id}`);
  return {
    ...measurement,
    links: [
      link('self', measurementsAddress(provider, seen, measurement)),
      link('organization', addresses.platform(`/organizations/${seen.organizationId}`)),
      link('field', fieldAddress(provider, world.fieldOfOperation(seen.id))),
      link('fieldOperation', operation),
    ],
  };
}
