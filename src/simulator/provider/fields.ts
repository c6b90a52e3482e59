// Fields of an organization and their boundaries.
// Promises every address of a field through a link of its record. Field operations are served elsewhere.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import { boundaryContent, fieldContent } from '../world/fields';
import type { Organization } from '../world/organizations';
import type { Field } from '../world/world';
import { embedsIn } from './embeds';
import { route } from './entry';
import type { Exchange } from './exchange';
import { link } from './links';
import { answerList } from './listing';
import { collection, PLATFORM_PAGE, pageRequest, takePage } from './paging';
import { admittedOrganization, type Provider, userWith } from './provider';
import { Refusal } from './refusal';

/** Nothing is known of it; it is here for clients that want the boundary with its field. */
const FIELD_EMBEDS = ['activeBoundary'];

export function serveFields(router: Router, provider: Provider): void {
  const { addresses, coverage, world } = provider;
  router.get(
    '/organizations/:organizationId/fields',
    route((exchange, { organizationId }) => {
      userWith(provider, exchange, 'ag1');
      const organization = admittedOrganization(provider, exchange, organizationId!);
      coverage.count('fields-list');
      const query = new URLSearchParams(exchange.query);
      const embed = embedsIn(exchange.query).has('activeBoundary');
      return answerList(provider, exchange, query, {
        address: addresses.platform(`/organizations/${organization.id}/fields`),
        entries: (from, to) => positions(from, Math.min(to, world.fieldsPerOrganization)),
        total: world.fieldsPerOrganization,
        record: (position) => fieldRecord(provider, world.fieldAt(organization, position), embed),
        // Fields are as they were made: only their operations change.
        changedSince: () => [],
      });
    }, FIELD_EMBEDS),
  );
  router.get(
    '/organizations/:organizationId/fields/:fieldId',
    route((exchange, { organizationId, fieldId }) => {
      userWith(provider, exchange, 'ag1');
      const field = admittedField(provider, exchange, organizationId!, fieldId!);
      coverage.count('field-get');
      return {
        json: fieldRecord(provider, field, embedsIn(exchange.query).has('activeBoundary')),
      };
    }, FIELD_EMBEDS),
  );
  router.get(
    '/organizations/:organizationId/fields/:fieldId/boundaries',
    route((exchange, { organizationId, fieldId }) => {
      userWith(provider, exchange, 'ag1');
      const field = admittedField(provider, exchange, organizationId!, fieldId!);
      coverage.count('field-boundaries');
      const query = new URLSearchParams(exchange.query);
      const page = pageRequest(provider, exchange, query, PLATFORM_PAGE);
      const { taken, total } = takePage([boundaryContent(world.seed, field.index)], page);
      const address = fieldAddress(provider, field, '/boundaries');
      return { json: collection(address, query, page, total, taken) };
    }),
  );
}

function* positions(from: number, to: number): Generator<number> {
  for (let position = from; position < to; position += 1) yield position;
}

/** The field, if it lies in that organization and the request may see it. Throws 404 and the refusals of an organization. */
export function admittedField(
  provider: Provider,
  exchange: Exchange,
  organizationId: string,
  fieldId: string,
): Field {
  const organization: Organization = admittedOrganization(provider, exchange, organizationId);
  const field = provider.world.findField(fieldId);
  if (field?.organization !== organization) throw new Refusal(404, 'The requested resource was not found');
  return field;
}

/** Of the field itself, or of what stands below it. */
export function fieldAddress({ addresses }: Provider, field: Field, below = ''): string {
  return addresses.platform(`/organizations/${field.organization.id}/fields/${field.id}${below}`);
}

function fieldRecord(provider: Provider, field: Field, embedBoundary: boolean): JsonObject {
  const { addresses, world } = provider;
  return {
    ...fieldContent(world.seed, field.index),
    ...(embedBoundary ? { activeBoundary: boundaryContent(world.seed, field.index) } : {}),
    links: [
      link('self', fieldAddress(provider, field)),
      link('organization', addresses.platform(`/organizations/${field.organization.id}`)),
      link('boundaries', fieldAddress(provider, field, '/boundaries')),
      link('fieldOperation', fieldAddress(provider, field, '/fieldOperations')),
    ],
  };
}
