// What is broken, when, and how it is healed: processes by SIGKILL at a random moment or by themselves at a named step,
// by SIGSTOP beyond their lease, by SIGTERM; brokers paused and killed; the store's own process; the pager refusing. One
// thing at a time, healed before the next but for what a process does by itself.
import { setTimeout as delay } from 'node:timers/promises';
import type { Failpoint } from '../support/serve-with-failpoints';
import type { Random } from './random';
import type { Actor, Stage } from './stage';

/** Each named step is reached at least once before chance chooses. */
export const failpoints: Failpoint[] = [
  'S2 verified',
  'S3 stored',
  'S4 answered',
  'S5 claimed',
  'S7 fetched',
  'S8 decided',
  'S9 acknowledged',
  'S10 marked',
  'A1 alert saved',
  'A2 alert posted',
];

export type Chaos = {
  /** Waits a moment, breaks one thing and heals it. */
  strike(): Promise<void>;
  /** Interventions on processes so far. */
  kills(): number;
  /** How many named steps are still to be reached. */
  missing(): number;
  /** By what was done. */
  counts: Record<string, number>;
  /** Named steps at which a process ended by itself. */
  reached: Set<Failpoint>;
};

const stepWaitMs = 9000;
const answeredMs = 700;

export function makeChaos(stage: Stage, random: Random): Chaos {
  const counts: Record<string, number> = {};
  const reached = new Set<Failpoint>();
  const queue = [...failpoints];
  let kills = 0;

  const note = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };

  /** Ends a process at once, whatever it does. */
  async function kill(actor: Actor): Promise<void> {
    note('SIGKILL');
    kills += 1;
    await actor.service?.kill();
    await stage.start(actor);
  }

  /**
   * Starts it so that it ends by itself at a named step; killed when it does not get there in time. One process at a time
   * publishes and pages: the others give that up first, and come back afterwards.
   */
  async function killAt(actor: Actor, failpoint: Failpoint): Promise<void> {
    const rivals = leads(failpoint) ? stage.actors.filter((other) => other !== actor && works(other)) : [];
    for (const rival of rivals) await end(rival);
    await reach(actor, failpoint);
    for (const rival of rivals) await stage.start(rival);
  }

  async function reach(actor: Actor, failpoint: Failpoint): Promise<void> {
    kills += 2;
    note('SIGKILL');
    await actor.service?.kill();
    await stage.start(actor, failpoint);
    const waitMs = failpoint === 'S4 answered' ? answeredMs : stepWaitMs;
    const ended = await Promise.race([actor.service!.exited, delay(waitMs, null, { ref: false })]);
    if (ended === null) {
      await actor.service!.kill();
      note('SIGKILL');
      // It accepts and takes nothing: its end comes from outside.
      if (failpoint === 'S4 answered') reached.add(failpoint);
    } else {
      reached.add(failpoint);
      note(`at ${failpoint}`);
      if (ended.signal !== 'SIGKILL') {
        actor.complaints.push(
          `${actor.role} ended with ${ended.code ?? ended.signal} on its way to ${failpoint}`,
        );
      }
    }
    await stage.start(actor);
  }

  /** Stops it beyond its lease: its work is taken over, and it wakes up believing that it still holds it. */
  async function freeze(actor: Actor): Promise<void> {
    note('SIGSTOP, SIGCONT');
    kills += 1;
    const { pid } = actor.service!;
    process.kill(pid, 'SIGSTOP');
    await delay(random.chance(0.3) ? 6000 : random.between(100, 1500));
    process.kill(pid, 'SIGCONT');
  }

  /** Nobody may end by itself: what it said last is part of the complaint. */
  async function reviveDead(actor: Actor): Promise<void> {
    const ended = await Promise.race([actor.service!.exited, null]);
    if (ended === null) return;
    const last = actor.service!.lines().slice(-3).join(' | ').slice(0, 2000);
    actor.complaints.push(`${actor.role} ended by itself with ${ended.code ?? ended.signal}: ${last}`);
    await stage.start(actor);
  }

  async function end(actor: Actor): Promise<void> {
    note('SIGTERM');
    kills += 1;
    const { code, signal } = await actor.service!.stop();
    if (code !== 0) actor.complaints.push(`${actor.role} ended with ${code ?? signal} on SIGTERM`);
  }

  async function terminate(actor: Actor): Promise<void> {
    await end(actor);
    await stage.start(actor);
  }

  async function breakKafka(): Promise<void> {
    const broker = random.between(0, 1);
    if (random.chance(0.6)) {
      note('broker paused');
      stage.kafka.pause(broker);
      await delay(random.between(500, 4000));
      stage.kafka.resume(broker);
    } else {
      note('broker killed');
      await stage.kafka.kill(broker);
      await delay(random.between(200, 2000));
      await stage.kafka.restart(broker);
    }
  }

  async function breakNeighbour(): Promise<void> {
    if (stage.store.crash !== null && random.chance(0.5)) {
      note('store killed');
      await stage.store.crash();
    } else if (random.chance(0.25)) {
      note('pager refused');
      stage.onCall.refuse(true);
      await delay(random.between(500, 3000));
      stage.onCall.refuse(false);
    } else await breakKafka();
  }

  return {
    kills: () => kills,
    missing: () => queue.length,
    counts,
    reached,
    async strike() {
      await delay(random.between(200, 1200));
      for (const actor of stage.actors) await reviveDead(actor);
      const actor = random.pick(stage.actors);
      const what = random.next();
      const step = queue[0];
      if (step !== undefined && canReach(actor, step)) {
        await killAt(actor, queue.shift()!);
        // Nothing came by in time that would have led there: it is tried again later.
        if (!reached.has(step)) queue.push(step);
        return;
      }
      if (what < 0.5) await kill(actor);
      else if (what < 0.62) await killAt(actor, random.pick(failpoints.filter((at) => canReach(actor, at))));
      else if (what < 0.74) await freeze(actor);
      else if (what < 0.88) await terminate(actor);
      else await breakNeighbour();
    },
  };
}

const works = ({ role }: Actor): boolean => role !== 'receiver';

/** Steps to which only the one comes that publishes, or pages, for all. */
const leads = (failpoint: Failpoint): boolean => /^(S9|S10|A1|A2) /.test(failpoint);

/** Only whoever receives comes to the steps of acceptance, and only whoever works to the others. */
function canReach({ role }: Actor, failpoint: Failpoint): boolean {
  const receives = failpoint === 'S2 verified' || failpoint === 'S3 stored';
  if (role === 'all') return true;
  return receives === (role === 'receiver');
}
