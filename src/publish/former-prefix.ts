/**
 * A topic that has another prefix than those that are declared today: events that were decided for it go there, and a
 * migration under today's prefix does not make it. Says what does. Pure.
 */
import type { Condition } from '../model/alert';

/** `live`: today's topics. The prefix of a topic that is one of them but for that; null for others. */
function formerPrefixOf(topic: string, live: readonly string[]): string | null {
  const [, prefix, name] = /^(.+)\.([^.]+\.v\d+)$/.exec(topic) ?? [];
  if (prefix === undefined || live.includes(topic)) return null;
  return live.some((one) => one.endsWith(`.${name}`)) ? prefix : null;
}

/** Of a topic that is missing or denied what helps, where it is not what helps those of today. */
export function withRemedy(condition: Condition, live: readonly string[]): Condition {
  const { name, labels, detail } = condition;
  const prefix = name === 'topic-denied' ? formerPrefixOf(labels?.topic ?? '', live) : null;
  if (prefix === null) return condition;
  // Prefixes are letters, digits, dots, underscores and hyphens: a word of any shell.
  const setting = `KAFKA_TOPIC_PREFIX=${prefix}`;
  return {
    ...condition,
    detail: `${detail} It has not today’s prefix: where it is missing, \`${setting} tramline migrate\` creates it.`,
    ids: [setting],
    firstStep: `Create the topic, which has a former prefix, with \`${setting} tramline migrate\`, or grant the client Read and Write on it.`,
  };
}
