// What is broken, when, and how it is healed: processes by SIGKILL, by SIGSTOP beyond their lease and by SIGTERM, each at a
// random moment and by themselves at each named step; brokers paused and killed, one or all; the store's own process; the
// pager refusing. One thing at a time, healed before the next but for what a process does by itself. Before each, `near` is
// told, so that something is on its way through that very moment.
import { setTimeout as delay } from 'node:timers/promises';
import { lasts, minuteMs } from '../support/real-durations';
import type { Failpoint } from '../support/serve-with-failpoints';
import type { Random } from './random';
import { type Actor, addressOf, leaseSeconds, type Stage } from './stage';
import { canReach, failpoints, leads, nameOf, pages, planStrikes, type Strike, works } from './steps';

export type Chaos = {
  /** Breaks one thing, a moment after `near` was told, and heals it. Says what. */
  strike(): Promise<string>;
  /** Processes of the service that SIGKILL ended so far. */
  kills(): number;
  /** What must happen at least once and has not: named steps, and what else must fall. */
  missing(): string[];
  /** How often a process came to the step behind which what Kafka had written is there again. */
  sentAgain(): number;
  /** By what was done. */
  counts: Record<string, number>;
  /** Whether that receiver has been stopped by SIGSTOP at any time since then, in milliseconds since the epoch. */
  stoppedSince(address: string, sinceMs: number): boolean;
  /** By SIGSTOP or SIGCONT, for whoever breaks something else meanwhile. */
  standStill(actor: Actor): void;
  goOn(actor: Actor): void;
  /** What happened to a process at a named step, and what had to. */
  reached: Set<string>;
  planned: string[];
};

export type ChaosOptions = {
  stage: Stage;
  random: Random;
  /** Told what is about to be broken. */
  near: (what: string) => Promise<void>;
  /** Told when it is. */
  breaks: () => void;
  /** Named steps that must be left alone for now. */
  spares: (failpoint: Failpoint) => boolean;
  /** Whether each signal must come to each step; else what the seed chose of them. */
  comesToAll: boolean;
  /** Deliveries that this receiver answered 204, as the sender saw it. */
  acceptedBy: (address: string) => number;
};

/** More than a process may take to end in order, from a machine that is wanted by many. */
const stepWaitMs = 15_000;
/** Longer than a lease. */
const beyondLeaseMs = leaseSeconds * 1000 + 1000;
/** What a process that was killed led is led by another after this: it paged for all, or did anything else. */
const pagingLeaseMs = 15_000;

/** What must have fallen, each once, whatever chance says. */
const musts = [
  'SIGKILL',
  'SIGSTOP beyond the lease',
  'broker paused',
  'broker killed',
  'all brokers killed',
  'pager refused',
  'SIGTERM',
];

/** What a run of this store must have seen at least once, beside the named steps. */
export const mustsOf = ({ store }: Pick<Stage, 'store'>): string[] =>
  store.crash === null ? musts : [...musts, 'store killed'];

