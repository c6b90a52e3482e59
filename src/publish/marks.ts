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
  forget(): void;
}

/** What the store is told in one call. */
interface Page {
  unmarked: Keyed[];
  reached: TopicEnd[];
  told: boolean;
}

interface Keyed {
  key: string;
  acknowledged: Acknowledgement;
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
        for (const { key, row, eventId } of rows)
          unmarked.push({ key, acknowledged: { row, eventId, partition: null, offset: null } });
        return;
      }
      const first = BigInt(firstOffset);
      rows.forEach(({ key, row, eventId }, nth) => {
        const offset = String(first + BigInt(nth));
        unmarked.push({ key, acknowledged: { row, eventId, partition, offset } });
      });
      reached.push({ topic, partition, nextOffset: String(first + BigInt(rows.length)) });
    },
    async write(leader) {
      const ends: TopicEnd[] = [];
      for (const [nth, page] of [...pages].entries()) {
        const acknowledged = page.unmarked.map((one) => one.acknowledged);
        const passed = page.told ? passedBy(page, pages.slice(nth + 1)) : [];
        const again = page.told;
        page.told = true;
        await outbox.markSent(acknowledged, leader, again, passed);
        // Forgotten meanwhile, it says nothing of who leads now.
        if (!pages.includes(page)) return [];
        pages.shift();
        ends.push(...page.reached);
      }
      return ends;
    },
    forget() {
      pages = [];
    },
  };
}

/**
 * Of this page, the rows of which something newer of their key was sent behind it. That was picked before this page was told: no replay
 * can have made them unsent since, and left unsent they would go out behind it.
 */
function passedBy({ unmarked }: Page, behind: Page[]): number[] {
  const newer = new Set(behind.flatMap((page) => page.unmarked.map(({ key }) => key)));
  return unmarked.flatMap(({ key, acknowledged }) => (newer.has(key) ? acknowledged.row : []));
}
