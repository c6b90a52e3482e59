// Organizations: the list, which shows blocked and unconnected ones too, and the single record.
// Promises `connections` where the client is not connected and `manage_connections` where it is; never both.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import type { Organization } from '../world/organizations';
import { route } from './entry';
import { link } from './links';
import { answerList } from './listing';
import { admit, type Provider, userWith } from './provider';
import { Refusal } from './refusal';

export function serveOrganizations(router: Router, provider: Provider): void {
  const { accounts, addresses, coverage, world } = provider;
  router.get(
    '/organizations',
    route((exchange) => {
      const user = userWith(provider, exchange, 'org1');
      coverage.count('organizations-list');
      if (provider.sandbox.plan === 'sandbox') coverage.count('sandbox-organizations');
      const query = new URLSearchParams(exchange.query);
      const [wantedId, wantedName] = [query.get('orgId'), query.get('orgName')];
      const visible = world.organizations.list.filter(
        (organization) =>
          accounts.sees(user, organization.index) &&
          (wantedId === null || organization.id === wantedId) &&
          (wantedName === null || organization.name === wantedName),
      );
      return answerList(provider, exchange, query, {
        address: addresses.platform('/organizations'),
        entries: (from, to) => visible.slice(from, to),
        total: visible.length,
        record: (organization) => organizationRecord(provider, organization),
        form: String(accounts.seenVersion),
        changedSince: ({ sequence }) =>
          visible.filter(({ changed }) => changed > sequence).map((entry) => ({ entry })),
      });
    }),
  );
  router.get(
    '/organizations/:organizationId',
    route((exchange, { organizationId }) => {
      const user = userWith(provider, exchange, 'org1');
      const organization = world.organizations.find(organizationId!);
      if (!organization) throw new Refusal(404, 'The requested resource was not found');
      // An organization that is not connected still shows itself: this is where the connections link is found.
      if (!accounts.sees(user, organization.index) || organization.connected)
        admit(provider, exchange, organization);
      coverage.count('organization-get');
      return { json: organizationRecord(provider, organization) };
    }),
  );
}

function organizationRecord({ accounts, addresses }: Provider, organization: Organization): JsonObject {
  const { id, name, type, member, connected } = organization;
  const self = addresses.platform(`/organizations/${id}`);
  const lists = ['fields', 'machines', 'implements', 'files', 'fieldOperations'];
  const links = connected
    ? [
        link('self', self),
        ...lists.map((name) => link(name, addresses.platform(`/organizations/${id}/${name}`))),
        link('manage_connections', addresses.manageConnections(accounts.clientKey, id)),
      ]
    : [link('self', self), link('connections', addresses.connections(accounts.clientKey))];
  return { '@type': 'Organization', name, type, member, internal: false, id, links };
}
