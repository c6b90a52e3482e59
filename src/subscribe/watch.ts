/**
 * Looks after the subscriptions that were made here, one process at a time: what has expired is renewed, what somebody
 * ended, or what cannot be renewed, is told, and so is one whose heartbeats stay away. What is told ends by itself.
 */
import type { Condition } from '../model/alert';
import type { Outbox } from '../model/store';
import { boundTokens, type Findings, type LookDoors, lookAtSubscriptions } from './look';
import { silenceOf } from './silence';

export interface WatchDoors extends LookDoors {
  store: Pick<Outbox, 'holdLease'>;
  /** Looks whether the provider uses an Authorization value that was offered. */
  confirm(): Promise<void>;
  holder: string;
  leaseMs: number;
  /** Between two looks. */
  checkMs: number;
  silenceMsMin: number;
}

export interface SubscriptionWatch {
  /** Milliseconds until it is to be called again. Rejects as the store does. */
  step(): Promise<number>;
  conditions(): Condition[];
}

const lease = 'subscriptions';
const tickMsMax = 5000;
const retryMsMax = 60_000;
export function makeSubscriptionWatch(doors: WatchDoors): SubscriptionWatch {
  const { book, clock } = doors;
  const startedMs = clock.nowMs();
  const tickMs = Math.min(doors.leaseMs / 3, doors.checkMs, tickMsMax);
  let holds = false;
  let nextLookMs = 0;
  let findings: Findings = new Map();
  let silent = new Set<string>();

  function silences(): Condition[] {
    const bounds = {
      silenceMsMin: doors.silenceMsMin,
      listeningSinceMs: startedMs,
      nowMs: clock.nowMs(),
    };
    return boundTokens(book).flatMap((row) => {
      const id = row.subscriptionId as string;
      const silence = findings.has(id) ? null : silenceOf(row, bounds);
      if (silence === null) return [];
      const { sinceMs, heardAtMs, beatMs } = silence;
      const usual = beatMs === null ? '' : `; they came every ${secondsOf(beatMs)}`;
      const detail = `Subscription ${id} has sent no heartbeat since ${new Date(heardAtMs).toISOString()}${usual}.`;
      return [{ name: 'subscription-silent' as const, sinceMs, detail, labels: { subscription_id: id } }];
    });
  }

  async function lookAndPlan(): Promise<void> {
    const expired = () => [...findings.values()].some(({ name }) => name === 'subscription-expired');
    nextLookMs = clock.nowMs() + Math.min(doors.checkMs, retryMsMax);
    findings = await lookAtSubscriptions(doors, findings);
    if (book.held('authorization').some(({ state }) => state === 'offered')) {
      await doors.confirm();
      return;
    }
    if (!expired()) nextLookMs = clock.nowMs() + doors.checkMs;
  }

  return {
    async step() {
      holds = await doors.store.holdLease(lease, doors.holder, doors.leaseMs);
      if (!holds) return tickMs;
      // One that has just become silent may have expired.
      const quiet = new Set(silences().map(({ labels }) => labels?.subscription_id ?? ''));
      const news = [...quiet].some((id) => !silent.has(id));
      silent = quiet;
      if (news || clock.nowMs() >= nextLookMs) await lookAndPlan();
      return tickMs;
    },
    conditions: () => (holds ? [...findings.values(), ...silences()] : []),
  };
}

function secondsOf(ms: number): string {
  return `${Math.max(1, Math.round(ms / 1000))} s`;
}
