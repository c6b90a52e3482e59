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
  /**
   * Tells the store of all that was acknowledged since, and first, again, what it did not answer to; where the topics go on by
   * what it was told. One at a time. Throws what the store throws, and keeps what is not known to be marked.
   */
  write(leader: LeaseHeld): Promise<TopicEnd[]>;
  /** The rows that are kept. */
  rows(): number[];
  forget(): void;
}

/** What the store is told in one call. */
interface Page {
  unmarked: Acknowledgement[];
  reached: TopicEnd[];
  told: boolean;
}

export function makeMarks(outbox: Pick<Outbox, 'markSent'>): Marks {
  let pages: Page[] = [];
  /** The page that grows: one that was told is as it was told. */
  function growing(): Page {
    const last = pages.at(-1);
    if (last !== undefined && !last.told) return last;
    const page = { unmarked: [], reached: [], told: false };
    pages.push(page);
    return page;
  }
  return {
    acknowledged({ rows, topic, partition }, { firstOffset }) {
      const { unmarked, reached } = growing();
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
      const ends: TopicEnd[] = [];
      for (const page of [...pages]) {
        const again = page.told;
        page.told = true;
        await outbox.markSent(page.unmarked, leader, again);
        // Forgotten meanwhile, it says nothing of who leads now.
        if (!pages.includes(page)) return [];
        pages.shift();
        ends.push(...page.reached);
      }
      return ends;
    },
    rows: () => pages.flatMap(({ unmarked }) => unmarked.map(({ row }) => row)),
    forget() {
      pages = [];
    },
  };
}
