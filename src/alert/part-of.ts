/**
 * Which state of the platform is a part of another: while that one holds it is told there, and not beside it. Pure.
 */
import type { Condition, ConditionName, Covers } from '../model/alert';
import { conditionRows } from './catalogue';
import { fingerprintOf, subjectOf } from './fingerprint';

/** By the part. A state that has parts is told without labels. */
export const partOf: Partial<Record<ConditionName, ConditionName>> = {
  // A full disk is both.
  'store-log-stuck': 'store-unavailable',
};

/**
 * Those to be told by themselves. A part is not while the whole is over and its alert is still held, either: both end together,
 * and what is seen last must not page for it. `isOpen`: an alert of this fingerprint is; that of a part goes on.
 */
export function withoutParts(conditions: Condition[], isOpen: (fingerprint: string) => boolean): Condition[] {
  const holding = new Set(conditions.map(({ name }) => name));
  return conditions.filter(({ name, labels = {} }) => {
    const whole = partOf[name];
    if (whole === undefined) return true;
    const isHeld = isOpen(fingerprintOf(conditionRows[whole].name, {}));
    return !holding.has(whole) && (!isHeld || isOpen(fingerprintOf(conditionRows[name].name, labels)));
  });
}

/** The alerts of its parts, which go on in it; undefined where it has none. */
export function partsOf(whole: ConditionName): Covers | undefined {
  const parts = Object.entries(partOf).filter(([, of]) => of === whole) as [ConditionName, ConditionName][];
  if (parts.length === 0) return undefined;
  const names = parts.map(([part]) => conditionRows[part].name);
  return { names, subjects: [subjectOf({})], untilMs: null };
}
