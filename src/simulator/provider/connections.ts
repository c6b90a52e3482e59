// The application's own view of its connections to organizations: list them, end one, end all of an organization.
// Promises that only the application itself, never a user, may do so. Making a connection is for the portal's page.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import type { Organization } from '../world/organizations';
import { uuidFor } from '../world/random';
import { route } from './entry';
import type { Exchange } from './exchange';
import { link } from './links';
import { answerList } from './listing';
import type { Provider } from './provider';
import { Refusal } from './refusal';

const CONNECTION_SALT = 71;
const CREATED = '2025-01-15T09:00:00.000Z';
const PERMISSIONS = [1001, 2001, 3001, 4001];

export function serveConnections(router: Router, provider: Provider): void {
  const { addresses, coverage, world } = provider;
  router.get(
    '/connections',
    route((exchange) => {
      applicationOnly(exchange);
      coverage.count('connections-list');
      const query = new URLSearchParams(exchange.query);
      const after = Date.parse(query.get('createdAfter') ?? '');
      const shown = world.organizations.list.filter(
        ({ connected }) => connected && (Number.isNaN(after) || Date.parse(CREATED) > after),
      );
      return answerList(provider, exchange, query, {
        address: addresses.platform('/connections'),
        entries: (from, to) => shown.slice(from, to),
        total: shown.length,
        record: (organization) => connectionRecord(provider, organization),
      });
    }),
  );
  router.delete(
    '/connections/:id',
    route((exchange, { id }) => {
      applicationOnly(exchange);
      const found = world.organizations.list.find(
        (organization) => organization.connected && connectionId(provider, organization) === id,
      );
      return end(provider, found);
    }),
  );
  router.delete(
    '/organizations/:organizationId/connections',
    route((exchange, { organizationId }) => {
      applicationOnly(exchange);
      return end(provider, world.organizations.find(organizationId!));
    }),
  );
}

function applicationOnly({ verdict }: Exchange): void {
  if (verdict.user) throw new Refusal(403, 'Access Denied');
}

function end({ coverage, world }: Provider, organization: Organization | undefined): { status: number } {
  if (!organization) throw new Refusal(404, 'The requested resource was not found');
  coverage.count('connection-end');
  world.organizations.change(organization, { connected: false });
  return { status: 204 };
}

function connectionId({ world }: Provider, { index }: Organization): string {
  return uuidFor(world.seed, CONNECTION_SALT, index);
}

function connectionRecord(provider: Provider, organization: Organization): JsonObject {
  const id = connectionId(provider, organization);
  const { addresses } = provider;
  return {
    '@type': 'Connection',
    id,
    orgId: organization.id,
    orgName: organization.name,
    created: CREATED,
    permissions: PERMISSIONS,
    links: [
      link('self', addresses.platform(`/connections/${id}`)),
      link('organization', addresses.platform(`/organizations/${organization.id}`)),
    ],
  };
}
