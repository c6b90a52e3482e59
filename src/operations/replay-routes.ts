/**
 * Routes of replays: one begins them, one tells how far they have come. What may be replayed is not decided here.
 */
import { readParameters } from './parameters';
import type { Route } from './route';

export const replayRoutes: Route[] = [
  {
    method: 'post',
    path: '/api/replay',
    summary: 'send published events again, or read their resources again',
    answer: (api, { search }) => {
      const given = readParameters(search, {
        events: 'events',
        organization: 'text',
        kind: 'kind',
        refetch: 'truth',
        toTopic: 'topic',
        dryRun: 'truth',
      });
      const { events, organization: organizationId, kind, refetch, toTopic, dryRun } = given;
      const how = refetch === true ? 'reads' : toTopic === null ? 'newest' : 'history';
      return api.startReplay({ events, organizationId, kind, how, toTopic, dryRun: dryRun ?? false });
    },
  },
  {
    method: 'get',
    path: '/api/replay',
    summary: 'how far the replay has come, or came',
    answer: (api, { search }) => api.replay(readParameters(search, { startedAt: 'text' }).startedAt),
  },
];
