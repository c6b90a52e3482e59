// The plan of the application and what it has used up: calls of the calendar month (UTC), connected organizations, time.
// Promises that nothing is limited in production, and that what is used up is known in both plans. The provider names no
// answer for an application beyond its sandbox; it is refused as one without access.
import type { Coverage } from '../controls/coverage';
import type { CoverageEvent } from '../controls/events';
import type { Organization } from '../world/organizations';
import { Refusal } from './refusal';

export const SANDBOX_CALLS_A_MONTH = 150_000;
export const SANDBOX_CONNECTED_MAX = 5;
const SANDBOX_MONTHS = 18;

export class Sandbox {
  #month = '';
  #calls = 0;

  constructor(
    readonly plan: 'production' | 'sandbox',
    public since: string,
    readonly nowMs: () => number,
    readonly today: () => string,
    readonly coverage: Coverage,
  ) {}

  get calls(): number {
    this.#turn();
    return this.#calls;
  }

  setCalls(calls: number): void {
    this.#turn();
    this.#calls = calls;
  }

  /** Counts a call. Throws a 403 refusal beyond the calls of a month or the months of the sandbox. */
  count(): void {
    this.#turn();
    this.#calls += 1;
    if (this.plan === 'production') return;
    this.coverage.count('sandbox-call');
    if (this.#calls > SANDBOX_CALLS_A_MONTH)
      throw this.#exceeded('sandbox-calls-exceeded', `${SANDBOX_CALLS_A_MONTH} calls a month`);
    if (this.today() >= this.ends())
      throw this.#exceeded('sandbox-time-exceeded', `${SANDBOX_MONTHS} months`);
  }

  /** The first day on which the time in the sandbox is over. */
  ends(): string {
    const end = new Date(`${this.since}T00:00:00Z`);
    end.setUTCMonth(end.getUTCMonth() + SANDBOX_MONTHS);
    return end.toISOString().slice(0, 10);
  }

  /** True where one more organization may be connected. */
  mayConnect(organizations: readonly Organization[]): boolean {
    if (this.plan === 'production') return true;
    const may = organizations.filter(({ connected }) => connected).length < SANDBOX_CONNECTED_MAX;
    if (!may) this.coverage.count('sandbox-connection-refused');
    return may;
  }

  #turn(): void {
    const month = new Date(this.nowMs()).toISOString().slice(0, 7);
    if (month === this.#month) return;
    this.#month = month;
    this.#calls = 0;
  }

  #exceeded(event: CoverageEvent, limit: string): Refusal {
    this.coverage.count(event);
    const message = `The application exceeds the limits of the sandbox (${limit}): request production.`;
    return new Refusal(403, message);
  }
}
