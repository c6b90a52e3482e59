/**
 * Which consents run out soon: said 30 days before, and once more 7 days before. A token that is renewed by itself is
 * not meant. The connection is named by its id, its user nowhere. Pure.
 */
import type { Condition } from '../model/alert';
import type { Connection } from '../model/connection';

const dayMs = 86_400_000;
const announced = [
  { days: 7, within: '7d' },
  { days: 30, within: '30d' },
];

export function expiringConditions(connections: readonly Connection[], nowMs: number): Condition[] {
  return connections.flatMap(({ connectionId, auth, refresh, expiresAt, status }) => {
    if (status !== 'valid' || expiresAt === null || (auth === 'oauth2' && refresh !== null)) return [];
    const endsMs = Date.parse(expiresAt);
    const stage = announced.find(({ days }) => endsMs - nowMs <= days * dayMs);
    if (stage === undefined || Number.isNaN(endsMs)) return [];
    return [
      {
        name: 'token-expiring' as const,
        sinceMs: endsMs - stage.days * dayMs,
        detail: `Connection ${connectionId} ends at ${new Date(endsMs).toISOString()} and cannot be renewed.`,
        labels: { connection_id: connectionId, within: stage.within },
      },
    ];
  });
}
