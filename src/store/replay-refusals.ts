/**
 * What Kafka refused of a replay, as it stands with the replay's counts: how many records for each reason. Pure.
 */
import type { ReplayRefusal } from '../model/replay';

/** Of the journal: a record that a replay is to send again, and of which nothing is known yet. */
export const onItsWay = 'sent_at IS NULL AND topic IS NOT NULL';

export function refusalsOf(counts: string): ReplayRefusal[] {
  const { refused = {} } = JSON.parse(counts) as { refused?: Record<string, number> };
  return Object.entries(refused).map(([reason, records]) => ({
    reason: reason as ReplayRefusal['reason'],
    records,
  }));
}
