// The sender: posts deliveries as the provider does, repeats each until it is answered 204, and keeps a log of its own of
// what was accepted. It believes nothing but the status line.
import { setTimeout as delay } from 'node:timers/promises';
import { watchOwnDelay } from '../support/own-delay';
import type { Random } from './random';

export type Notification = Record<string, unknown>;

export type SenderLog = {
  /** What was given to it to send, answered or not. */
  sent: { deliveries: number; notifications: number };
  /** Notifications in deliveries that were answered 204. */
  accepted: number;
  /** Deliveries that were answered 204. */
  deliveries: number;
  /** Tries of a delivery, answered or not. */
  tries: number;
  /**
   * Tries of the true sender at those that were not stopped meanwhile that took longer than it may wait for. What this
   * process was late itself, since it was not given a core, is taken off.
   */
  late: number;
  /** How often each address was accepted. */
  byAddress: Map<string, number>;
  /** How often each address was said in a try of the true sender, answered or not. */
  triedByAddress: Map<string, number>;
  /** Deliveries by the receiver that accepted them. */
  byReceiver: Map<string, number>;
  /** Elements that no service can make sense of. */
  bad: number;
  /** Deliveries with a wrong Authorization, and how many of them were not answered 401. */
  strangers: { sent: number; let: number };
  /** Answers other than 204 by status; 0 stands for a connection that broke. */
  others: Record<string, number>;
  /** 503 without `Retry-After`, which no sender can obey. */
  unexplained: number;
  /** When the last 204 came, in milliseconds since the epoch. */
  lastAcceptedAtMs: number;
  /** The longest time in which something was waiting and nothing was accepted. */
  longestSilenceMs: number;
};

export type Sender = {
  log: SenderLog;
  /** Queues one delivery. */
  send(notifications: Notification[]): void;
  /** Queues one delivery that nobody should take. */
  sendAsStranger(notifications: Notification[]): void;
  waiting(): number;
  /** Resolves at the next 204. */
  nextAccepted(): Promise<void>;
  /** True as soon as everything queued was accepted; false when something is not `withinMs` later. */
  settled(withinMs: number): Promise<boolean>;
  /** Resolves when each post that is under way now has ended: nobody who is dead by now will be heard after it. */
  heard(): Promise<unknown>;
  /** Posts nothing more until what it resolves with is called; by then each post that was under way has ended. */
  hold(): Promise<() => void>;
  /** Repeats nothing any more. */
  end(): void;
};

const connections = 8;
const patienceMs = 6000;
const answerMsMax = 4000;
const repeatMs = 100;

/**
 * `targets` are the addresses of the receivers, each tried in turn at random; `stoppedSince` knows which of them the driver
 * has stopped since then (milliseconds since the epoch), or has not continued: such a one owes no answer in time.
 */
export function startSender(
  targets: () => string[],
  authorization: string,
  random: Random,
  stoppedSince: (target: string, sinceMs: number) => boolean,
): Sender {
  const log: SenderLog = {
    sent: { deliveries: 0, notifications: 0 },
    accepted: 0,
    deliveries: 0,
    tries: 0,
    late: 0,
    byAddress: new Map(),
    triedByAddress: new Map(),
    byReceiver: new Map(),
    bad: 0,
    strangers: { sent: 0, let: 0 },
    others: {},
    unexplained: 0,
    lastAcceptedAtMs: Date.now(),
    longestSilenceMs: 0,
  };
  const queue: { notifications: Notification[]; stranger: boolean }[] = [];
  const ownDelayMs = watchOwnDelay();
  const underWay = new Set<Promise<unknown>>();
  let busy = 0;
  let ended = false;
  let tellAccepted: (() => void)[] = [];
  let mayPost: Promise<void> = Promise.resolve();

  async function post(target: string, notifications: Notification[], value: string): Promise<number> {
    try {
      const response = await fetch(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: value },
        body: JSON.stringify(notifications),
        signal: AbortSignal.timeout(patienceMs),
      });
      await response.arrayBuffer();
      if (response.status === 503 && response.headers.get('retry-after') === null) log.unexplained += 1;
      return response.status;
    } catch {
      return 0;
    }
  }

  function noteAccepted(target: string, notifications: Notification[]): void {
    log.byReceiver.set(target, (log.byReceiver.get(target) ?? 0) + 1);
    log.accepted += notifications.length;
    log.deliveries += 1;
    log.lastAcceptedAtMs = Date.now();
    for (const tell of tellAccepted) tell();
    tellAccepted = [];
    log.bad += notifications.length - countAddresses(log.byAddress, notifications);
  }

  async function deliver(notifications: Notification[]): Promise<void> {
    while (!ended) {
      await mayPost;
      const target = random.pick(targets());
      const sinceMs = Date.now();
      const delayedMs = ownDelayMs();
      const posting = post(target, notifications, authorization);
      underWay.add(posting);
      const status = await posting;
      underWay.delete(posting);
      log.tries += 1;
      countAddresses(log.triedByAddress, notifications);
      const tookMs = Date.now() - sinceMs - (ownDelayMs() - delayedMs);
      if (tookMs > answerMsMax && !stoppedSince(target, sinceMs)) log.late += 1;
      const silenceMs = Date.now() - log.lastAcceptedAtMs;
      log.longestSilenceMs = Math.max(log.longestSilenceMs, silenceMs);
      if (status === 204) return noteAccepted(target, notifications);
      log.others[status] = (log.others[status] ?? 0) + 1;
      await delay(repeatMs);
    }
  }

  async function intrude(notifications: Notification[]): Promise<void> {
    log.strangers.sent += 1;
    const status = await post(random.pick(targets()), notifications, 'Bearer of-a-stranger');
    if (status >= 200 && status < 300) log.strangers.let += 1;
  }

  function work(): void {
    while (busy < connections && queue.length > 0) {
      const { notifications, stranger } = queue.shift()!;
      if (busy === 0) log.lastAcceptedAtMs = Date.now();
      busy += 1;
      void (stranger ? intrude(notifications) : deliver(notifications)).finally(() => {
        busy -= 1;
        work();
      });
    }
  }

  const enqueue = (stranger: boolean) => (notifications: Notification[]) => {
    if (!stranger) {
      log.sent.deliveries += 1;
      log.sent.notifications += notifications.length;
    }
    queue.push({ notifications, stranger });
    work();
  };
  return {
    log,
    send: enqueue(false),
    sendAsStranger: enqueue(true),
    waiting: () => queue.length + busy,
    nextAccepted: () => new Promise((resolve) => tellAccepted.push(resolve)),
    heard: () => Promise.all(underWay),
    async hold() {
      let goOn = () => {};
      mayPost = new Promise((resolve) => {
        goOn = resolve;
      });
      // Whoever was let go before that is under way.
      await delay(1);
      await Promise.all(underWay);
      return goOn;
    },
    end() {
      ended = true;
      queue.length = 0;
    },
    async settled(withinMs) {
      const isSettled = () => queue.length + busy === 0;
      for (const sinceMs = Date.now(); !isSettled() && Date.now() - sinceMs < withinMs; ) await delay(20);
      return isSettled();
    },
  };
}

/** How many of them say an address. */
function countAddresses(counts: Map<string, number>, notifications: Notification[]): number {
  const addresses = notifications.flatMap(({ targetResource }) =>
    typeof targetResource === 'string' ? [targetResource] : [],
  );
  for (const address of addresses) counts.set(address, (counts.get(address) ?? 0) + 1);
  return addresses.length;
}
