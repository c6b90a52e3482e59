/**
 * What is not known yet is not over. A process that begins to lead, or loses sight of one that told of a state, has to
 * learn anew what only a process' memory knew: until then its open alerts are kept as they are. Memory alone, an entry for
 * each condition, process and open alert.
 */
import type { Alert, Condition, ConditionName, IdentityLabels, Signal, Told } from '../model/alert';
import { conditionRows } from './catalogue';
import { fingerprintOfState } from './evaluate-conditions';
import { fingerprintOf } from './fingerprint';

/** Would this process tell of a state of this name if any held, by what it saw since then? `isTold`: one is told now. */
export type IsSettled = (name: ConditionName, sinceMs: number, isTold: boolean) => boolean;

/** Does this process know of this very state that it is over, if nobody tells of it? */
export type IsOver = (name: ConditionName, labels: IdentityLabels) => boolean;

export interface Relearning {
  /** In each round: what each living process tells, beside the alerts that there are. */
  hear(told: Told[], alerts: Alert[], nowMs: number): void;
  /** The names of alerts whose states may hold although nobody tells of them. */
  unlearned(): ReadonlySet<string>;
  /** The signals of this round and what fires after it: what ends later while who told of it lives is over. */
  seen(signals: Signal[], alerts: Alert[]): void;
  /** Is it not known whether the state of this alert, which has no signal, is over? */
  isUnknown(alert: Alert): boolean;
  /** Another process leads. */
  stop(): void;
}

const rows = Object.entries(conditionRows) as [ConditionName, (typeof conditionRows)[ConditionName]][];
const namesOf = new Map<string, ConditionName>(rows.map(([name, row]) => [row.name, name]));

/** Whether a name is settled is asked while an alert of it is open. Nothing is kept for longer than its row's `relearnedWithinMs` after what was known was lost. Never throws. */
export function makeRelearning(isSettled: IsSettled, isOver: IsOver): Relearning {
  const lostAtMs = new Map<ConditionName, number>();
  /** Who told of an alert's name while it had a signal. */
  const tellersOf = new Map<string, string[]>();
  let tellers = new Map<string, Condition[]>();
  let leads = false;

  const holdersOf = (tells: (condition: Condition) => boolean) =>
    [...tellers].flatMap(([holder, conditions]) => (conditions.some(tells) ? [holder] : []));

  const holdersNaming = (name: ConditionName | undefined) =>
    holdersOf((condition) => condition.name === name);

  /** Who tells of the very state; of an alert for many, whoever tells of any. */
  function holdersTelling({ name, labels }: Signal): string[] {
    const fingerprint = fingerprintOf(name, labels);
    const ofState = holdersOf((condition) => fingerprintOfState(condition) === fingerprint);
    return ofState.length > 0 ? ofState : holdersNaming(namesOf.get(name));
  }

  return {
    hear(told, alerts, nowMs) {
      const living = new Map(told.map(({ holder, conditions }) => [holder, conditions]));
      if (!leads) for (const [name] of rows) lostAtMs.set(name, nowMs);
      leads = true;
      for (const [holder, conditions] of tellers) {
        if (living.has(holder)) continue;
        for (const { name } of conditions) lostAtMs.set(name, nowMs);
        // Should it come back, it was stopped meanwhile: that it tells no more says nothing.
        for (const [fingerprint, holders] of tellersOf)
          tellersOf.set(
            fingerprint,
            holders.filter((one) => one !== holder),
          );
      }
      tellers = living;
      const open = new Set(alerts.flatMap((alert) => (alert.state === 'firing' ? [alert.name] : [])));
      for (const [name, lostMs] of lostAtMs) {
        // The clock may have been set back since.
        const atMs = Math.min(lostMs, nowMs);
        lostAtMs.set(name, atMs);
        const { relearnedWithinMs } = conditionRows[name];
        const isOpen = open.has(conditionRows[name].name);
        const isKnown = () => isSettled(name, atMs, holdersNaming(name).length > 0);
        if (nowMs - atMs >= relearnedWithinMs || (isOpen && isKnown())) lostAtMs.delete(name);
      }
    },
    unlearned: () => new Set([...lostAtMs.keys()].map((name) => conditionRows[name].name)),
    seen(signals, alerts) {
      for (const signal of signals)
        tellersOf.set(fingerprintOf(signal.name, signal.labels), holdersTelling(signal));
      for (const { fingerprint, state } of alerts) if (state === 'resolved') tellersOf.delete(fingerprint);
    },
    isUnknown({ name, labels, fingerprint, quietSinceMs }) {
      const condition = namesOf.get(name);
      if (condition === undefined || quietSinceMs !== null || !lostAtMs.has(condition)) return false;
      // Of many, some may be learned anew before others.
      if (labels.scope === 'many') return true;
      const isTellerAlive = (tellersOf.get(fingerprint) ?? []).some((holder) => tellers.has(holder));
      return !isTellerAlive && !isOver(condition, labels);
    },
    stop() {
      leads = false;
      tellers = new Map();
      tellersOf.clear();
    },
  };
}
