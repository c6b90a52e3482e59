// A hand on a store under test: what nearly every case needs to put, take, finish and send.
import type { SealedConnection } from '../../src/model/connection';
import type { Acknowledgement, EventDraft, EventRow } from '../../src/model/event';
import type { Ledger } from '../../src/model/ledger';
import type { Delivery, HintElement, QuarantineReason } from '../../src/model/notification';
import type { CauseDetail, Observation, ProbeAgain } from '../../src/model/organization';
import type { Store } from '../../src/model/store';
import type { ListedResource, RunCounts } from '../../src/model/sync';
import type { FinishedRead, TakenTask } from '../../src/model/task';
import type { StoreRules } from '../../src/store/store-rules';

export interface StoreUnderTest {
  store: Store;
  /** Moves the store's clock. */
  advance(ms: number): void;
  nowMs(): number;
  /** Kills the store: nothing that it had not written is written for it. Opens what it left, under these rules from then on. */
  reopen(rules?: Partial<StoreRules>): Promise<Store>;
  close(): Promise<void>;
}

export interface DamageableStore extends StoreUnderTest {
  /** Whoever asked it before it was torn lives on and has what it was given; left out, it dies with it. */
  readonly outlived?: true;
  /** Why it set things aside, in order. */
  readonly setAside: QuarantineReason[];
  /** Makes statements behind its back, as a hand or a disk would damage it, and answers the store as it is then. */
  damage(sql: string): Promise<Store>;
  /**
   * Kills it in the middle of that work, and opens what it left. Where others may hold what the work needs, it is torn
   * at one place of several, by `place`. Work that is torn rejects with `store.unavailable`, which is all that anybody knows.
   */
  tear(work: () => Promise<void>, place: number): Promise<Store>;
}

export const address = (id: string) => `https://provider.example/platform/equipment/${id}`;
export const aliasOf = (id: string) => `${address(id)}?alias`;

export function hintOf(id: string, organizationId: string | null = '4711'): HintElement {
  return { line: 'hint', eventTypeId: 'equipment', address: address(id), organizationId, user: null };
}

export function aliasHintOf(id: string, organizationId: string | null = '4711'): HintElement {
  return { ...hintOf(id, organizationId), address: aliasOf(id) };
}

export function deliveryOf(
  nowMs: number,
  elements: Delivery['elements'],
  extra: Partial<Delivery> = {},
): Delivery {
  const common = { messageId: null, bodyHash: 'hash', bytes: 100, traceparent: null };
  return { receivedAtMs: nowMs, ...common, elements, ...extra };
}

export function draftOf(id: string, content: string, extra: Partial<EventDraft> = {}): EventDraft {
  const organizationId = extra.organizationId ?? '4711';
  return {
    kind: 'equipment',
    id,
    organizationId,
    contentHash: content,
    wireHash: content,
    normalizerVersion: 1,
    modifiedTime: null,
    archived: false,
    value: JSON.stringify({ id, organizationId, content }),
    address: address(id),
    mediaType: 'application/json',
    observedAt: '2026-02-01T00:00:00.000Z',
    ...extra,
  };
}

/** What Kafka acknowledged of a row; the embedded log gives no place: `null, null`. */
export const sentTo = (
  { row, eventId }: EventRow,
  partition: number | null,
  offset: string | null,
): Acknowledgement => ({ row, eventId, partition, offset });

/** The same, as a listing shows it. */
export const listedAs = (id: string, content: string): ListedResource => {
  const { kind, organizationId, wireHash, normalizerVersion } = draftOf(id, content);
  return { kind, id, organizationId, wireHash, normalizerVersion };
};

export const heldBy = ({ taskId, fence, generation, revision, dueAtMs }: TakenTask) => ({
  taskId,
  fence,
  generation,
  revision,
  dueAtMs,
});

export const goneBy = (task: TakenTask) => ({
  ...heldBy(task),
  observedAt: '2026-01-01T00:00:00.000Z',
  traceparent: null,
  goneShareMax: 0.05,
  settleMs: 0,
});

export const terms = {
  cause: 'terms',
  actionUrl: 'https://provider.example/terms',
  message: 'restricted',
} satisfies Partial<CauseDetail> & { cause: 'terms' };

export function header(row: { headers: [string, string][] }, wanted: string): string | undefined {
  return row.headers.find(([name]) => name === wanted)?.[1];
}

/** Of a run of a sync over one listing that held nothing. */
export const emptyRun: RunCounts = {
  listed: 0,
  changed: 0,
  unchanged: 0,
  published: 0,
  left: 0,
  pages: 0,
  calls: 0,
  listings: 1,
  standing: { wholeAtMs: null, unread: [] },
};

