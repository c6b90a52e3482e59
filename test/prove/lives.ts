// The lives of a store under proof: backups that are taken of it, and that it is replaced by one of them, or by a new one,
// while the load goes on. What it holds then, and what was accepted by then, is remembered for the checker.
import { setTimeout as delay } from 'node:timers/promises';
import { workerOf } from './at-rest';
import { beginLife } from './begin-life';
import type { LifeBegin } from './check-lives';
import type { Load } from './load';
import type { Random } from './random';
import type { Sender } from './sender';
import { type Actor, runs, type Stage } from './stage';

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
  random: Random;
  tell: (line: string) => void;
};

/** One in so many stores is a new one. */
const newOneIn = 4;
/** Backups of longer ago are replaced by newer ones. */
const backupsMax = 4;
const brokerIsPaused = 0.25;
const patienceMs = 60_000;

export function makeLives({ stage, load, sender, random, tell }: LivesOptions): Lives {
  const { backups } = stage.store;
  const counts: Record<string, number> = {};
  const kept: { place: string; changes: number }[] = [];
  let begin: LifeBegin = nothingYet();
  let bad = { kept: false, sent: 0 };
  let blocked: string[] = [];
  let beganAtMs = 0;

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
    throw new Error('nothing was published for a minute');
  }

  async function replace(share: number): Promise<void> {
    await untilFurther();
    const paused = random.chance(brokerIsPaused) ? random.between(0, 1) : null;
    if (paused !== null) {
      stage.kafka.pause(paused);
      note('  beside a paused broker');
    }
    await load.tellOnceNear('a replaced store', share);
    await delay(random.between(50, 1200));
    await killAll();
    await sender.heard();
    const backup = kept.length === 0 || random.chance(1 / newOneIn) ? null : random.pick(kept);
    await backups.replace(backup === null ? null : backup.place);
    await remember(backup === null);
    const resuming =
      paused === null ? null : delay(random.between(0, 3000)).then(() => stage.kafka.resume(paused));
    const how = await beginLife(stage, random);
    await resuming;
    note(backup === null ? 'new stores' : 'restored backups');
    note(`  ${how}`);
    tell(`${backup === null ? 'a new store' : 'a restored backup'}, ${how}`);
  }

  async function remember(isNew: boolean): Promise<void> {
    const { log } = sender;
    const now = {
      acceptedByAddress: new Map(log.byAddress),
      triedByAddress: new Map(log.triedByAddress),
      accepted: log.accepted,
    };
    beganAtMs = Date.now();
    begin = { ...nothingYet(), ...now };
    bad = { kept: false, sent: log.bad };
    blocked = [];
    if (isNew) return;
    const { deliveries, outbox, organizations } = await stage.store.tables();
    begin.deliveries = new Set(deliveries.map(({ id }) => String(id)));
    begin.notifications = deliveries.reduce((sum, { notifications }) => sum + Number(notifications), 0);
    begin.keys = new Set(outbox.map(({ key }) => String(key)));
    bad.kept = deliveries.some(({ quarantined }) => Number(quarantined) > 0);
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

function nothingYet(): LifeBegin {
  return {
    deliveries: new Set(),
    notifications: 0,
    keys: new Set(),
    acceptedByAddress: new Map(),
    triedByAddress: new Map(),
    accepted: 0,
  };
}

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

/** Which change of the load a document shows; 0 where it shows none. */
function changeIn(data: Published['data']): number {
  const name = /^Name (\d+)$/.exec(String(data?.name))?.[1];
  const season = /^\d+$/.exec(String(data?.cropSeason))?.[0];
  return Number(name ?? (season === undefined ? 0 : Number(season) - 1900));
}
