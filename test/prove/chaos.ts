// What is broken, when, and how it is healed: processes by SIGKILL, by SIGSTOP beyond their lease and by SIGTERM, each at a
// random moment or by themselves at a named step; brokers paused and killed, one or all; the store's own process; the pager
// refusing. One thing at a time, healed before the next but for what a process does by itself. Before each, `near` is
// told, so that something is on its way through that very moment.
import { setTimeout as delay } from 'node:timers/promises';
import type { Failpoint } from '../support/serve-with-failpoints';
import type { Random } from './random';
import { type Actor, type AtStep, addressOf, type Stage } from './stage';

/** Each is reached at least once before chance chooses. */
export const failpoints: Failpoint[] = [
  'S2 verified',
  'S3 stored',
  'S4 answered',
  'S5 claimed',
  'S6 renewed',
  'S7 fetched',
  'S8 decided',
  'S9 acknowledged',
  'S10 marked',
  'A1 alert saved',
  'A2 alert posted',
];

export type Chaos = {
  /** Breaks one thing, a moment after `near` was told, and heals it. Says what. */
  strike(): Promise<string>;
  /** Processes of the service that SIGKILL ended so far. */
  kills(): number;
  /** What must happen at least once and has not: named steps, and what else must fall. */
  missing(): string[];
  /** By what was done. */
  counts: Record<string, number>;
  /** Whether that receiver has been stopped by SIGSTOP at any time since then, in milliseconds since the epoch. */
  stoppedSince(address: string, sinceMs: number): boolean;
  /** Named steps at which a process ended by itself. */
  reached: Set<Failpoint>;
};

export type ChaosOptions = {
  stage: Stage;
  random: Random;
  /** Told what is about to be broken. */
  near: (what: string) => Promise<void>;
  /** Deliveries that this receiver answered 204, as the sender saw it. */
  acceptedBy: (address: string) => number;
};

const stepWaitMs = 9000;
/** Longer than a lease, which is 5 s here. */
const beyondLeaseMs = 6000;

/** What must have fallen, each once, whatever chance says. */
const musts = ['SIGSTOP beyond the lease', 'broker paused', 'broker killed', 'all brokers killed', 'SIGTERM'];

/** What a run of this store must have seen at least once, beside the named steps. */
export const mustsOf = ({ store }: Pick<Stage, 'store'>): string[] =>
  store.crash === null ? musts : [...musts, 'store killed'];

