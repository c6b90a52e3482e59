/**
 * What a partition is known by in memory: by its place alone, or also by how many its topic had when the place was chosen,
 * since among another number each key may have another place. Pure.
 */
import type { HeldPartition } from '../model/store';
import type { TopicPlace } from '../model/topic-end';

/** The same for all that stand at the same place, however many partitions the topic has. */
export function placeName({ topic, partition }: TopicPlace): string {
  return `${topic}/${partition}`;
}

/** The same for all that mean the same partition. */
export function partitionName({ topic, partition, partitions }: HeldPartition): string {
  return `${topic}/${partition}/${partitions}`;
}
