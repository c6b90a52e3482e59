/**
 * Joins the declared topics with the brokers that the settings name.
 */
import type { Settings } from '../config';
import type { Found } from '../operations/check';
import { kafkaTargetDefaults } from '../publish/kafka';
import { createTopics, type DeclaredTopic, describeDeclared } from '../publish/topics';
import { systemClock } from '../tools/clock';
import { kafkaOptions } from './options';
import { declaredTopics } from './package-files';

/** Creates what is missing; none when no broker is named. Throws `publish.unavailable`, `publish.refused`. */
export async function createDeclaredTopics(
  settings: Settings,
): Promise<(DeclaredTopic & { created: boolean })[]> {
  const kafka = kafkaOptions(settings);
  if (kafka === null) return [];
  const options = { ...kafkaTargetDefaults, clock: systemClock };
  return createTopics(kafka, settings.kafkaTopicPrefix, declaredTopics(), options);
}

/**
 * What `check` says of Kafka: a warning where a topic has fewer copies than declared. Rejects with a sentence where one
 * is not there, with `publish.unavailable` or `publish.refused` where Kafka cannot be asked.
 */
export async function checkTopics(settings: Settings): Promise<Found> {
  const kafka = kafkaOptions(settings);
  if (kafka === null) throw new Error('no broker is named');
  const options = { ...kafkaTargetDefaults, clock: systemClock };
  const topics = await describeDeclared(kafka, settings.kafkaTopicPrefix, declaredTopics(), options);
  const absent = topics
    .filter(({ state }) => state !== 'present')
    .map(({ topic, state }) => `${topic} is ${state}`);
  if (absent.length > 0) throw new Error(`${absent.join('; ')}: tramline migrate creates what is missing`);
  const below = topics.flatMap(({ topic, below }) => (below === null ? [] : [`${topic} has ${below}`]));
  if (below.length > 0) return { detail: below.join('; '), next: moreCopies };
  return { detail: `${topics.length} topics are there`, next: null };
}

/** Kafka changes neither by itself when a broker comes, and we change no topic that is there. */
const moreCopies =
  'With brokers enough, raise both with kafka-reassign-partitions.sh and kafka-configs.sh: until then fewer lost disks lose what was sent.';
