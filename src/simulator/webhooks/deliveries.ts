// Sends notifications as the provider does: batches as JSON arrays, a static `Authorization`, at most so many at once,
// exactly 204 within five seconds or the same batch again after a back-off that doubles. At least once, in no promised
// order. Nothing but the verification is sent before the receiver has accepted that. Never gives up; ends with `stop`.
import type { Coverage } from '../controls/coverage';
import { isObject, type Json } from '../json';
import type { Poster, Target } from './poster';

export interface DeliverySettings extends Target {
  token: string | undefined;
  /** 1..256. */
  maxBatchSize: number;
  /** 1..10. */
  concurrentDeliveries: number;
  /** First wait before a batch is sent again; doubles up to 60 times it. */
  retryMs: number;
}

const VERIFY_AGAIN_MS = 250;
const VERIFY_AGAIN_MS_MAX = 2_000;
/** The provider's history of events is bounded too: beyond this the oldest give way. */
const PENDING_MAX = 1_000_000;

interface Batch {
  notifications: Json[];
  attempt: number;
}

export class Deliveries {
  #settings: DeliverySettings | undefined;
  #queue: Json[] = [];
  #head = 0;
  /** Batches whose back-off is over: they go before new ones. */
  #again: Batch[] = [];
  #waiting = 0;
  #inFlight = 0;
  #verified = false;
  #stopped = false;
  #paused = false;
  #failures = 0;
  #dropped = 0;
  /** Rises with each new address, so that answers meant for the old one change nothing. */
  #generation = 0;
  readonly #timers = new Set<NodeJS.Timeout>();

  /** `onFailure` hears of every refused batch, with how many were refused in a row. */
  constructor(
    readonly poster: Poster,
    readonly coverage: Coverage,
    readonly onFailure: (inARow: number) => void = () => undefined,
  ) {}

  get settings(): DeliverySettings | undefined {
    return this.#settings;
  }

  /** Notifications that were not accepted yet, those in flight included. */
  get pending(): number {
    return this.#queue.length - this.#head + this.#waiting;
  }

  /** Notifications that gave way to newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Sends to this address from now on, once `verification` was accepted there; undefined = verify nothing. */
  deliverTo(settings: DeliverySettings, verification?: () => Json): void {
    this.#settings = settings;
    this.#generation += 1;
    this.#verified = verification === undefined;
    if (verification) this.#verify(verification(), this.#generation, 1);
    else this.#pump();
  }

  /** Other sizes for the receiver that is set; what was verified stays so. */
  adjust(settings: DeliverySettings): void {
    this.#settings = settings;
    this.#pump();
  }

  /** Queues notifications; without a receiver they are dropped, as nobody has subscribed. */
  notify(notifications: readonly Json[]): void {
    if (!this.#settings || this.#stopped) return;
    for (const notification of notifications) this.#queue.push(notification);
    const over = this.#queue.length - this.#head - PENDING_MAX;
    if (over > 0) {
      this.#queue.splice(0, this.#head + over);
      this.#head = 0;
      this.#dropped += over;
    }
    this.#pump();
  }

  /** While paused notifications are kept and nothing is sent. */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#pump();
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #verify(verification: Json, generation: number, attempt: number): void {
    this.poster.post(this.#settings!, attempt, [verification], (accepted) => {
      if (generation !== this.#generation || this.#stopped) return;
      if (accepted) {
        this.coverage.count('webhook-verification');
        this.#verified = true;
        this.#pump();
        return;
      }
      const waitMs = Math.min(VERIFY_AGAIN_MS * 2 ** (attempt - 1), VERIFY_AGAIN_MS_MAX);
      this.#later(
        waitMs,
        () => generation === this.#generation && this.#verify(verification, generation, attempt + 1),
      );
    });
  }

  #pump(): void {
    const settings = this.#settings;
    if (!settings || !this.#verified || this.#stopped || this.#paused) return;
    while (this.#inFlight < settings.concurrentDeliveries) {
      const batch = this.#again.shift() ?? this.#nextBatch(settings.maxBatchSize);
      if (!batch) return;
      this.#inFlight += 1;
      this.poster.post(settings, batch.attempt, batch.notifications, (accepted) => {
        if (this.#stopped) return;
        this.#inFlight -= 1;
        this.#failures = accepted ? 0 : this.#failures + 1;
        this.#waiting -= accepted ? batch.notifications.length : 0;
        if (accepted) this.#countAccepted(batch.notifications);
        else {
          this.#sendAgain(batch, settings.retryMs);
          this.onFailure(this.#failures);
        }
        this.#pump();
      });
    }
  }

  #nextBatch(size: number): Batch | undefined {
    const notifications = this.#queue.slice(this.#head, this.#head + size);
    if (notifications.length === 0) return undefined;
    this.#head += notifications.length;
    this.#waiting += notifications.length;
    // Taking from the front of a long array is slow: the sent part is cut off now and then.
    if (this.#head > 10_000 || this.#head === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return { notifications, attempt: 1 };
  }

  #sendAgain(batch: Batch, retryMs: number): void {
    this.coverage.count('webhook-again');
    const waitMs = retryMs * Math.min(2 ** (batch.attempt - 1), 60);
    this.#later(waitMs, () => {
      this.#again.push({ ...batch, attempt: batch.attempt + 1 });
      this.#pump();
    });
  }

  #later(waitMs: number, act: () => void): void {
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#stopped) act();
    }, waitMs);
    this.#timers.add(timer);
  }

  #countAccepted(notifications: readonly Json[]): void {
    const heartbeat = notifications.every((one) => isObject(one) && one.eventTypeId === 'heartbeat');
    this.coverage.count(heartbeat ? 'webhook-heartbeat' : 'webhook-event');
  }
}
