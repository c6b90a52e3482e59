/**
 * What one Alertmanager was told in its present life. Alertmanager keeps alerts in memory, and after a hard stop also
 * forgets that it has notified: an end told to it then says nothing to anyone and the page stays open. So an alert that
 * this life has not been told of, or not for long enough to have notified, is told as firing until a near end first. A
 * process that was started anew knows of no telling: then an end that was taken before this life began counts as not told.
 * What goes on under another name is ended at once: who was not notified of it yet need not be.
 */
import type { Alert, SentState, Severity } from '../model/alert';

export interface Telling {
  /** `null`: tell it as resolved. Otherwise: tell it as firing, and that it ends then. */
  firingUntilMs: number | null;
}

export interface AlertmanagerMemory {
  /** `life` is the same text as long as the instance has not been started anew, on a clock that is ahead of ours by `aheadMs`; null when it does not say. */
  begin(life: string | null, aheadMs?: number): void;
  /** How a resolved alert is to be told now; `sent` is what the sink took last, undefined where it was never offered. */
  howToEnd(alert: Alert, sent: SentState | undefined, nowMs: number): Telling;
  /** The instance took it, told in this way and by this severity. */
  told(alert: Alert, telling: Telling, severity: Severity, nowMs: number): void;
  /** By which severity it is firing there, also where that is for its end alone; null where it was not told or has ended. */
  openAs(alert: Alert): Severity | null;
}

interface Told {
  severity: Severity;
  /** Before this it may not have notified yet. */
  openUntilMs: number;
  isEnded: boolean;
  /** Told as firing only so that its end can be told: the instance had lost it. */
  isForEnd: boolean;
  atMs: number;
}

/** What was not told for so long is forgotten; both repetitions are much shorter. */
const forgetMs = 3_600_000;
/** The clock that says when the instance was started is not ours. */
const clocksDifferMs = 10_000;

/** `openMs`: how long an alert is firing in an instance before its end is told; longer than its `group_wait`. */
export function makeAlertmanagerMemory(openMs: number): AlertmanagerMemory {
  let life: string | null = null;
  let lifeAheadMs = 0;
  let wasRestarted = false;
  const toldOf = new Map<string, Told>();

  return {
    begin(current, aheadMs = 0) {
      if (current === null) return;
      if (life !== null && life !== current) {
        wasRestarted = true;
        toldOf.clear();
      }
      life = current;
      lifeAheadMs = aheadMs;
    },
    howToEnd(alert, sent, nowMs) {
      const told = toldOf.get(alert.fingerprint);
      const goesOnElsewhere = alert.annotations.folded_into !== undefined;
      if (told === undefined) {
        // What nobody is known to have told may be ended, and must not be opened for it.
        if (sent === undefined) return { firingUntilMs: null };
        const mayBeUntold = sent.state === 'firing' && !goesOnElsewhere;
        const isOpen = wasRestarted || mayBeUntold || isOfFormerLife(sent, life, lifeAheadMs);
        return { firingUntilMs: isOpen ? nowMs + openMs : null };
      }
      // Never further ahead than what begins now: the clock may have been set back.
      const openUntilMs = Math.min(told.openUntilMs, nowMs + openMs);
      const mustNotify = !told.isEnded && (told.isForEnd || !goesOnElsewhere);
      return { firingUntilMs: mustNotify && nowMs < openUntilMs ? openUntilMs : null };
    },
    told(alert, { firingUntilMs }, severity, nowMs) {
      for (const [fingerprint, { atMs }] of toldOf) {
        // The oldest stand first.
        if (nowMs - atMs < forgetMs) break;
        toldOf.delete(fingerprint);
      }
      const before = toldOf.get(alert.fingerprint);
      toldOf.delete(alert.fingerprint);
      const isOpen = before !== undefined && !before.isEnded;
      const openUntilMs = isOpen ? before.openUntilMs : nowMs + openMs;
      toldOf.set(alert.fingerprint, {
        severity,
        openUntilMs,
        isEnded: firingUntilMs === null,
        isForEnd: firingUntilMs !== null && alert.state === 'resolved' && (!isOpen || before.isForEnd),
        atMs: nowMs,
      });
    },
    openAs({ fingerprint }) {
      const told = toldOf.get(fingerprint);
      return told === undefined || told.isEnded ? null : told.severity;
    },
  };
}

/** Was its state first taken before the instance was started, as far as both clocks say? */
function isOfFormerLife(sent: SentState, life: string | null, aheadMs: number): boolean {
  if (life === null) return false;
  return sent.sinceMs <= Date.parse(life) - aheadMs + clocksDifferMs;
}
