/**
 * Connections through the running service. What a user carried back goes as a body, so that it stands in no address.
 */
import type { ConnectionsApi } from '../model/consent';
import { type Shape, shapes } from './answer-shapes';

type Query = Record<string, string | number | null>;

/** Resolves to the answer, which is of this shape; throws problems. */
export type Ask = <Answer>(
  shape: Shape<Answer>,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  query: Query,
  body?: unknown,
) => Promise<Answer>;

export function makeConnectionCalls(ask: Ask): ConnectionsApi {
  const at = (id: string) => encodeURIComponent(id);
  return {
    list: (page) => ask(shapes.connections, 'GET', '/api/connections', { ...page }),
    revoke: (id) => ask(shapes.revoked, 'DELETE', `/api/connections/${at(id)}`, {}),
    ask: (wanted) => ask(shapes.consent, 'POST', '/api/connections/links', { ...wanted }),
    consent: (id) => ask(shapes.consent, 'GET', `/api/connections/links/${at(id)}`, {}),
    answer: (id, answer) =>
      ask(shapes.consent, 'POST', `/api/connections/links/${at(id)}/answer`, {}, answer),
  };
}
