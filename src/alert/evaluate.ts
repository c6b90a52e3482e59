/**
 * What needs a person now, from what the store and the process know: a pure function from states to signals. It keeps
 * nothing; when something is told, held or ended is decided elsewhere.
 */
import type { Alert, AlertInputs, Condition, Signal } from '../model/alert';
import type { QuarantineReason } from '../model/notification';
import type { Cause } from '../model/organization';
import { announcedRow, catalogue, manyOrganizationsRow, quarantineRow, runbookFileOf } from './catalogue';
import { announcedSignals } from './evaluate-announced';
import { conditionSignals } from './evaluate-conditions';
import { organizationSignals } from './evaluate-organizations';
import { refusedSignals } from './evaluate-refused';
import { fingerprintOf } from './fingerprint';
import { plainTime } from './plain-text';
import { type QuarantineGroup, quarantineGroupOf, quarantineGroups } from './quarantine-groups';
import { signalOfRow } from './signal-of-row';

export interface EvaluateInputs extends AlertInputs {
  conditions: Condition[];
  nowMs: number;
}

export interface EvaluateOptions {
  /** More organizations of one cause than this, within five minutes, are one incident; so are states of one name, within a day. */
  groupAbove: number;
  /** Where the runbooks are published, without a slash at the end; their file name follows it. */
  runbookBase: string;
  /** How long waiting notifications are kept one by one. */
  journalMs: number;
  /** Where an organization's connection is looked after at the provider; null where nobody here knows. Left out: nobody does. */
  manageUrl?(organizationId: string): string | null;
  /** Per cause whose many organizations are one open incident: until when a state must have begun to belong to it. */
  openStorms: Partial<Record<Cause, number>>;
  /** Until which time the open incident of many announced actions stands for them; null when there is none. */
  openAnnouncedUntilMs: number | null;
  /** Hosts of the settings: they may stand in texts, however much they look like a token. */
  ownNames: readonly string[];
  /** When the alerts that are open began, by fingerprint. */
  startsAtMs: ReadonlyMap<string, number>;
  /** The open incidents of many subscriptions or consents, by name. */
  openMany: ReadonlyMap<string, Alert>;
  /** The names of alerts whose states may hold although nobody tells of them yet. */
  unlearned: ReadonlySet<string>;
}

const groupWithinMs = 300_000;
const runbooks = new Map(catalogue.map((row) => [row.name, runbookFileOf(row)]));

/**
 * Every state that needs a person, once each: two that would have one fingerprint are one signal, since the earlier of
 * both. Texts are bounded and hold no e-mail address; names of organizations stand in annotations only.
 */
export function evaluate(asRead: EvaluateInputs, options: EvaluateOptions): Signal[] {
  const inputs = withoutTimesAhead(asRead);
  const signals = [
    ...organizationSignals(inputs.blocked, { ...options, groupWithinMs, nowMs: inputs.nowMs }),
    ...refusedSignals(inputs, { ...options, nowMs: inputs.nowMs }),
    ...announcedSignals(
      inputs.announced,
      options.groupAbove,
      inputs.nowMs,
      options.openAnnouncedUntilMs,
      options.manageUrl,
    ),
    ...quarantineSignals(inputs.quarantined),
    ...conditionSignals(inputs.conditions, { ...options, nowMs: inputs.nowMs }),
  ];
  const unique = new Map<string, Signal>();
  for (const signal of signals) {
    const fingerprint = fingerprintOf(signal.name, signal.labels);
    const twin = unique.get(fingerprint);
    unique.set(fingerprint, {
      ...(twin ?? signal),
      annotations: {
        ...(twin ?? signal).annotations,
        runbook_url: `${options.runbookBase}/${runbooks.get(signal.name)}`,
      },
      sinceMs: Math.min(signal.sinceMs, twin?.sinceMs ?? signal.sinceMs),
    });
  }
  return [...unique.values()];
}

/** A state cannot have begun later than now: clocks of the store and of processes may differ, and are set back. */
function withoutTimesAhead({ blocked, quarantined, conditions, ...rest }: EvaluateInputs): EvaluateInputs {
  const { nowMs } = rest;
  const past = (ms: number) => Math.min(ms, nowMs);
  return {
    ...rest,
    blocked: blocked.map((one) => {
      const { sinceMs, waitsSinceMs } = one;
      if (Math.max(sinceMs, waitsSinceMs ?? 0) <= nowMs) return one;
      return { ...one, sinceMs: past(sinceMs), waitsSinceMs: waitsSinceMs && past(waitsSinceMs) };
    }),
    quarantined: quarantined.map((one) => ({ ...one, oldestMs: past(one.oldestMs) })),
    conditions: conditions.map((one) => ({ ...one, sinceMs: past(one.sinceMs) })),
  };
}

/** What evaluating needs to know of the alerts that there are; `unlearned`: none when left out. */
export function openOf(
  alerts: Alert[],
  unlearned: ReadonlySet<string> = new Set(),
): Pick<EvaluateOptions, 'openStorms' | 'openAnnouncedUntilMs' | 'startsAtMs' | 'openMany' | 'unlearned'> {
  const firing = alerts.filter(({ state }) => state === 'firing');
  const startsAtMs = new Map(firing.map((alert) => [alert.fingerprint, alert.startsAtMs]));
  const many = firing.filter(({ labels }) => labels.scope === 'many');
  const openMany = new Map(many.map((alert) => [alert.name, alert]));
  return {
    openStorms: openStormsOf(firing),
    openAnnouncedUntilMs: openMany.get(announcedRow.name)?.coversUntilMs ?? null,
    startsAtMs,
    openMany,
    unlearned,
  };
}

/** Per cause whose many organizations are one open incident: until when a state must have begun to belong to it. */
function openStormsOf(alerts: Alert[]): Partial<Record<Cause, number>> {
  const open: Partial<Record<Cause, number>> = {};
  for (const alert of alerts) {
    if (alert.name !== manyOrganizationsRow.name) continue;
    if (alert.coversUntilMs !== null) open[alert.labels.cause as Cause] = alert.coversUntilMs;
  }
  return open;
}

/** One signal for each group of reasons: what has to be looked at in the same way is one page. */
function quarantineSignals(quarantined: AlertInputs['quarantined']): Signal[] {
  const waiting = quarantined.filter(({ count }) => count > 0);
  const groups = Map.groupBy(waiting, ({ reason }) => groupOf(reason));
  return [...groups].map(([group, reasons]) => {
    const { owner, about } = quarantineGroups[group];
    const count = reasons.reduce((sum, reason) => sum + reason.count, 0);
    const sinceMs = Math.min(...reasons.map(({ oldestMs }) => oldestMs));
    const list = reasons.map((reason) => `${reason.count} ${reason.reason}`).join(', ');
    return signalOfRow(
      { ...quarantineRow, owner },
      {
        labels: { group },
        sentences: [
          `${count === 1 ? '1 entry waits' : `${count} entries wait`} for an operator: ${about} (${list}).`,
          `The oldest came at ${plainTime(sinceMs)}. Each waits until it is released or discarded.`,
        ],
        further: { until_when: 'no end: it is kept until it is released or discarded' },
        sinceMs,
      },
    );
  });
}

function groupOf(reason: string): QuarantineGroup {
  return Object.hasOwn(quarantineGroupOf, reason) ? quarantineGroupOf[reason as QuarantineReason] : 'other';
}
