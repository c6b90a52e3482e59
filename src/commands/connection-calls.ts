/**
 * Connections through the running service. What a user carried back goes as a body, so that it stands in no address.
 */
import type { ConnectionsApi } from '../model/consent';
import { shapes } from './answer-shapes';
import type { Ask } from './call';

export function makeConnectionCalls(ask: Ask): ConnectionsApi {
  const at = (id: string) => encodeURIComponent(id);
  return {
    list: (page) => ask(shapes.connections, { method: 'GET', path: '/api/connections', query: { ...page } }),
    revoke: (id) => ask(shapes.revoked, { method: 'DELETE', path: `/api/connections/${at(id)}` }),
    ask: (wanted) =>
      ask(shapes.consent, { method: 'POST', path: '/api/connections/links', query: { ...wanted } }),
    consent: (id) => ask(shapes.consent, { method: 'GET', path: `/api/connections/links/${at(id)}` }),
    answer: (id, answer) =>
      ask(shapes.consent, { method: 'POST', path: `/api/connections/links/${at(id)}/answer`, body: answer }),
  };
}
