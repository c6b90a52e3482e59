// Field operations of a field, and of a whole organization: filters, pages, change tokens.
// The list of an organization is advertised everywhere and refused unless a setting serves it, as integrators report.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import type { Mark } from '../world/changes';
import type { Seen } from '../world/world';
import { route } from './entry';
import type { Exchange } from './exchange';
import { countPhase, embeds, OPERATION_EMBEDS, operationRecord, unitsOf } from './field-operations';
import { admittedField, fieldAddress } from './fields';
import { answerList, type Changed, type List } from './listing';
import { admittedOrganization, type Provider, userWith } from './provider';
import { Refusal } from './refusal';

const WINDOW_MS_MAX = 7 * 86_400_000;

export function serveFieldOperationLists(router: Router, provider: Provider): void {
  const { addresses, coverage, settings, world, nowMs } = provider;
  router.get(
    '/organizations/:organizationId/fields/:fieldId/fieldOperations',
    route((exchange, { organizationId, fieldId }) => {
      userWith(provider, exchange, 'ag2');
      const field = admittedField(provider, exchange, organizationId!, fieldId!);
      coverage.count('field-operations-list');
      const query = new URLSearchParams(exchange.query);
      const ids = world.operationIdsOf(field);
      const wanted = operationFilter(query);
      return answerList(provider, exchange, query, {
        ...forms(provider, exchange),
        address: fieldAddress(provider, field, '/fieldOperations'),
        entries: () =>
          ids
            .map((id) => world.shown('fieldOperations', id, nowMs())!)
            .filter((seen) => !seen.removed && (!wanted || wanted(seen.content()))),
        changedSince: (mark) => changes(provider, ids, mark, wanted, undefined),
      });
    }, OPERATION_EMBEDS),
  );
  router.get(
    '/organizations/:organizationId/fieldOperations',
    route((exchange, { organizationId }) => {
      userWith(provider, exchange, 'ag2');
      const organization = admittedOrganization(provider, exchange, organizationId!);
      if (settings.organizationFieldOperations === 'refused') throw new Refusal(403, 'Access Denied');
      coverage.count('field-operations-of-organization');
      const query = new URLSearchParams(exchange.query);
      const wanted = operationFilter(query);
      const all = (from: number, to: number): Iterable<Seen> =>
        world.operationsOf(organization, nowMs(), from, to);
      return answerList(provider, exchange, query, {
        ...forms(provider, exchange),
        address: addresses.platform(`/organizations/${organization.id}/fieldOperations`),
        entries: wanted ? () => filtered(all(0, Number.POSITIVE_INFINITY), wanted) : all,
        ...(wanted || world.hasGaps ? {} : { total: world.size.fieldOperations }),
        changedSince: (mark) =>
          changes(provider, world.changedIds('fieldOperations'), mark, wanted, organization.id),
      });
    }, OPERATION_EMBEDS),
  );
  router.get(
    '/fieldOperations',
    route(() => {
      throw new Refusal(404, 'Field operations are listed per field.');
    }),
  );
}

function forms(provider: Provider, exchange: Exchange): Pick<List<Seen>, 'form' | 'record'> {
  const shown = { embed: embeds(exchange, provider), units: unitsOf(provider, exchange) };
  return {
    form: countPhase(provider),
    record: (seen) => operationRecord(provider, seen, shown),
  };
}

function* filtered(all: Iterable<Seen>, wanted: Filter): Generator<Seen> {
  for (const seen of all) if (wanted(seen.content())) yield seen;
}

/** What changed among these ids. An operation that went to another organization is gone from the one that is asked. */
function* changes(
  { addresses, nowMs, world }: Provider,
  ids: Iterable<string>,
  mark: Mark,
  wanted: Filter | undefined,
  organizationId: string | undefined,
): Generator<Changed<Seen>> {
  for (const id of ids) {
    const seen = world.changedSince('fieldOperations', id, mark, nowMs());
    if (!seen) continue;
    const elsewhere = organizationId !== undefined && seen.organizationId !== organizationId;
    const born =
      organizationId === undefined || world.fieldOfOperation(id).organization.id === organizationId;
    if (elsewhere && !born) continue;
    if (seen.removed || elsewhere)
      yield { gone: { type: 'FieldOperation', id, address: addresses.platform(`/fieldOperations/${id}`) } };
    else if (!wanted || wanted(seen.content())) yield { entry: seen };
  }
}

type Filter = (content: JsonObject) => boolean;

/** Undefined where nothing is filtered. Throws 400 for a window of time that is open or longer than seven days. */
function operationFilter(query: URLSearchParams): Filter | undefined {
  const [season, type, start, end] = ['cropSeason', 'fieldOperationType', 'startDate', 'endDate'].map(
    (name) => query.get(name),
  );
  const [from, to] = [Date.parse(start ?? ''), Date.parse(end ?? '')];
  const window = start != null || end != null;
  if (window && !(to - from >= 0 && to - from <= WINDOW_MS_MAX)) {
    throw new Refusal(400, 'startDate and endDate must span at most seven days', {
      field: 'startDate',
      value: start ?? '',
    });
  }
  if (season == null && type == null && !window) return undefined;
  return (content) => {
    const at = Date.parse(String(content.startDate));
    return (
      (season == null || content.cropSeason === season) &&
      (type == null || String(content.fieldOperationType).toUpperCase() === type.toUpperCase()) &&
      (!window || (at >= from && at <= to))
    );
  };
}
