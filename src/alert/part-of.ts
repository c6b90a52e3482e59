/**
 * Which state of the platform may be a part of another: while that one holds, and by the same cause, it is told there, and not
 * beside it. Pure.
 */
import type { Condition, ConditionName, Covers } from '../model/alert';
import { conditionRows } from './catalogue';
import { fingerprintOf, subjectOf } from './fingerprint';

/** By the part. A state that has parts is told without labels. */
export const partOf: Partial<Record<ConditionName, ConditionName>> = {
  // A full disk is both; a store that has grown to its bound says nothing of its log.
  'store-log-stuck': 'store-unavailable',
};

/**
 * Those to be told by themselves. A part is not while the whole is over and its alert is still held, either: both end together,
 * and what is seen last must not page for it. `isOpen`: an alert of this fingerprint is; that of a part goes on.
 */
export function withoutParts(conditions: Condition[], isOpen: (fingerprint: string) => boolean): Condition[] {
  const holding = new Set(conditions.map(({ name }) => name));
  return conditions.filter((one) => {
    const { name, labels = {} } = one;
    const whole = partOf[name];
    if (whole === undefined) return true;
    if (holding.has(whole)) return !isInside(one, conditions);
    const isHeld = isOpen(fingerprintOf(conditionRows[whole].name, {}));
    return !isHeld || isOpen(fingerprintOf(conditionRows[name].name, labels));
  });
}

/** The alerts of the parts that are told in it, which go on there; undefined where there is none. */
export function partsOf(whole: ConditionName, conditions: Condition[]): Covers | undefined {
  const parts = conditions.filter((one) => partOf[one.name] === whole && isInside(one, conditions));
  if (parts.length === 0) return undefined;
  const names = parts.map(({ name }) => conditionRows[name].name);
  return { names, subjects: parts.map(({ labels = {} }) => subjectOf(labels)), untilMs: null };
}

/**
 * Does the whole hold by the same cause? What failed said it to both in the same words: a part tells them among its own. Of several
 * causes of the whole the first is told.
 */
function isInside(part: Condition, conditions: Condition[]): boolean {
  const whole = conditions.find(({ name }) => name === partOf[part.name]);
  return whole !== undefined && part.detail.includes(whole.detail.replace(/\.$/, ''));
}
