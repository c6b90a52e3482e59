// The outbox in memory, for suites of the relay: it keeps the contract of the store's outbox and shows what it holds.
// It promises nothing about durability, and it can be told to fail.
import {
  completeRecord,
  type EventRecord,
  type OutboxRow,
  type RecordParts,
  recordBytes,
  slotOf,
} from '../../src/model/event';
import type { QuarantineReason } from '../../src/model/notification';
import { Problem } from '../../src/model/problem';
import type { HeldPartition, LeaseHeld, Outbox } from '../../src/model/store';
import type { KnownEnds } from '../../src/publish/catch-up';
import type { Clock } from '../../src/tools/clock';

export type MemoryRow = OutboxRow & {
  sent: { position: number; partition: number | null; offset: string | null } | null;
  quarantined: { reason: QuarantineReason; detail: string } | null;
};

type What = Pick<RecordParts, 'kind' | 'change' | 'reconciled'>;

export type MemoryOutbox = Outbox &
  KnownEnds & {
    rows: MemoryRow[];
    /** Adds a row under the next sequence of its key: equipment, created and then updated, unless told otherwise. */
    add(row: { topic: string; key: string; value?: string } & Partial<What>): MemoryRow;
    /** Verbs that throw `store.unavailable` from now on. */
    failing: Set<keyof Outbox>;
    /** Verbs that were called, in order. */
    calls: (keyof Outbox)[];
    /** Hands the lease to somebody else, as if it had been theirs for so long. */
    giveLeaseTo(holder: string, leaseMs: number): void;
  };

export function makeMemoryOutbox(clock: Clock): MemoryOutbox {
  const leases = new Map<string, { holder: string; untilMs: number }>();
  const sequences = new Map<string, number>();
  let position = 0;
  const called = (verb: keyof Outbox): void => {
    outbox.calls.push(verb);
    if (outbox.failing.has(verb)) throw new Problem('store.unavailable', 'told to fail');
  };
  const isHeld = ({ name, holder }: LeaseHeld) => {
    const lease = leases.get(name);
    return lease !== undefined && lease.holder === holder && lease.untilMs > clock.nowMs();
  };
  const unsent = () => outbox.rows.filter((row) => row.sent === null && row.quarantined === null);

  const outbox: MemoryOutbox = {
    rows: [],
    failing: new Set(),
    calls: [],
    giveLeaseTo(holder, leaseMs) {
      for (const name of leases.keys()) leases.set(name, { holder, untilMs: clock.nowMs() + leaseMs });
    },
    add({ topic, key, value, ...what }) {
      const sequence = (sequences.get(key) ?? 0) + 1;
      sequences.set(key, sequence);
      const record = recordFor(topic, key, sequence, value ?? JSON.stringify({ key, sequence }), what);
      const row = { row: outbox.rows.length + 1, ...record, sequence, acceptedAtMs: null };
      outbox.rows.push({ ...row, sent: null, quarantined: null });
      return outbox.rows.at(-1) as MemoryRow;
    },
    async holdLease(name, holder, leaseMs) {
      called('holdLease');
      const lease = leases.get(name);
      const nowMs = clock.nowMs();
      if (lease !== undefined && lease.holder !== holder && lease.untilMs > nowMs) return false;
      leases.set(name, { holder, untilMs: nowMs + leaseMs });
      return true;
    },
    async pickUnsent(limit, bytesMax, except, lease, inHand = []) {
      called('pickUnsent');
      if (lease !== undefined && !isHeld(lease)) return [];
      const picked: OutboxRow[] = [];
      let bytes = 0;
      for (const row of unsent()) {
        if (inHand.includes(row.row) || except.some((held) => isIn(row, held))) continue;
        bytes += recordBytes(row);
        if (picked.length === limit || (picked.length > 0 && bytes > bytesMax)) break;
        picked.push(row);
      }
      return picked;
    },
    async leads(lease) {
      called('leads');
      return isHeld(lease);
    },
    async markSent(acknowledgements) {
      called('markSent');
      for (const { row, partition, offset } of acknowledgements) {
        const stored = outbox.rows[row - 1] as MemoryRow;
        position += stored.sent === null ? 1 : 0;
        stored.sent ??= { position, partition, offset };
      }
    },
    async quarantineRecord({ row, eventId }, reason, detail) {
      called('quarantineRecord');
      const stored = outbox.rows[row - 1] as MemoryRow;
      if (stored.eventId === eventId) stored.quarantined = { reason, detail };
    },
    async resendLogged(after, limit) {
      called('resendLogged');
      const logged = outbox.rows.filter((row) => row.sent?.partition === null && row.row > after);
      const page = logged.slice(0, limit);
      for (const row of page) row.sent = null;
      return page.length < limit ? null : page.at(-1)!.row;
    },
    async unsentCount() {
      called('unsentCount');
      return unsent().length;
    },
    topicEnds: async () => [],
    noteFound: async () => 0,
    allFound: async () => {},
  };
  return outbox;
}

function isIn(row: OutboxRow, { topic, partition, partitions }: HeldPartition): boolean {
  return row.topic === topic && slotOf(row.key) % partitions === partition;
}

function recordFor(
  topic: string,
  key: string,
  sequence: number,
  value: string,
  what: Partial<What>,
): EventRecord {
  const parts = {
    kind: 'equipment' as const,
    key,
    sequence,
    change: sequence === 1 ? ('created' as const) : ('updated' as const),
    contentHash: String(sequence),
    value,
    observedAt: '2025-06-01T08:00:00.000Z',
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    reconciled: false,
    ...what,
  };
  const envelope = {
    source: 'https://api.example.com/vendor',
    topicPrefix: 'tramline',
    recordBytesMax: 1_000_000,
  };
  return { ...completeRecord(parts, envelope), topic };
}
