/**
 * Which consents run out soon: said from 30 days before, and again by the alert's severity at seven, until there is
 * another or it is refused. A token that is renewed by itself is not meant. The connection is named by its id, its user
 * nowhere. Keeps since when this process knows of each: a consent may be given for less than 30 days, and what it ends with
 * did not begin before it.
 */
import type { Condition } from '../model/alert';
import type { Connection } from '../model/connection';

const aheadMs = 30 * 86_400_000;
const unrenewable =
  'its consent gave no refresh token, which the scope offline_access in PROVIDER_SCOPES asks for';

/** One condition for each valid connection that nothing renews and whose token ends within 30 days, or has ended. */
export type Expiring = (connections: readonly Connection[], nowMs: number) => Condition[];

/** Never throws; remembers as many as run out now. */
export function makeExpiring(): Expiring {
  /** By connection and end: another consent is known anew. */
  let known = new Map<string, number>();
  return (connections, nowMs) => {
    const before = known;
    known = new Map();
    return connections.flatMap((connection) => expiringOf(connection, nowMs, before, known));
  };
}

function expiringOf(
  { connectionId, auth, refresh, expiresAt, status }: Connection,
  nowMs: number,
  before: ReadonlyMap<string, number>,
  known: Map<string, number>,
): Condition[] {
  if (status !== 'valid' || expiresAt === null || (auth === 'oauth2' && refresh !== null)) return [];
  const endsAtMs = Date.parse(expiresAt);
  if (Number.isNaN(endsAtMs) || endsAtMs - nowMs > aheadMs) return [];
  const key = JSON.stringify([connectionId, endsAtMs]);
  const knownMs = before.get(key) ?? nowMs;
  known.set(key, knownMs);
  const verb = endsAtMs > nowMs ? 'ends' : 'was to end';
  // The provider names no end of an OAuth 1 token, only how long one may last.
  const most = auth === 'oauth1' ? ' at the latest' : '';
  const why = auth === 'oauth1' ? '' : `: ${unrenewable}`;
  return [
    {
      name: 'token-expiring' as const,
      sinceMs: Math.max(endsAtMs - aheadMs, knownMs),
      detail: `Connection ${connectionId} ${verb} at ${new Date(endsAtMs).toISOString()}${most} and cannot be renewed${why}.`,
      labels: { connection_id: connectionId },
      endsAtMs,
    },
  ];
}
