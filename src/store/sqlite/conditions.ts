/**
 * States of the platform that processes tell each other. One process owns the embedded store, so they are kept in memory.
 */
import type { Condition, Told } from '../../model/alert';
import type { Context } from './context';

export function shareConditions(
  { conditions, nowMs, undo }: Context,
  holder: string,
  own: Condition[],
  forMs: number,
): Told[] {
  const before = new Map(conditions);
  undo(() => {
    conditions.clear();
    for (const [name, kept] of before) conditions.set(name, kept);
  });
  for (const [name, { untilMs }] of before) if (untilMs <= nowMs()) conditions.delete(name);
  conditions.set(holder, { untilMs: nowMs() + forMs, conditions: own });
  return [...conditions].flatMap(([name, kept]) =>
    name === holder ? [] : [{ holder: name, conditions: kept.conditions }],
  );
}