export function makeChaos(options: ChaosOptions): Chaos {
  const { stage, random, near, breaks, spares, acceptedBy, comesToAll } = options;
  const counts: Record<string, number> = {};
  const reached = new Set<string>();
  const queue = planStrikes(random, comesToAll);
  const planned = queue.map(nameOf);
  const falls = mustsOf(stage);
  const stoppedUntilMs = new Map<string, number>();
  let kills = 0;
  let sentAgain = 0;

  const note = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };

  const moment = () => delay(random.between(50, 600));

  /** Until when nobody may lead, since whoever did so was killed; the embedded store frees at once what the dead held. */
  const leaderlessUntilMs = { paging: 0, other: 0 };

  /** Nobody leads before what the dead one held runs out: whoever is killed meanwhile held nothing. */
  function noteDeath({ role }: Actor): void {
    if (!works({ role }) || stage.store.name === 'sqlite') return;
    const nowMs = Date.now();
    if (leaderlessUntilMs.paging < nowMs) leaderlessUntilMs.paging = nowMs + pagingLeaseMs;
    if (leaderlessUntilMs.other < nowMs) leaderlessUntilMs.other = nowMs + leaseSeconds * 1000;
  }

  const isLed = (failpoint: Failpoint) =>
    leaderlessUntilMs[pages(failpoint) ? 'paging' : 'other'] <= Date.now();

  /** Ends a process at once, whatever it does. */
  async function end(actor: Actor): Promise<void> {
    if (actor.givenUp) return;
    breaks();
    const ended = await actor.service!.kill();
    noteDeath(actor);
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
   * in time. One process at a time renews, publishes and pages: all give that up first, and the others come back while it
   * stands still beyond its lease, or afterwards.
   */
  async function strikeAt(actor: Actor, strike: Strike): Promise<string> {
    const { failpoint } = strike;
    await near(nameOf(strike));
    const rivals = leads(failpoint) ? stage.actors.filter((other) => other !== actor && works(other)) : [];
    if (rivals.length === 0) await end(actor);
    else await Promise.all([actor, ...rivals].map(stop));
    const renews = failpoint === 'S6 renewed';
    if (renews) await stage.simulator.expireTokens();
    const away = new Set(rivals);
    const comeBack = async () => {
      const back = [...away];
      away.clear();
      await startAll(back);
    };
    const goesOn = await reach(actor, strike, comeBack);
    if (!goesOn) {
      await end(actor);
      away.add(actor);
    }
    await comeBack();
    if (renews) await consentAnew();
    return nameOf(strike);
  }

  /** The refresh token that the provider gave last is lost: no process can help that connection, a person can. */
  async function consentAnew(): Promise<void> {
    await delay(random.between(0, 1500));
    await stage.consent();
  }

  /** True when it runs: where it ended in order it is started again; everything else is for the driver to end. */
  async function reach(actor: Actor, strike: Strike, comeBack: () => Promise<void>): Promise<boolean> {
    const { failpoint, signal } = strike;
    await stage.start(actor, strike);
    if (actor.givenUp) return true;
    if (signal === 'SIGSTOP') return standStill(actor, strike, comeBack);
    if (failpoint === 'S4 answered') {
      const answered = await untilAnswered(actor);
      if (answered) arrive(strike);
      if (!answered || signal === 'SIGKILL') return false;
      await stop(actor);
      await stage.start(actor);
      return true;
    }
    const ended = await Promise.race([actor.service!.exited, delay(stepWaitMs, null, { ref: false })]);
    if (ended === null) return false;
    const asAsked = signal === 'SIGTERM' ? ended.code === 0 : ended.signal === 'SIGKILL';
    if (asAsked) arrive(strike);
    else await complain(actor, `ended on its way to ${nameOf(strike)}`);
    if (signal === 'SIGKILL') return false;
    await stage.start(actor);
    return true;
  }

  /** Until it was stopped there and goes on, believing that it still holds what it held. */
  async function standStill(actor: Actor, strike: Strike, comeBack: () => Promise<void>): Promise<boolean> {
    const address = addressOf(actor);
    stoppedUntilMs.set(address, Number.POSITIVE_INFINITY);
    // What it had to renew on its way was renewed before it could stand still there.
    if (strike.failpoint === 'S6 renewed') await stage.simulator.expireTokens();
    const { pid, lines } = actor.service!;
    const isFromOutside = strike.failpoint === 'S4 answered';
    const isThere = isFromOutside ? await untilAnswered(actor) : await untilStopped(lines);
    if (isThere) {
      if (isFromOutside) process.kill(pid, 'SIGSTOP');
      const stopsFor = delay(strike.isLong ? beyondLeaseMs : random.between(200, 1000));
      if (strike.isLong) await comeBack();
      await stopsFor;
      process.kill(pid, 'SIGCONT');
      arrive(strike);
      await moment();
    }
    stoppedUntilMs.set(address, Date.now());
    return isThere && !isFromOutside;
  }

  function arrive(strike: Strike): void {
    reached.add(nameOf(strike));
    note(nameOf(strike));
    if (strike.failpoint === 'S9 repeated') sentAgain += 1;
  }

  /** True when it has stopped itself, as it says just before. */
  async function untilStopped(lines: () => string[]): Promise<boolean> {
    const isThere = () => lines().some((line) => line.startsWith('{"failpoint"'));
    for (let waited = 0; waited < stepWaitMs && !isThere(); waited += 50) await delay(50);
    return isThere();
  }

  /** It accepts and takes nothing: what happens to it comes from outside, after a 204 of its own was seen. */
  async function untilAnswered(actor: Actor): Promise<boolean> {
    const before = acceptedBy(addressOf(actor));
    for (let waited = 0; waited < stepWaitMs; waited += 20) {
      if (acceptedBy(addressOf(actor)) > before) return true;
      await delay(20);
    }
    return false;
  }

  /** Stops it for a while; beyond its lease its work is taken over, and it wakes up believing that it still holds it. */
  async function freeze(actor: Actor, isLong: boolean): Promise<string> {
    const what = isLong ? 'SIGSTOP beyond the lease' : 'SIGSTOP';
    await near(what);
    await moment();
    note(what);
    const { pid } = actor.service!;
    stoppedUntilMs.set(addressOf(actor), Number.POSITIVE_INFINITY);
    breaks();
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
    breaks();
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

  /** For so long as chance says; what must fall lasts, on demand, as long as it may in earnest. */
  async function breakNeighbour(what: string, isMust: boolean): Promise<string> {
    await near(what);
    await moment();
    note(what);
    breaks();
    const broker = random.between(0, 1);
    const downFor = (least: number, most: number, realMs: number) => {
      const shortMs = random.between(least, most);
      return isMust ? lasts(shortMs, realMs) : shortMs;
    };
    if (what === 'store killed') await stage.store.crash!(downFor(0, 0, 5 * minuteMs));
    else if (what === 'pager refused') {
      stage.onCall.refuse(true);
      await delay(downFor(500, 3000, 30 * minuteMs));
      stage.onCall.refuse(false);
    } else if (what === 'broker paused') {
      stage.kafka.pause(broker);
      await delay(downFor(500, 4000, 5 * minuteMs));
      stage.kafka.resume(broker);
    } else {
      const fallen = what === 'broker killed' ? [broker] : [0, 1];
      await Promise.all(fallen.map((one) => stage.kafka.kill(one)));
      await delay(downFor(200, 2000, 5 * minuteMs));
      await Promise.all(fallen.map((one) => stage.kafka.restart(one)));
    }
    return what;
  }

  function breakByName(what: string, actor: Actor): Promise<string> {
    if (what === 'SIGKILL') return kill(actor);
    if (what === 'SIGSTOP beyond the lease') return freeze(random.pick(stage.actors.filter(works)), true);
    return what === 'SIGTERM' ? terminate(actor) : breakNeighbour(what, true);
  }

  /** SIGKILL in half of the cases; an owner now and then stands still for long. */
  function someStrike(actor: Actor): Strike {
    const failpoint = random.pick(failpoints.filter((one) => canReach(actor, one) && !spares(one)));
    if (random.chance(0.5)) return { failpoint, signal: 'SIGKILL', isLong: false };
    if (random.chance(0.5)) return { failpoint, signal: 'SIGTERM', isLong: false };
    return { failpoint, signal: 'SIGSTOP', isLong: works(actor) && random.chance(0.3) };
  }

  /**
   * The next that must be come to and can be by now, and by whom; undefined when there is none. Steps to which only a leader
   * comes go first while somebody leads; while nobody can, there is time for the others.
   */
  function nextStrike(): { actor: Actor; strike: Strike } | undefined {
    const canCome = ({ failpoint }: Strike) => stage.actors.filter((one) => canReach(one, failpoint));
    const due = queue.filter((one) => !spares(one.failpoint) && canCome(one).length > 0);
    const led = due.filter(({ failpoint }) => leads(failpoint) && isLed(failpoint));
    const strike =
      led.find(({ failpoint }) => pages(failpoint)) ??
      led[0] ??
      due.find(({ failpoint }) => !leads(failpoint));
    if (strike === undefined) return undefined;
    queue.splice(queue.indexOf(strike), 1);
    return { actor: random.pick(canCome(strike)), strike };
  }

  /** What nothing came by in time that would have led there is tried again later. */
  async function strikeNext(actor: Actor, strike: Strike): Promise<string> {
    const told = await strikeAt(actor, strike);
    if (reached.has(told)) return told;
    queue.push(strike);
    return `not ${told}`;
  }

  function someNeighbour(): string {
    if (stage.store.crash !== null && random.chance(0.5)) return 'store killed';
    if (random.chance(0.25)) return 'pager refused';
    return random.chance(0.7) ? 'broker paused' : 'broker killed';
  }

  return {
    kills: () => kills,
    sentAgain: () => sentAgain,
    missing: () => [...queue.map(nameOf), ...falls],
    counts,
    standStill(actor) {
      stoppedUntilMs.set(addressOf(actor), Number.POSITIVE_INFINITY);
      process.kill(actor.service!.pid, 'SIGSTOP');
    },
    goOn(actor) {
      process.kill(actor.service!.pid, 'SIGCONT');
      stoppedUntilMs.set(addressOf(actor), Date.now());
    },
    stoppedSince: (address, sinceMs) => (stoppedUntilMs.get(address) ?? 0) >= sinceMs,
    reached,
    planned,
    async strike() {
      for (const actor of stage.actors) await reviveDead(actor);
      if (stage.actors.some(({ givenUp }) => givenUp)) return 'a process does not start';
      const actor = random.pick(stage.actors);
      const what = random.next();
      if (what < 0.7) {
        const next = nextStrike();
        return next === undefined ? kill(actor) : strikeNext(next.actor, next.strike);
      }
      if (what < 0.78) return kill(actor);
      if (falls.length > 0) return breakByName(falls.shift()!, actor);
      if (what < 0.83) return freeze(actor, random.chance(0.3));
      if (what < 0.87) return terminate(actor);
      if (what < 0.93) return breakNeighbour(someNeighbour(), false);
      return queue.length > 0 ? kill(actor) : strikeAt(actor, someStrike(actor));
    },
  };
}
