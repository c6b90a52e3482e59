// The store's door for alerts, in memory: rows are kept as JSON text, as a real store keeps them, so that a test sees
// what a restarted process would read. `away` makes every verb fail as an unavailable store does.
import type { Alert, AlertInputs } from '../../src/model/alert';
import { Problem } from '../../src/model/problem';
import type { Alerts } from '../../src/model/store';

export type MemoryAlerts = Alerts & {
  inputs: AlertInputs;
  away: boolean;
  /** How often rows were written, and how many. */
  writes: number[];
  rows(): Alert[];
};

export function makeMemoryAlerts(): MemoryAlerts {
  const rows = new Map<string, string>();
  const store: MemoryAlerts = {
    inputs: { blocked: [], quarantined: [] },
    away: false,
    writes: [],
    rows: () => [...rows.values()].map((row) => JSON.parse(row) as Alert),
    async alertInputs() {
      if (store.away) throw new Problem('store.unavailable', 'away');
      return structuredClone(store.inputs);
    },
    async listAlerts() {
      if (store.away) throw new Problem('store.unavailable', 'away');
      return store.rows();
    },
    async saveAlerts(alerts) {
      if (store.away) throw new Problem('store.unavailable', 'away');
      store.writes.push(alerts.length);
      for (const alert of alerts) rows.set(alert.fingerprint, JSON.stringify(alert));
    },
  };
  return store;
}
