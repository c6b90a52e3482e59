/**
 * The table of routes: method, path and what answers. The listener, its index and the check against
 * `schemas/openapi.yaml` are made from it, so that no route exists beside it.
 */

import { pageRowsMax } from '../model/api';
import { Problem } from '../model/problem';
import { connectionRoutes } from './connection-routes';
import { idOf, pageOf, parameters, readParameters } from './parameters';
import { providerRoutes } from './provider-routes';
import { replayRoutes } from './replay-routes';
import type { Asked, Route } from './route';
import { subscriptionRoutes } from './subscription-routes';

export const apiRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/organizations',
    summary: 'organizations and their access',
    answer: (api, asked) => api.organizations(pageOf(asked)),
  },
  {
    method: 'get',
    path: '/api/organizations/:id',
    summary: 'one organization',
    answer: (api, asked) => api.organization(idOf(asked)),
  },
  {
    method: 'delete',
    path: '/api/organizations/:id',
    summary: 'forget it: connection, waiting work, name',
    answer: (api, asked) => api.forget(idOf(asked)),
  },
  {
    method: 'post',
    path: '/api/organizations/:id/probe',
    summary: 'ask the provider now whether it may be read',
    answer: (api, asked) => api.probe(idOf(asked)),
  },
  {
    method: 'get',
    path: '/api/tasks',
    summary: 'resources that are due, waiting, parked, …',
    answer: (api, { search }) => {
      const given = readParameters(search, { state: 'taskState', limit: 'limit', after: 'position' });
      return api.tasks({ ...given, limit: given.limit ?? pageRowsMax });
    },
  },
  {
    method: 'get',
    path: '/api/quarantine',
    summary: 'what waits for an operator',
    answer: (api, asked) => api.quarantine(pageOf(asked)),
  },
  {
    method: 'post',
    path: '/api/quarantine/release',
    summary: 'try each of these once more',
    answer: (api, asked) => api.releaseEach(entriesOf(asked)),
  },
  {
    method: 'post',
    path: '/api/quarantine/discard',
    summary: 'give each of these up, on record',
    answer: (api, asked) => api.discardEach(entriesOf(asked)),
  },
  {
    method: 'get',
    path: '/api/quarantine/:id',
    summary: 'one of them',
    answer: (api, asked) => api.quarantined(idOf(asked)),
  },
  {
    method: 'post',
    path: '/api/quarantine/:id/release',
    summary: 'try it once more',
    answer: (api, asked) => api.release(idOf(asked)),
  },
  {
    method: 'post',
    path: '/api/quarantine/:id/discard',
    summary: 'give it up, on record',
    answer: (api, asked) => api.discard(idOf(asked)),
  },
  {
    method: 'get',
    path: '/api/events',
    summary: 'published events after a position',
    answer: (api, { search }) => {
      const given = readParameters(search, {
        after: 'position',
        limit: 'limit',
        type: 'text',
        organization: 'text',
        kept: 'truth',
      });
      const { after, limit, type, organization } = given;
      const kept = given.kept ?? false;
      return api.events({ after, limit: limit ?? pageRowsMax, type, organizationId: organization, kept });
    },
  },
  {
    method: 'get',
    path: '/api/alerts',
    summary: 'alerts, firing and lately resolved',
    answer: (api, asked) => plain(asked, () => api.alerts()),
  },
  {
    method: 'post',
    path: '/api/alerts/test',
    summary: 'page each sink once and end the page',
    answer: (api, asked) => plain(asked, () => api.testAlerts()),
  },
  {
    method: 'get',
    path: '/api/explain',
    summary: 'the journey of a delivery, an event or a resource',
    answer: (api, { search }) => {
      const { of } = readParameters(search, { of: 'reference' });
      if (of === null)
        throw new Problem('command.usage', 'of must be a delivery id, an event id, an address or a key');
      return api.explain(of);
    },
  },
  {
    method: 'get',
    path: '/api/ledger',
    summary: 'what became of every notification',
    answer: (api, asked) => plain(asked, () => api.ledger()),
  },
  {
    method: 'get',
    path: '/api/check',
    summary: 'what the service stands on, one line each',
    answer: (api, asked) => plain(asked, () => api.check()),
  },
  {
    method: 'post',
    path: '/api/sync',
    summary: 'read the listings now',
    answer: (api, { search }) => {
      const { organization, full } = readParameters(search, { organization: 'text', full: 'truth' });
      return api.startSync({ organizationId: organization, full: full ?? false });
    },
  },
  {
    method: 'get',
    path: '/api/sync',
    summary: 'how far the sync has come, or came',
    answer: (api, { search }) => api.sync(readParameters(search, { startedAt: 'text' }).startedAt),
  },
  ...replayRoutes,
  {
    method: 'get',
    path: '/api/sandbox',
    summary: 'what the provider’s sandbox leaves',
    answer: (api, asked) => plain(asked, () => api.sandbox()),
  },
  {
    method: 'get',
    path: '/api/config',
    summary: 'settings in force, secrets hidden',
    answer: (api, asked) => plain(asked, () => api.config()),
  },
  ...connectionRoutes,
  ...providerRoutes,
  ...subscriptionRoutes,
];

function plain<Answer>({ search }: Asked, answer: () => Promise<Answer>): Promise<Answer> {
  readParameters(search, {});
  return answer();
}

function entriesOf({ search }: Asked): string[] {
  const { entries } = readParameters(search, { entries: 'entries' });
  if (entries === null) throw new Problem('command.usage', `entries must be ${parameters.entries.accepts}`);
  return entries;
}
