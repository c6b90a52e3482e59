/**
 * What was acknowledged and is not marked in the store yet, and how far that takes the topics. It is kept until the store
 * has it, and forgotten by whoever does not lead any more. Pure but for the store's verb.
 */
import type { Acknowledgement } from '../model/event';
import type { LeaseHeld, Outbox } from '../model/store';
import type { TopicEnd } from '../model/topic-end';
import type { Batch, Success } from './target';

export interface Marks {
  acknowledged(batch: Batch, success: Success): void;
  /** Tells the store, or tells it again; where the topics go on by what it was told. Throws what the store throws, and keeps all. */
  write(leader: LeaseHeld): Promise<TopicEnd[]>;
  forget(): void;
}

export function makeMarks(outbox: Outbox): Marks {
  let unmarked: Acknowledgement[] = [];
  let reached: TopicEnd[] = [];
  let told = false;
  const forget = () => {
    unmarked = [];
    reached = [];
    told = false;
  };
  return {
    acknowledged({ rows, topic, partition }, { firstOffset }) {
      if (firstOffset === null) {
        for (const { row, eventId } of rows) unmarked.push({ row, eventId, partition: null, offset: null });
        return;
      }
      const first = BigInt(firstOffset);
      rows.forEach(({ row, eventId }, nth) => {
        unmarked.push({ row, eventId, partition, offset: String(first + BigInt(nth)) });
      });
      reached.push({ topic, partition, nextOffset: String(first + BigInt(rows.length)) });
    },
    async write(leader) {
      if (unmarked.length === 0) return [];
      const again = told;
      told = true;
      await outbox.markSent(unmarked, leader, again);
      const ends = reached;
      forget();
      return ends;
    },
    forget,
  };
}
