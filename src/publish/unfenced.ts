/**
 * Partitions to which nothing was written since they were read: a broker keeps a former producer from writing only where the
 * next has written, so what a former one left in a broker's queue, or does when it wakes, may still come there. Memory alone.
 */
import type { TopicEnd, TopicPlace } from '../model/topic-end';
import { placeName } from './place-name';
import type { Success } from './target';

export interface Unfenced {
  /** They were read up to these ends. */
  read(ends: TopicEnd[]): void;
  /**
   * Something was acknowledged there: nobody comes between any more. Whether it stands where the reading ended; false where
   * another's stands before it, which was not read, or where less stands before it than was read: that is another log, or it was taken
   * for a repetition of what stands there, and so may the next be: that keeps nobody out.
   */
  written(place: TopicPlace, success: Success): boolean;
  /** Something was written there since. */
  isFenced(place: TopicPlace): boolean;
  isAny(): boolean;
  forget(): void;
}

/** Keeps the name of each partition; never throws. */
export function makeUnfenced(): Unfenced {
  let ends = new Map<string, bigint>();
  const fenced = new Set<string>();
  return {
    read(read) {
      const left = read.filter((end) => !fenced.has(placeName(end)));
      ends = new Map(left.map((end) => [placeName(end), BigInt(end.nextOffset)]));
    },
    written(place, { firstOffset }) {
      const name = placeName(place);
      const end = ends.get(name);
      const isKnown = end !== undefined && firstOffset !== null;
      if (isKnown && BigInt(firstOffset) < end) return false;
      ends.delete(name);
      fenced.add(name);
      return !isKnown || BigInt(firstOffset) === end;
    },
    isFenced: (place) => fenced.has(placeName(place)),
    isAny: () => ends.size > 0,
    forget() {
      ends.clear();
      fenced.clear();
    },
  };
}
