// The last requests with the verdict on their credentials, and how many there were of each kind.
// Bounded: the oldest entry gives way. Holds no credential and no body.
import { Ring } from './ring';

export interface RequestRecord {
  number: number;
  atMs: number;
  method: string;
  /** Path and query as sent. */
  url: string;
  scheme: 'oauth1' | 'bearer' | 'none';
  valid: boolean;
  reason: string | undefined;
  user: string | undefined;
  /** Undefined while unanswered, and where a fault closed the connection instead. */
  status: number | undefined;
  tookMs: number | undefined;
  /** True where a fault changed the answer. */
  fault: boolean;
}

const KEPT = 20_000;

export class RequestLog {
  readonly #ring = new Ring<RequestRecord>(KEPT);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Numbers the record and keeps it; the caller goes on filling it in. */
  add(record: Omit<RequestRecord, 'number'>): RequestRecord {
    this.#count += 1;
    const numbered = { number: this.#count, ...record };
    this.#ring.push(numbered);
    return numbered;
  }

  clear(): void {
    this.#ring.clear();
  }

  /** Oldest first, from after `since` on, as the control prints them. */
  list(since: number): object[] {
    return this.#ring
      .list()
      .filter((record) => record.number > since)
      .map(({ atMs, valid, scheme, reason, user, tookMs, ...rest }) => ({
        ...rest,
        path: rest.url.split('?')[0],
        at: new Date(atMs).toISOString(),
        tookMs: tookMs === undefined ? undefined : Math.round(tookMs * 100) / 100,
        verdict: { scheme, valid, reason, user },
      }));
  }
}
