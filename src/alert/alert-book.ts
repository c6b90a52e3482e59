/**
 * The alerts between store and memory: read afresh in each round, since another process may have written them; kept in
 * memory while the store is away, and saved when it is back. Decides nothing about alerts.
 */
import type { Alert, AlertInputs } from '../model/alert';
import { isProblem } from '../model/problem';
import type { Alerts } from '../model/store';

export interface AlertBook {
  /** What is known now. While the store is unavailable: what was known last. */
  read(): Promise<{ inputs: AlertInputs; alerts: Alert[] }>;
  /** `all` is what is known from now on; `changed` is written, or kept to be written while the store is unavailable. */
  save(all: Alert[], changed: Alert[]): Promise<void>;
}

/** Both verbs throw what the store throws, but not `store.unavailable`. */
export function makeAlertBook(store: Alerts): AlertBook {
  let inputs: AlertInputs = { blocked: [], announced: [], quarantined: [] };
  let known: Alert[] = [];
  const unsaved = new Map<string, Alert>();

  async function unlessAway(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isProblem(error, 'store.unavailable')) throw error;
    }
  }

  return {
    async read() {
      await unlessAway(async () => {
        const [freshInputs, stored] = await Promise.all([store.alertInputs(), store.listAlerts()]);
        const merged = new Map(stored.map((alert) => [alert.fingerprint, alert]));
        for (const alert of unsaved.values()) merged.set(alert.fingerprint, alert);
        inputs = freshInputs;
        known = [...merged.values()];
      });
      return { inputs, alerts: known };
    },
    async save(all, changed) {
      known = all;
      for (const alert of changed) unsaved.set(alert.fingerprint, alert);
      if (unsaved.size === 0) return;
      await unlessAway(async () => {
        await store.saveAlerts([...unsaved.values()]);
        unsaved.clear();
      });
    },
  };
}
