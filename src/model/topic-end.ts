/**
 * How far topics go, as far as the store was told, and what stands beyond that. Shapes only; offsets are decimal texts.
 */

export interface TopicPlace {
  topic: string;
  partition: number;
}

/** The place after what was acknowledged, or found, last. */
export interface TopicEnd extends TopicPlace {
  nextOffset: string;
}

/** One that the store was told of, with the last event that it knows to stand before it: another there is another log. */
export interface KnownEnd extends TopicEnd {
  last: { offset: string; eventId: string } | null;
}

/** A record that stands on a topic, as far as order and identity need it. */
export interface FoundRecord {
  key: string;
  sequence: number;
  eventId: string;
  /** Of its headers and value, as `bytesHashOf` gives it: an id alone does not say that they are the same. */
  bytesHash: string;
  /** It tells that its resource is gone from there. */
  deleted: boolean;
  offset: string;
}

/** What one piece of a partition holds; `nextOffset` is where the next begins. */
export interface FoundPage extends TopicEnd {
  records: FoundRecord[];
  /** Where it was asked for, which must be how far the store knows the partition; null where it says something else of it. */
  from: string | null;
  /** Another log stands under the name of the one that was known: this is its beginning. It has no records. */
  anotherLog?: true;
  /** The log begins so many places after the one that was known: what stood there is gone. It has no records. */
  lost?: number;
}
