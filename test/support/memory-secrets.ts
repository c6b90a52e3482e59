// The store's part for secrets of webhooks, in memory, with a clock that is moved by hand.
import type { WebhookSecrets } from '../../src/model/store';
import type { StoredWebhookSecret } from '../../src/model/subscription';
import { type Listened, listenedSince } from '../../src/store/listening';

export interface MemorySecrets extends WebhookSecrets {
  rows: StoredWebhookSecret[];
  nowMs: number;
  /** What the next verb throws. */
  failure: Error | null;
  listened: Listened | null;
  looks: number;
}

export function makeMemorySecrets(): MemorySecrets {
  const memory: MemorySecrets = {
    rows: [],
    nowMs: 1000,
    failure: null,
    listened: null,
    looks: 0,
    async listWebhookSecrets() {
      if (memory.failure !== null) throw memory.failure;
      return memory.rows.map((row) => ({ ...row }));
    },
    async saveWebhookSecret(secret) {
      if (memory.failure !== null) throw memory.failure;
      const known = memory.rows.find(({ id }) => id === secret.id);
      if (known !== undefined) Object.assign(known, secret, { sealed: known.sealed });
      else memory.rows.push({ ...secret, madeAtMs: memory.nowMs, heardAtMs: null, beatMs: null });
      memory.nowMs += 1;
    },
    async resealWebhookSecret(id, replaces, sealed) {
      const row = memory.rows.find((one) => one.id === id && one.sealed === replaces);
      if (row !== undefined) row.sealed = sealed;
      return row !== undefined;
    },
    async dropWebhookSecret(dropped) {
      memory.rows = memory.rows.filter(({ id }) => id !== dropped);
    },
    async noteHeartbeat(heard) {
      const row = memory.rows.find(({ id }) => id === heard);
      if (row !== undefined) row.heardAtMs = memory.nowMs;
    },
    async noteListening(forMs, lapseMs) {
      const sinceMs = listenedSince(memory.listened, memory.nowMs - forMs, lapseMs);
      memory.listened = { sinceMs, untilMs: memory.nowMs };
      return sinceMs;
    },
    async countLooks(more) {
      memory.looks += more;
      return memory.looks;
    },
  };
  return memory;
}
