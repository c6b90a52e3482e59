/**
 * Connections through the running service. What a user carried back goes as a body, so that it stands in no address.
 */
import type { ConnectionsApi } from '../model/consent';

type Query = Record<string, string | number | null>;

/** Resolves to the parsed answer; throws problems. */
export type Ask = <Answer>(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  query: Query,
  body?: unknown,
) => Promise<Answer>;

export function makeConnectionCalls(ask: Ask): ConnectionsApi {
  const at = (id: string) => encodeURIComponent(id);
  return {
    list: (page) => ask('GET', '/api/connections', { ...page }),
    revoke: (id) => ask('DELETE', `/api/connections/${at(id)}`, {}),
    ask: (wanted) => ask('POST', '/api/connections/links', { ...wanted }),
    consent: (id) => ask('GET', `/api/connections/links/${at(id)}`, {}),
    answer: (id, answer) => ask('POST', `/api/connections/links/${at(id)}/answer`, {}, answer),
  };
}
