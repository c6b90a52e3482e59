/**
 * The alerts to be shown: the saved ones while the store answers; of a store that is away or takes no writes, its own alert
 * beside what is known, since whoever was paged for it looks there.
 */
import { notTold } from '../alert/not-told';
import { alertsWithoutStore, type KnownAlerts } from '../alert/store-away';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import { isProblem } from '../model/problem';
import type { Store } from '../model/store';
import type { ShownAlert } from '../operations/api';
import { unattendedAlert } from '../operations/unattended';
import { systemClock } from '../tools/clock';
import type { Worker } from '../wire';
import { alertingOptions } from './options';
import { sinksOf } from './sinks';

/**
 * `worker`: null in a receiver and beside no service, where nobody remembers any. `unattendedMs`: for how long nobody
 * evaluates them, null when nobody ever did. Rejects as the store does, but not with `store.unavailable`.
 */
export function makeListAlerts(
  settings: Settings,
  store: Pick<Store, 'listAlerts'>,
  worker: Pick<Worker, 'alerting' | 'conditions'> | null,
  unattendedMs: () => Promise<number | null>,
): () => Promise<ShownAlert[]> {
  const options = alertingOptions(settings);
  const sinks = sinksOf(settings, null);
  const shownOf = (alert: Alert) => ({ ...alert, notTold: notTold(alert, sinks).map(({ sink }) => sink) });

  function withStoresOwn(known: KnownAlerts): ShownAlert[] {
    const nowMs = systemClock.nowMs();
    const condition = worker?.conditions().find(({ name }) => name === 'store-unavailable');
    const { own, others } = alertsWithoutStore(known, condition?.sinceMs ?? nowMs, nowMs, options);
    // Whether another process has told the sinks of it is not known here.
    return [...(own === null ? [] : [{ ...own, notTold: [] }]), ...others.map(shownOf)];
  }

  return async () => {
    // What was decided last stands in the memory of who leads alone while a store takes no writes.
    const saved = worker?.alerting.isBehind() ? null : await unlessAway(store.listAlerts());
    if (saved === null) return withStoresOwn({ remembered: worker?.alerting.remembered() ?? null });
    const attended = await unlessAway(unattendedMs().then((ms) => ({ ms })));
    // One that takes no writes does not know whether anybody evaluates them.
    if (attended === null) return withStoresOwn({ shown: saved });
    const { journalDays } = settings;
    const unattended = unattendedAlert(attended.ms, systemClock.nowMs(), { ...options, journalDays });
    return [...(unattended === null ? [] : [unattended]), ...saved.map(shownOf)];
  };
}

/**
 * What the sinks took, as far as it is known: of a process that pages by its memory while the store is away or takes no
 * writes, since just then it is not saved. Rejects as `saved` where it has none.
 */
export async function alertsAsTold(
  saved: () => Promise<Alert[]>,
  alerting: Pick<Worker['alerting'], 'isBehind' | 'remembered'> | null,
): Promise<Alert[]> {
  const remembered = () => alerting?.remembered() ?? null;
  const known = alerting?.isBehind() ? remembered() : null;
  if (known !== null) return known;
  try {
    return await saved();
  } catch (error) {
    const last = remembered();
    if (last === null) throw error;
    return last;
  }
}

function unlessAway<Told>(asked: Promise<Told>): Promise<Told | null> {
  return asked.catch((error: unknown) => {
    if (!isProblem(error, 'store.unavailable')) throw error;
    return null;
  });
}