/** Everything but `accepted`. */
export function sumOf({ accepted: _accepted, ...lines }: Ledger): number {
  return Object.values(lines).reduce((sum, count) => sum + count, 0);
}

export class Hand {
  store: Store;

  constructor(readonly under: StoreUnderTest) {
    this.store = under.store;
  }

  async reopen(rules?: Partial<StoreRules>): Promise<void> {
    this.store = await this.under.reopen(rules);
  }

  /** Kills it after what may be repeated was written too, as it is a moment later. */
  async reopenLater(rules?: Partial<StoreRules>): Promise<void> {
    await this.store.ready();
    await this.reopen(rules);
  }

  put(elements: Delivery['elements'], extra: Partial<Delivery> = {}) {
    return this.store.put(deliveryOf(this.under.nowMs(), elements, extra));
  }

  async take(): Promise<TakenTask> {
    const [task] = await this.store.take(1);
    if (task === undefined) throw new Error('nothing was due');
    return task;
  }

  /** The one that is due at this address, of all that are. */
  async takeAt(wanted: string, limit = 100): Promise<TakenTask> {
    const task = (await this.store.take(limit)).find((taken) => taken.address === wanted);
    if (task === undefined) throw new Error(`${wanted} was not due`);
    return task;
  }

  finish(task: TakenTask, draft: EventDraft, extra: Partial<FinishedRead> = {}) {
    const { settleMs = 0, reconciled = false, named } = extra;
    return this.store.finish({
      ...heldBy(task),
      ...(named !== undefined && { named }),
      draft,
      connectionId: 'c1',
      traceparent: null,
      reconciled,
      settleMs,
    });
  }

  /** From a hint to a decided event; the gap after it is over. */
  async publish(id: string, content: string, extra: Partial<EventDraft> = {}) {
    await this.put([hintOf(id, extra.organizationId ?? '4711')]);
    const result = await this.finish(await this.takeAt(address(id)), draftOf(id, content, extra));
    this.under.advance(1000);
    return result;
  }

  /** An event of 1 came through another address of it, which shows 2 by now. Both wait to be sent. */
  async publishThroughOther(): Promise<void> {
    await this.publish('1', 'a');
    await this.sendAll();
    await this.put([aliasHintOf('1')]);
    await this.finish(await this.take(), draftOf('1', 'b'), { settleMs: 5000 });
    this.under.advance(5000);
    await this.finish(await this.take(), draftOf('2', 'a'));
    this.under.advance(1000);
  }

  quarantine(task: TakenTask, reason: QuarantineReason = 'no-access') {
    return this.store.quarantineTask({ ...heldBy(task), reason, path: '', detail: null, raw: null });
  }

  records() {
    return this.store.pickUnsent(1000, 1e9, []);
  }

  async sendAll(): Promise<void> {
    await this.store.markSent((await this.records()).map((record) => sentTo(record, null, null)));
  }

  /** As it is when everything that was decided has been sent. */
  async ledgerAtRest(): Promise<Ledger> {
    await this.sendAll();
    return this.store.ledger();
  }

  /** `organization sequence type` of each event that waits to be sent. */
  async events(): Promise<string[]> {
    return (await this.records()).map((row) => {
      const [organization] = row.key.split('/');
      return `${organization} ${row.sequence} ${header(row, 'ce_type')?.split('.').at(-2)}`;
    });
  }

  async observe(found: Parameters<Store['observe']>[0]['found'], organizationId = '4711') {
    const epoch = (await this.store.access(organizationId))!.epoch;
    const by =
      found.cause === 'not-connected'
        ? 'connections-link'
        : found.cause === 'refused-grant'
          ? 'grant'
          : 'probe';
    return this.store.observe({ organizationId, epoch, found, by } as Observation);
  }

  async postponeProbe(again: ProbeAgain, found = 'transient'): Promise<void> {
    await this.store.postponeProbe('4711', (await this.store.access('4711'))!.epoch, again, found);
  }

  async quarantined(): Promise<string[]> {
    return (await this.store.listQuarantine({ limit: 1000, after: null })).map(({ reason }) => reason);
  }
}

/** A user's valid consent, of no organization yet. */
export function sealedConnection(connectionId: string): SealedConnection {
  return {
    connectionId,
    user: 'u',
    auth: 'oauth2',
    sealedToken: 's',
    sealedTokenSecret: null,
    sealedRefresh: null,
    expiresAt: null,
    status: 'valid',
    organizations: [],
  };
}
