// The sender's own log: every attempt to deliver, what it held and what came back. A ledger is proven against it.
// Bounded: the oldest attempt gives way after 50,000. Holds the notifications, never the tokens inside them.
import { Ring } from '../controls/ring';
import { isObject, type Json } from '../json';

export interface Outcome {
  /** Undefined where no answer came. */
  status: number | undefined;
  error: string | undefined;
}

export interface DeliveryRecord {
  number: number;
  atMs: number;
  attempt: number;
  url: string;
  notifications: readonly Json[];
  tookMs: number | undefined;
  outcome: Outcome | undefined;
}

const KEPT = 50_000;

export class DeliveryLog {
  readonly #ring = new Ring<DeliveryRecord>(KEPT);
  #count = 0;
  #accepted = 0;

  constructor(readonly nowMs: () => number) {}

  /** Attempts, and notifications in accepted deliveries, since the start. */
  get counts(): { attempts: number; accepted: number } {
    return { attempts: this.#count, accepted: this.#accepted };
  }

  start(url: string, attempt: number, notifications: readonly Json[]): DeliveryRecord {
    this.#count += 1;
    const record = {
      number: this.#count,
      atMs: this.nowMs(),
      attempt,
      url,
      notifications,
      tookMs: undefined,
      outcome: undefined,
    };
    this.#ring.push(record);
    return record;
  }

  finish(record: DeliveryRecord, outcome: Outcome): void {
    record.tookMs = this.nowMs() - record.atMs;
    record.outcome = outcome;
    if (outcome.status === 204) this.#accepted += record.notifications.length;
  }

  clear(): void {
    this.#ring.clear();
  }

  /** Oldest first, from after `since` on, as the control prints them. */
  list(since: number): object[] {
    return this.#ring
      .list()
      .filter((record) => record.number > since)
      .map(({ atMs, notifications, outcome, ...rest }) => ({
        ...rest,
        at: new Date(atMs).toISOString(),
        status: outcome?.status,
        error: outcome?.error,
        accepted: outcome === undefined ? undefined : outcome.status === 204,
        notifications: notifications.map(withoutToken),
      }));
  }
}

function withoutToken(notification: Json): Json {
  if (!isObject(notification)) return notification;
  const { token: _secret, ...rest } = notification;
  return rest;
}
