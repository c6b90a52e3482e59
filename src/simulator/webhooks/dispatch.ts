// Takes an event to everybody who is to hear of it: the receiver of `--deliver-to`, and the matching subscriptions.
// Promises one line of deliveries for each address, so that batches mix the tokens of several subscriptions, and that
// the client's delivery settings hold for all of them. Shapes of notifications are made elsewhere.
import type { Coverage } from '../controls/coverage';
import type { Json, JsonObject } from '../json';
import type { Settings } from '../settings';
import type { Seen } from '../world/world';
import { Deliveries, type DeliverySettings } from './deliveries';
import { changeNotification, type Sender, subscriptionNotification } from './notifications';
import { ANSWER_MS, type Poster } from './poster';
import type { Subscription, Subscriptions } from './subscriptions';

export interface DispatchParts {
  sender: Sender;
  poster: Poster;
  coverage: Coverage;
  settings: Settings;
  subscriptions: Subscriptions;
  /** The line of `--deliver-to`. */
  deliveries: Deliveries;
  retryMs: number;
  sees: (user: Subscription['user'], organizationId: string) => boolean;
}

export class Dispatch {
  readonly #lines = new Map<string, Deliveries>();
  #rotation: NodeJS.Timeout | undefined;

  constructor(readonly parts: DispatchParts) {}

  announce(seen: Seen): void {
    this.tell(changeNotification(this.parts.sender, seen));
  }

  /** Sends a notification to the receiver of `--deliver-to` and to every subscription it reaches. */
  tell(notification: JsonObject): void {
    this.parts.deliveries.notify([notification]);
    this.tellSubscribers(notification);
  }

  tellSubscribers(notification: JsonObject): number {
    const reached = this.parts.subscriptions.reachedBy(notification, this.parts.sees);
    for (const subscription of reached)
      this.#line(subscription.uri).notify([withToken(notification, subscription)]);
    return reached.length;
  }

  /** A heartbeat for the receiver of `--deliver-to` and for every active subscription. */
  beat(ownSubscriptionId: string): void {
    const { deliveries, sender, settings, subscriptions } = this.parts;
    if (!settings.heartbeats) return;
    deliveries.notify([subscriptionNotification(sender, 'heartbeat', ownSubscriptionId)]);
    for (const subscription of subscriptions.list) {
      if (subscription.status !== 'Active') continue;
      const heartbeat = subscriptionNotification(sender, 'heartbeat', subscription.id);
      this.#line(subscription.uri).notify([withToken(heartbeat, subscription)]);
    }
  }

  /** Asks the address whether it wants these events: true where it answered 204 in time. */
  verify(subscription: Subscription): Promise<boolean> {
    const { coverage, poster, sender } = this.parts;
    const verification = subscriptionNotification(sender, 'subscriptionVerification', subscription.id);
    return new Promise((resolve) => {
      poster.post(
        this.#settingsFor(subscription.uri),
        1,
        [withToken(verification, subscription)],
        (accepted) => {
          coverage.count(accepted ? 'webhook-verification' : 'webhook-verification-refused');
          resolve(accepted);
        },
      );
    });
  }

  /** The client's delivery settings have changed: from now on, or after a lag, for every line. */
  settle(): void {
    clearTimeout(this.#rotation);
    const { rotationLagMs } = this.parts.settings;
    if (rotationLagMs === 0) this.#apply();
    else this.#rotation = setTimeout(() => this.#apply(), rotationLagMs).unref();
  }

  get pending(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.pending, 0);
  }

  stop(): void {
    clearTimeout(this.#rotation);
    for (const line of this.#lines.values()) line.stop();
  }

  #apply(): void {
    const { deliveries, subscriptions } = this.parts;
    const { authorizationHeaderValue, concurrentDeliveries, maxBatchSize, status } = subscriptions.delivery;
    const own = deliveries.settings;
    const authorization = authorizationHeaderValue ?? undefined;
    if (own) deliveries.adjust({ ...own, authorization, concurrentDeliveries, maxBatchSize });
    deliveries.pause(status === 'Paused');
    for (const [uri, line] of this.#lines) {
      line.adjust(this.#settingsFor(uri));
      line.pause(status === 'Paused');
    }
  }

  #line(uri: string): Deliveries {
    const known = this.#lines.get(uri);
    if (known) return known;
    const { coverage, poster, settings, subscriptions } = this.parts;
    const line: Deliveries = new Deliveries(poster, coverage, (inARow) => {
      if (settings.expireAfterFailures === 0 || inARow < settings.expireAfterFailures) return;
      // What was not accepted until now is lost: a subscriber has to compare after it has renewed.
      subscriptions.expire(uri);
      coverage.count('webhook-expired');
      line.stop();
      this.#lines.delete(uri);
    });
    line.pause(subscriptions.delivery.status === 'Paused');
    line.deliverTo(this.#settingsFor(uri));
    this.#lines.set(uri, line);
    return line;
  }

  #settingsFor(uri: string): DeliverySettings {
    const { retryMs, subscriptions } = this.parts;
    const { authorizationHeaderValue, concurrentDeliveries, maxBatchSize } = subscriptions.delivery;
    return {
      url: uri,
      authorization: authorizationHeaderValue ?? undefined,
      token: undefined,
      maxBatchSize,
      concurrentDeliveries,
      retryMs,
      answerMs: ANSWER_MS,
    };
  }
}

/** The token of the subscription; none where it has none. */
function withToken({ token: _other, ...notification }: JsonObject, subscription: Subscription): Json {
  return { ...notification, ...(subscription.token === undefined ? {} : { token: subscription.token }) };
}