export function makeChaos({ stage, random, near, acceptedBy }: ChaosOptions): Chaos {
  const counts: Record<string, number> = {};
  const reached = new Set<Failpoint>();
  const queue = [...failpoints];
  const falls = mustsOf(stage);
  const stoppedUntilMs = new Map<string, number>();
  let kills = 0;

  const note = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };

  const moment = () => delay(random.between(50, 600));

  /** Ends a process at once, whatever it does. */
  async function end(actor: Actor): Promise<void> {
    const ended = await actor.service!.kill();
    if (ended.signal !== 'SIGKILL') return complain(actor, 'ended before it was killed');
    note('SIGKILL');
    kills += 1;
  }

  /** Nobody may end by itself: what it said last is part of the complaint. */
  async function complain(actor: Actor, what: string): Promise<void> {
    const { code, signal } = await actor.service!.exited;
    const last = actor.service!.lines().slice(-3).join(' | ').slice(0, 2000);
    actor.complaints.push(`${actor.role} ${what}, with ${code ?? signal}: ${last}`);
  }

  /** One process, or now and then several at once. */
  async function kill(actor: Actor): Promise<string> {
    const others = stage.actors.filter((other) => other !== actor && random.chance(0.4));
    await near('SIGKILL');
    await moment();
    const fallen = [actor, ...others];
    await Promise.all(fallen.map(end));
    await startAll(fallen);
    return `SIGKILL of ${fallen.length}`;
  }

  const startAll = (actors: Actor[]) => Promise.all(actors.map((one) => stage.start(one)));

  /**
   * Starts it so that it ends, is told to end or stands still by itself at a named step; killed when it does not get there
   * in time. One process at a time renews, publishes and pages: all give that up first, and the others come back afterwards.
   */
  async function strikeAt(
    actor: Actor,
    failpoint: Failpoint,
    signal: AtStep['signal'] = 'SIGKILL',
  ): Promise<string> {
    await near(`at ${failpoint}`);
    const rivals = leads(failpoint) ? stage.actors.filter((other) => other !== actor && works(other)) : [];
    if (rivals.length === 0) await end(actor);
    else await Promise.all([actor, ...rivals].map(stop));
    const renews = failpoint === 'S6 renewed';
    if (renews) await stage.simulator.expireTokens();
    const stopMs = random.chance(0.5) ? beyondLeaseMs : random.between(500, 2000);
    const isOver = await reach(actor, { failpoint, signal, stopMs });
    if (!isOver) await end(actor);
    await startAll([actor, ...rivals]);
    if (renews) await consentAnew();
    return nameOf({ failpoint, signal });
  }

  /** The refresh token that the provider gave last is lost: no process can help that connection, a person can. */
  async function consentAnew(): Promise<void> {
    await delay(random.between(0, 3000));
    await stage.consent();
  }

  /** True when the process has ended in order: everything else is for the driver to end. */
  async function reach(actor: Actor, at: AtStep): Promise<boolean> {
    const { failpoint, signal } = at;
    if (signal === 'SIGSTOP') return standStill(actor, at);
    await stage.start(actor, at);
    if (failpoint === 'S4 answered') {
      await untilAnswered(actor);
      return false;
    }
    const ended = await Promise.race([actor.service!.exited, delay(stepWaitMs, null, { ref: false })]);
    if (ended === null) return false;
    const asAsked = signal === 'SIGTERM' ? ended.code === 0 : ended.signal === 'SIGKILL';
    if (asAsked) arrive(at);
    else await complain(actor, `ended on its way to ${nameOf(at)}`);
    return signal === 'SIGTERM';
  }

  /** Until it was stopped there and goes on, believing that it still holds what it held. */
  async function standStill(actor: Actor, at: AtStep): Promise<boolean> {
    const address = addressOf(actor);
    stoppedUntilMs.set(address, Number.POSITIVE_INFINITY);
    await stage.start(actor, at);
    const isThere = () => actor.service!.lines().some((line) => line.startsWith('{"failpoint"'));
    for (let waited = 0; waited < stepWaitMs && !isThere(); waited += 50) await delay(50);
    if (isThere()) {
      await delay(at.stopMs);
      arrive(at);
      await moment();
    }
    stoppedUntilMs.set(address, Date.now());
    return false;
  }

  function arrive(at: Pick<AtStep, 'failpoint' | 'signal'>): void {
    if (at.signal === 'SIGKILL') reached.add(at.failpoint);
    note(nameOf(at));
  }

  /** It accepts and takes nothing: its end comes from outside, after a 204 of its own was seen. */
  async function untilAnswered(actor: Actor): Promise<void> {
    const before = acceptedBy(addressOf(actor));
    for (let waited = 0; waited < stepWaitMs; waited += 20) {
      if (acceptedBy(addressOf(actor)) > before)
        return arrive({ failpoint: 'S4 answered', signal: 'SIGKILL' });
      await delay(20);
    }
  }

  /** Stops it for a while; beyond its lease its work is taken over, and it wakes up believing that it still holds it. */
  async function freeze(actor: Actor, isLong: boolean): Promise<string> {
    const what = isLong ? 'SIGSTOP beyond the lease' : 'SIGSTOP';
    await near(what);
    await moment();
    note(what);
    const { pid } = actor.service!;
    stoppedUntilMs.set(addressOf(actor), Number.POSITIVE_INFINITY);
    process.kill(pid, 'SIGSTOP');
    await delay(isLong ? beyondLeaseMs : random.between(100, 1500));
    process.kill(pid, 'SIGCONT');
    stoppedUntilMs.set(addressOf(actor), Date.now());
    return what;
  }

  async function reviveDead(actor: Actor): Promise<void> {
    if ((await Promise.race([actor.service!.exited, null])) === null) return;
    await complain(actor, 'ended by itself');
    await stage.start(actor);
  }

  async function stop(actor: Actor): Promise<void> {
    note('SIGTERM');
    const { code, signal } = await actor.service!.stop();
    if (code !== 0) actor.complaints.push(`${actor.role} ended with ${code ?? signal} on SIGTERM`);
  }

  async function terminate(actor: Actor): Promise<string> {
    await near('SIGTERM');
    await moment();
    await stop(actor);
    await stage.start(actor);
    return 'SIGTERM';
  }

  async function breakNeighbour(what: string): Promise<string> {
    await near(what);
    await moment();
    note(what);
    const broker = random.between(0, 1);
    if (what === 'store killed') await stage.store.crash!();
    else if (what === 'pager refused') {
      stage.onCall.refuse(true);
      await delay(random.between(500, 3000));
      stage.onCall.refuse(false);
    } else if (what === 'broker paused') {
      stage.kafka.pause(broker);
      await delay(random.between(500, 4000));
      stage.kafka.resume(broker);
    } else {
      const fallen = what === 'broker killed' ? [broker] : [0, 1];
      await Promise.all(fallen.map((one) => stage.kafka.kill(one)));
      await delay(random.between(200, 2000));
      await Promise.all(fallen.map((one) => stage.kafka.restart(one)));
    }
    return what;
  }

  function breakByName(what: string, actor: Actor): Promise<string> {
    if (what === 'SIGSTOP beyond the lease') return freeze(actor, true);
    return what === 'SIGTERM' ? terminate(actor) : breakNeighbour(what);
  }

  /** Where it ends from outside nothing else can happen to it. */
  function signalAt(failpoint: Failpoint): AtStep['signal'] {
    if (failpoint === 'S4 answered' || random.chance(0.5)) return 'SIGKILL';
    return random.chance(0.5) ? 'SIGTERM' : 'SIGSTOP';
  }

  function someNeighbour(): string {
    if (stage.store.crash !== null && random.chance(0.5)) return 'store killed';
    if (random.chance(0.25)) return 'pager refused';
    return random.chance(0.7) ? 'broker paused' : 'broker killed';
  }

  return {
    kills: () => kills,
    missing: () => [...queue.map((step) => `at ${step}`), ...falls],
    counts,
    stoppedSince: (address, sinceMs) => (stoppedUntilMs.get(address) ?? 0) >= sinceMs,
    reached,
    async strike() {
      for (const actor of stage.actors) await reviveDead(actor);
      const actor = random.pick(stage.actors);
      const what = random.next();
      const step = queue[0];
      if (falls.length > 0 && what > 0.75) return breakByName(falls.shift()!, actor);
      if (step !== undefined && what < 0.45 && canReach(actor, step)) {
        const told = await strikeAt(actor, queue.shift()!);
        if (reached.has(step)) return told;
        // Nothing came by in time that would have led there: it is tried again later.
        queue.push(step);
        return `not ${told}`;
      }
      if (what < 0.75) return kill(actor);
      if (what < 0.8) return freeze(actor, random.chance(0.3));
      if (what < 0.84) return terminate(actor);
      if (what < 0.9) return breakNeighbour(someNeighbour());
      const at = random.pick(failpoints.filter((one) => canReach(actor, one)));
      return strikeAt(actor, at, signalAt(at));
    },
  };
}

const nameOf = ({ failpoint, signal }: Pick<AtStep, 'failpoint' | 'signal'>): string =>
  signal === 'SIGKILL' ? `at ${failpoint}` : `at ${failpoint}, ${signal}`;

const works = ({ role }: Actor): boolean => role !== 'receiver';

/** Steps to which only the one comes that renews, publishes or pages for all. */
const leads = (failpoint: Failpoint): boolean => /^(S6|S8|S9|S10|A1|A2) /.test(failpoint);

/** Only whoever receives comes to the steps of acceptance, and only whoever works to the others. */
function canReach({ role }: Actor, failpoint: Failpoint): boolean {
  const receives = /^(S2|S3|S4) /.test(failpoint);
  if (role === 'all') return true;
  return receives === (role === 'receiver');
}
