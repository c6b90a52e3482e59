// The store's door for alerts, in memory: rows are kept as JSON text, as a real store keeps them, so that a test sees
// what a restarted process would read. `away` makes every verb fail as an unavailable store does.
import type { Alert, AlertInputs, Condition } from '../../src/model/alert';
import { Problem } from '../../src/model/problem';
import type { Alerts, Outbox } from '../../src/model/store';

export type MemoryAlerts = Alerts &
  Pick<Outbox, 'holdLease'> & {
    inputs: AlertInputs;
    away: boolean;
    /** How often rows were written, and how many. */
    writes: number[];
    rows(): Alert[];
    /** What a process told is over its time. */
    forget(holder: string): void;
  };

export function makeMemoryAlerts(): MemoryAlerts {
  const rows = new Map<string, string>();
  const told = new Map<string, Condition[]>();
  /** A lease does not run out by itself here: `holdLease` with 0 ends it. */
  let leader: string | null = null;
  const store: MemoryAlerts = {
    inputs: { blocked: [], refusedConnections: [], announced: [], quarantined: [], suspected: 0, refused: 0 },
    away: false,
    writes: [],
    rows: () => [...rows.values()].map((row) => JSON.parse(row) as Alert),
    forget: (holder) => void told.delete(holder),
    async alertInputs() {
      if (store.away) throw new Problem('store.unavailable', 'away');
      return structuredClone(store.inputs);
    },
    async alertMark() {
      if (store.away) throw new Problem('store.unavailable', 'away');
      return JSON.stringify(store.inputs);
    },
    async listAlerts() {
      if (store.away) throw new Problem('store.unavailable', 'away');
      return store.rows();
    },
    async holdLease(_name, holder, leaseMs) {
      if (store.away) throw new Problem('store.unavailable', 'away');
      if (leader !== null && leader !== holder) return false;
      leader = leaseMs > 0 ? holder : null;
      return true;
    },
    async shareConditions(holder, conditions) {
      if (store.away) throw new Problem('store.unavailable', 'away');
      told.set(holder, structuredClone(conditions));
      return [...told].flatMap(([name, others]) =>
        name === holder ? [] : [{ holder: name, conditions: structuredClone(others) }],
      );
    },
    async saveAlerts(alerts) {
      if (store.away) throw new Problem('store.unavailable', 'away');
      store.writes.push(alerts.length);
      for (const alert of alerts) rows.set(alert.fingerprint, JSON.stringify(alert));
    },
  };
  return store;
}
