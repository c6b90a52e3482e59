/**
 * Joins the declared topics with the brokers that the settings name.
 */
import type { Settings } from '../config';
import { kafkaTargetDefaults } from '../publish/kafka';
import { createTopics, type TopicDescription } from '../publish/topics';
import { systemClock } from '../tools/clock';
import { kafkaOptions } from './options';
import { declaredTopics } from './package-files';

/** Creates what is missing; none when no broker is named. Throws `publish.unavailable`, `publish.refused`. */
export async function createDeclaredTopics(
  settings: Settings,
): Promise<(TopicDescription & { created: boolean })[]> {
  const kafka = kafkaOptions(settings);
  if (kafka === null) return [];
  const options = { ...kafkaTargetDefaults, clock: systemClock };
  return createTopics(kafka, settings.kafkaTopicPrefix, declaredTopics(), options);
}
