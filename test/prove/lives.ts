// The lives of a store under proof: backups that are taken of it, and that it is replaced by one of them, or by a new one,
// while the load goes on. What it holds then, and what was accepted by then, is remembered for the checker.
import { setTimeout as delay } from 'node:timers/promises';
import type { Tables } from '../support/evidence';
import type { SimulatorFault } from '../support/simulator';
import { workerOf } from './at-rest';
import { beginLife } from './begin-life';
import type { Chaos } from './chaos';
import type { LifeBegin } from './check-lives';
import { type Load, lagging } from './load';
import type { Random } from './random';
import type { Sender } from './sender';
import { type Actor, runs, type Stage } from './stage';
import type { Between, Replica, StoreUnderProof } from './store';

export type Lives = {
  backUp(): Promise<void>;
  /** Ends the life of the store, and begins another, when `share` in [0, 1] of the run is over. */
  replace(share: number): Promise<void>;
  /** Of the last life. */
  begin(): LifeBegin;
  /** In milliseconds since the epoch. */
  beganAtMs(): number;
  /** Whether a delivery with elements that make no sense was in the store when its last life began. */
  badBefore(): { kept: boolean; sent: number };
  /** Organizations that the store, as it was found, held to be blocked, which a full sync leaves out. */
  blockedThen(): string[];
  counts: Record<string, number>;
};

export type LivesOptions = {
  stage: Stage;
  load: Load;
  sender: Sender;
  chaos: Chaos;
  random: Random;
  tell: (line: string) => void;
  /** Of these alone; else of all that the store has. */
  kinds?: readonly Kind[];
};

/** What a store is replaced by. A failover is one to a backup, a replica that is promoted lacks what came last. */
const kinds = ['restored backups', 'new stores', 'failovers', 'promoted replicas'] as const;
export type Kind = (typeof kinds)[number];
export const kindsOf = (store: StoreUnderProof['name']): readonly Kind[] =>
  store === 'postgres' ? kinds : ['restored backups', 'new stores'];
/** Each of them first, as chance orders them; then these by chance. */
const kindsOften: Kind[] = ['restored backups', ...kinds, 'promoted replicas'];
/** Backups of longer ago are replaced by newer ones. */
const backupsMax = 4;
const brokerIsPaused = 0.4;
const providerIsSlow = 0.5;
const storeStutters = 0.6;
const stutterMs = 3000;
/** Of a promoted replica: it lacks a few commits, those of seconds else; it takes writes at once; processes begin again. */
const lagIsBrief = 0.3;
const promotedAtOnce = 0.5;
const processesFall = 0.3;
/** It is promoted within the leases of those who serve on: nobody is posted to meanwhile whose answer would be waited for. */
const promotedInLease = 0.6;
const patienceMs = 180_000;

