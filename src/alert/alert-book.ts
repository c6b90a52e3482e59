/**
 * The alerts between store and memory: read afresh in each round, since another process may have written them; kept in
 * memory while the store is away, and saved when it is back, except those that another process wrote meanwhile. Decides
 * nothing about alerts.
 */
import { type Alert, type AlertInputs, noInputs } from '../model/alert';
import { isProblem } from '../model/problem';
import type { Alerts } from '../model/store';
import type { Clock } from '../tools/clock';
import { makeReadInputs } from './read-inputs';

export interface AlertBook {
  /** What is known now. While the store is unavailable: what was known last. */
  read(): Promise<{ inputs: AlertInputs; alerts: Alert[] }>;
  /** `all` is what is known from now on; `changed` is written, or kept to be written while the store is unavailable. */
  save(all: Alert[], changed: Alert[]): Promise<void>;
  /** What is known without asking. */
  remembered(): Alert[];
  /** What was decided last could not be written: the store tells less than is known. */
  isBehind(): boolean;
  /** Writes what is still kept, for who leads now. */
  settle(): Promise<void>;
}

/** All verbs throw what the store throws, but not `store.unavailable`. */
export function makeAlertBook(store: Alerts, clock: Clock): AlertBook {
  const readInputs = makeReadInputs(store, clock);
  let inputs: AlertInputs = noInputs;
  let known: Alert[] = [];
  /** What was decided and is not written, each with the row that it was decided on. */
  const unsaved = new Map<string, { alert: Alert; on: string }>();
  let stored = new Map<string, Alert>();
  let behind = false;
  const rowOf = (fingerprint: string) => JSON.stringify(stored.get(fingerprint));

  /** False where it was. */
  async function unlessAway(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isProblem(error, 'store.unavailable')) throw error;
      return false;
    }
  }

  async function readAlerts(): Promise<Alert[]> {
    stored = new Map((await store.listAlerts()).map((alert) => [alert.fingerprint, alert]));
    const merged = new Map(stored);
    for (const [fingerprint, { alert, on }] of unsaved) {
      if (rowOf(fingerprint) === on) merged.set(fingerprint, alert);
      else unsaved.delete(fingerprint);
    }
    return [...merged.values()];
  }

  async function write(): Promise<void> {
    const alerts = [...unsaved.values()].map(({ alert }) => alert);
    if (alerts.length === 0) return;
    await store.saveAlerts(alerts);
    for (const alert of alerts) stored.set(alert.fingerprint, alert);
    unsaved.clear();
  }

  return {
    async read() {
      await unlessAway(async () => {
        const [freshInputs, alerts] = await Promise.all([readInputs(), readAlerts()]);
        inputs = freshInputs;
        known = alerts;
      });
      return { inputs, alerts: known };
    },
    async save(all, changed) {
      known = all;
      for (const alert of changed) {
        const { fingerprint } = alert;
        unsaved.set(fingerprint, { alert, on: unsaved.get(fingerprint)?.on ?? rowOf(fingerprint) });
      }
      behind = !(await unlessAway(write));
    },
    remembered: () => known,
    isBehind: () => behind,
    async settle() {
      if (unsaved.size === 0) return;
      await unlessAway(async () => {
        await readAlerts();
        await write();
      });
    },
  };
}