export function makeLives(options: LivesOptions): Lives {
  const { stage, load, sender, chaos, random, tell } = options;
  const { backups } = stage.store;
  const counts: Record<string, number> = {};
  const kept: { place: string; changes: number }[] = [];
  let begin: LifeBegin;
  let bad = { kept: false, sent: 0 };
  let blocked: string[] = [];
  let beganAtMs = 0;
  remember(null, null);

  const mayBe = (kind: Kind) => (options.kinds ?? kindsOf(stage.store.name)).includes(kind);
  const due = [...new Set(kindsOften)].filter(mayBe);

  function nextKind(): Kind {
    if (due.length === 0) return random.pick(kindsOften.filter(mayBe));
    return due.splice(random.between(0, due.length - 1), 1)[0]!;
  }

  const note = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };

  async function stop(actor: Actor): Promise<void> {
    const { code, signal } = await actor.service!.stop();
    if (code !== 0) actor.complaints.push(`${actor.role} ended with ${code ?? signal} for a backup`);
  }

  const killAll = () => Promise.all(stage.actors.map(({ service }) => service!.kill()));

  async function backUp(): Promise<void> {
    if (!backups.whileServed) await Promise.all(stage.actors.map(stop));
    const place = await backups.take();
    kept.push({ place, changes: load.changes });
    if (kept.length > backupsMax) kept.shift();
    if (!backups.whileServed) await Promise.all(stage.actors.map((actor) => stage.start(actor)));
    note('backups');
  }

  /** Until something stands on a topic that happened after every backup: a store that is not behind need not find anything. */
  async function untilFurther(): Promise<void> {
    const changes = kept.at(-1)?.changes ?? 0;
    const untilMs = Date.now() + patienceMs;
    let after = 0;
    while (Date.now() < untilMs) {
      const page = await eventsAfter(stage, after);
      if (page.some(({ data }) => changeIn(data) > changes)) return;
      after = page.at(-1)?.position ?? after;
      if (page.length === 0) await delay(200);
    }
    throw new Error('nothing was published for three minutes');
  }

  async function replace(share: number): Promise<void> {
    await untilFurther();
    const kind = nextKind();
    const replica = kind === 'promoted replicas' ? await backups.follow!() : null;
    const paused = random.chance(brokerIsPaused) ? random.between(0, 1) : null;
    if (paused !== null) {
      stage.kafka.pause(paused);
      note('  beside a paused broker');
    }
    const isSlow = random.chance(providerIsSlow);
    if (isSlow) note('  beside a slow provider');
    await load.tellOnceNear('a replaced store', share);
    await delay(random.between(50, 1200));
    const backup = random.pick(kept).place;
    if (kind === 'restored backups' || kind === 'new stores') await killAll();
    await stage.simulator.setFaults(isSlow ? [...slowness(random), lagging] : [lagging]);
    // A replica falls behind before it is promoted.
    const pausedMs = random.between(0, replica === null ? 3000 : 8000);
    const resuming = paused === null ? null : delay(pausedMs).then(() => stage.kafka.resume(paused));
    note(kind);
    const how = await begun(kind, backup, replica);
    note(`  ${how}`);
    await resuming;
    await stage.simulator.setFaults([lagging]);
    tell(`${kind}: ${how}`);
  }

  function begun(kind: Kind, backup: string, replica: Replica | null): Promise<string> {
    if (replica !== null) return promote(replica);
    if (kind === 'failovers') return underAll((between) => backups.failOver!(backup, between));
    return restore(kind === 'new stores' ? null : backup);
  }

  /** Some lives begin on a store whose sessions stand still now and then, until the topics have been read on. */
  async function besideStutter<Done>(work: () => Promise<Done>): Promise<Done> {
    const { stutter } = stage.store;
    if (stutter === null || !random.chance(storeStutters)) return work();
    note('  beside sessions that stand still');
    const end = await stutter(random);
    const done = await work();
    await delay(stutterMs);
    await end();
    return done;
  }

  /** What those who serve did last is lost before one of them stands still, or while it does; or all are killed and begin again. */
  async function promote(replica: Replica): Promise<string> {
    const lagMs = random.chance(lagIsBrief) ? random.between(5, 50) : random.between(50, 4000);
    const standbyMs = random.chance(promotedAtOnce) ? 0 : random.between(0, 1500);
    const lag = async () => {
      await replica.fallBehind();
      await delay(lagMs);
    };
    const told =
      (between: Between) =>
      async (...what: Parameters<Between>) => {
        await between(...what);
        tell(`it lacks ${lagMs} ms and ${what[1]!.size} events that were sent`);
      };
    if (random.chance(processesFall)) {
      await lag();
      const between: Between = async (...what) => {
        await killAll();
        await sender.heard();
        remember(...what);
      };
      await replica.promote(standbyMs, told(between));
      return besideStutter(() => beginLife(stage, random, chaos));
    }
    const isLagFirst = random.chance(0.5);
    const isInLease = random.chance(promotedInLease);
    if (isLagFirst) await lag();
    return underAll(async (between) => {
      if (!isLagFirst) await lag();
      const goOn = isInLease ? await sender.hold() : () => {};
      const sinceMs = Date.now();
      await replica.promote(isInLease ? 0 : standbyMs, told(between)).finally(goOn);
      tell(`it was promoted ${Date.now() - sinceMs} ms after the primary was killed`);
    });
  }

  async function underAll(change: (between: Between) => Promise<void>): Promise<string> {
    const frozen = random.chance(0.5) ? random.pick(stage.actors) : null;
    // What was sent to it by then it may still take when it goes on.
    const triedByAddress = new Map(sender.log.triedByAddress);
    if (frozen !== null) chaos.standStill(frozen);
    await change(async (...what) => {
      await sender.heard();
      remember(...what);
      begin.triedByAddress = triedByAddress;
    });
    await besideStutter(() => delay(random.between(0, 2000)));
    if (frozen !== null) chaos.goOn(frozen);
    return frozen === null ? 'under all that serve' : 'under all that serve, of whom one stood still';
  }

  async function restore(backup: string | null): Promise<string> {
    await sender.heard();
    await backups.replace(backup);
    remember(backup === null ? null : await stage.store.tables(), null);
    return besideStutter(() => beginLife(stage, random, chaos));
  }

  function remember(tables: Tables | null, lost: LifeBegin['lost']): void {
    const { log } = sender;
    const { deliveries, outbox, organizations } = tables ?? { deliveries: [], outbox: [], organizations: [] };
    beganAtMs = Date.now();
    begin = {
      deliveries: new Set(deliveries.map(({ id }) => String(id))),
      notifications: deliveries.reduce((sum, { notifications }) => sum + Number(notifications), 0),
      keys: new Set(outbox.map(({ key }) => String(key))),
      acceptedByAddress: new Map(log.byAddress),
      triedByAddress: new Map(log.triedByAddress),
      accepted: log.accepted,
      lost,
    };
    bad = { kept: deliveries.some(({ quarantined }) => Number(quarantined) > 0), sent: log.bad };
    blocked = organizations.filter(({ access }) => access !== 'active').map(({ id }) => String(id));
  }

  return {
    backUp,
    replace,
    begin: () => begin,
    beganAtMs: () => beganAtMs,
    badBefore: () => bad,
    blockedThen: () => blocked,
    counts,
  };
}

/** Of a resource by itself, below what the API begins with. */
const path = '^/(equipment|fieldOperations)/[^/]+$';

/** Its first documents come late, each few of them by another time: what was asked for before is heard while topics are read on. */
const slowness = (random: Random): SimulatorFault[] =>
  Array.from({ length: 12 }, () => {
    return { match: { path }, times: random.between(1, 6), delayMs: random.between(20, 1500) };
  });

type Published = { position: number; data: Record<string, unknown> | null };

/** What was published after that position, as somebody tells who runs; nothing where nobody does. */
async function eventsAfter(stage: Stage, after: number): Promise<Published[]> {
  const working = workerOf(stage);
  if (working === undefined || working === null || !stage.actors.some(runs)) return [];
  try {
    const answer = await fetch(`${working.operationsUrl}/api/events?after=${after}&limit=500`);
    return answer.ok ? ((await answer.json()) as Published[]) : [];
  } catch {
    return [];
  }
}

/** Which change of the load a machine shows; 0 where none, as in a field operation: its first season looks like a change. */
function changeIn(data: Published['data']): number {
  return Number(/^Name (\d+)$/.exec(String(data?.name))?.[1] ?? 0);
}
