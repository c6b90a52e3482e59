// The proof of restored stores: a load goes in while processes fall and the store is replaced, again and again, by a backup of
// itself or by a new one. Then nothing is broken any more, and when all is quiet the topics are held against the provider
// over all these lives, and the last life against what was accepted in it. Shares no code with the product.
import { setTimeout as delay } from 'node:timers/promises';
import { evidenceFrom } from '../support/evidence';
import { repeatsIn } from '../support/ledger-checker';
import { until } from '../support/until';
import { readBack, residentBytesOf, rest, stopAll, toldBy, workerOf } from './at-rest';
import { type Chaos, makeChaos } from './chaos';
import type { Finding } from './check';
import { checkLives, type LivesEvidence, livesRestMsMax } from './check-lives';
import { keepEvidence } from './keep';
import { type Lives, makeLives } from './lives';
import { goOn, type Load, makeLoad, type Resource } from './load';
import { makeRandom, type Random } from './random';
import { type Sender, startSender } from './sender';
import { leaseSeconds, makeStage, openFilesOf, resendSeconds, runs, type Stage } from './stage';
import type { StoreUnderProof } from './store';

export type RestoresOptions = {
  seed: number;
  /** How often the store is replaced. */
  restores: number;
  /** At most so much is broken, one after the other, before each backup, and half of it after that. */
  strikes: number;
  processes: number;
  store: () => Promise<StoreUnderProof>;
  /** Told what is done, a line at a time. */
  tell?: (line: string) => void;
};

export type RestoresReport = {
  seed: number;
  store: string;
  processes: number;
  /** By what was done to the store, and by what was broken beside. */
  lives: Record<string, number>;
  broken: Record<string, number>;
  kills: number;
  resources: number;
  changes: number;
  moves: number;
  removed: number;
  /** Of notifications: in all, and in the last life. */
  accepted: number;
  acceptedLast: number;
  records: number;
  repeats: number;
  /** Events of the last life whose numbers were found taken. */
  setAside: number;
  restAfterMs: number;
  findings: Finding[];
  /** Where all that was held against each other is kept; null where nothing was found. */
  keptIn: string | null;
};

type Parts = { stage: Stage; load: Load; sender: Sender; chaos: Chaos; lives: Lives; random: Random };

/** Two re-sends, what an alert that came back again is held for, and whoever paged for all may have died last. */
const pagesMsMax = (2 + 16) * resendSeconds * 1000 + leaseSeconds * 1000 + 30_000;
const behindPage = 'TramlineStoreBehindTopics';

export async function proveRestores(options: RestoresOptions): Promise<RestoresReport> {
  const { seed, processes, restores } = options;
  const calledAtMs = Date.now();
  const tell = (line: string) => options.tell?.(`${Date.now() - calledAtMs} ms: ${line}`);
  // Each new life is told of some that are announced once only.
  const equipment = Math.max(20, Math.min(60, 2 * restores));
  const stage = await makeStage({ store: options.store, processes, seed, tell, equipment });
  let goesOn = true;
  let endSending = () => {};
  try {
    const sender = startSender(
      () => stage.receivers(),
      stage.simulator.environment.WEBHOOK_AUTHORIZATION!,
      makeRandom(seed + 1),
      (target, sinceMs) => chaos.stoppedSince(target, sinceMs),
    );
    endSending = sender.end;
    const load = await makeLoad(stage.simulator, sender, makeRandom(seed + 2), { movesOwners: true });
    const random = makeRandom(seed + 4);
    const chaos = makeChaos({
      stage,
      random: makeRandom(seed + 3),
      near: async () => {},
      breaks: () => {},
      // A backup has the tokens of its day: no consent is renewed here.
      spares: (failpoint) => failpoint === 'S6 renewed',
      comesToAll: false,
      acceptedBy: (address) => sender.log.byReceiver.get(address) ?? 0,
    });
    const lives = makeLives({ stage, load, sender, chaos, random, tell });
    const parts = { stage, load, sender, chaos, lives, random };
    const loading = goOn(() => goesOn, load.step, sender);
    loading.catch(() => {
      goesOn = false;
    });
    for (let life = 1; life <= restores && goesOn; life += 1)
      await liveOn(parts, { share: life / restores, strikes: options.strikes }, tell);
    await delay(random.between(500, 3000));
    goesOn = false;
    await loading;
    await load.finish();
    return await readAll(parts, options, tell);
  } finally {
    goesOn = false;
    endSending();
    await stage.stop();
  }
}

/** Things break, a backup is taken, more things break, and the store is replaced. */
async function liveOn(
  { stage, load, chaos, lives, random }: Parts,
  { share, strikes }: { share: number; strikes: number },
  tell: (line: string) => void,
): Promise<void> {
  const breakSome = async (most: number) => {
    for (let left = random.between(0, most); left > 0; left -= 1) tell(await chaos.strike());
  };
  await breakSome(strikes);
  await lives.backUp();
  await breakSome(Math.floor(strikes / 2));
  // What a full sync leaves out since it waits for a customer, only the next sync finds.
  if (share === 1) {
    load.keepTerms(true);
    await delay(500);
    await load.acceptAll();
  }
  if (stage.actors.some(({ givenUp }) => givenUp)) throw new Error('a process does not start');
  await lives.replace(share);
}

/** Pages that the last life told of: what a former one told ends by itself, five minutes later. */
function pagesSince({ onCall }: Stage, sinceMs: number): { open: string[]; behindTold: number } {
  const told = onCall.posts().filter(({ atMs }) => atMs >= sinceMs);
  const names = new Set(told.map(({ name }) => name));
  return {
    open: onCall.open().filter((name) => names.has(name)),
    behindTold: told.filter(({ name }) => name === behindPage).length,
  };
}

async function readAll(
  parts: Parts,
  options: RestoresOptions,
  tell: (line: string) => void,
): Promise<RestoresReport> {
  const { stage, load, sender, chaos, lives } = parts;
  const { store, onCall } = stage;
  const healedAtMs = Date.now();
  const settled = await sender.settled(livesRestMsMax);
  if (!settled) sender.end();
  const since = () => pagesSince(stage, lives.beganAtMs());
  const heard = until(() => since().behindTold > 0 && !since().open.includes(behindPage), {
    withinMs: livesRestMsMax,
    what: 'the store to be behind its topics no more',
  });
  await heard.catch(() => {});
  await listBlocked(stage, lives.blockedThen(), tell);
  const rested = settled && (await rest(stage, tell));
  const restAfterMs = Date.now() - healedAtMs;
  const bad = lives.badBefore();
  const isAnyBad = bad.kept || sender.log.bad > bad.sent;
  const expectedPages = isAnyBad ? ['TramlineQuarantineNotEmpty delivery'] : [];
  await until(() => since().open.join() === expectedPages.join(), {
    withinMs: pagesMsMax,
    what: 'on-call to see the true state',
  }).catch(() => {});
  const { open: openPages, behindTold } = since();
  const running = stage.actors.filter(runs);
  const residentBytes = running.map(({ service }) => residentBytesOf(service!.pid));
  const files = running.map(({ role, service, filesWhenReady }) => {
    return { role, whenReady: filesWhenReady, atRest: openFilesOf(service!.pid) };
  });
  const toldLedger = await toldBy(stage);
  await stopAll(stage);
  const topics = await readBack(stage);
  const records = await topics.toTheEnd();
  await topics.close();
  const tables = await store.tables();
  const begin = lives.begin();
  const acceptedLast = sender.log.accepted - begin.accepted;
  const ledger = evidenceFrom(tables, begin.notifications + acceptedLast, records);
  const evidence: LivesEvidence = {
    records,
    ledger,
    tables,
    begin,
    topics: stage.topics,
    truth: await truthOf(parts),
    marks: load.marks,
    firstOf: load.firstOf,
    owners: load.owners,
    removed: new Set(load.removed.map(({ uri }) => uri)),
    others: sender.log.others,
    lateAnswers: sender.log.late,
    strangersLet: sender.log.strangers.let,
    unexplained503: sender.log.unexplained,
    acceptedByAddress: sender.log.byAddress,
    triedByAddress: sender.log.triedByAddress,
    toldLedger,
    states: await store.states(),
    behindTold,
    openPages,
    expectedPages,
    postsOf: onCall.toldOf,
    residentBytes,
    files,
    restAfterMs: rested ? restAfterMs : Number.POSITIVE_INFINITY,
    complaints: stage.actors.flatMap(({ complaints }) => complaints),
    logs: stage.actors.map(({ role, logs }) => ({ role, processes: logs.map((lines) => lines()) })),
  };
  const findings = checkLives(evidence);
  return {
    seed: options.seed,
    store: store.name,
    processes: options.processes,
    lives: lives.counts,
    broken: chaos.counts,
    kills: chaos.kills(),
    resources: load.resources,
    changes: load.changes,
    moves: load.moves,
    removed: load.removed.length,
    accepted: sender.log.accepted,
    acceptedLast,
    records: records.length,
    repeats: repeatsIn(records),
    setAside: ledger.events.filter(({ state }) => state === 4).length,
    restAfterMs,
    findings,
    keptIn: findings.length === 0 ? null : keepEvidence({ ...evidence, findings }),
  };
}

/** The next sync of all that comes by the interval, of those alone that the full one had to leave out. */
async function listBlocked(
  stage: Stage,
  organizations: string[],
  tell: (line: string) => void,
): Promise<void> {
  for (const id of organizations) {
    const url = `${workerOf(stage)!.operationsUrl}/api/sync`;
    await fetch(`${url}?organization=${id}`, { method: 'POST' });
    const isOver = async () => {
      const { state } = (await (await fetch(url)).json()) as { state: string };
      return state !== 'running';
    };
    await until(isOver, { withinMs: livesRestMsMax, what: `the sync of ${id}` });
    tell(`${id} was listed, which was blocked in the backup`);
  }
}

async function truthOf({ stage, load }: Parts): Promise<LivesEvidence['truth']> {
  const { equipment, fieldOperations, organizations } = await stage.simulator.state();
  const asKnown = <One extends { uri: string }>(one: One) => ({ ...one, uri: load.firstOf.get(one.uri)! });
  const removed = (kind: Resource['kind']) => load.removed.filter((one) => one.kind === kind);
  return {
    equipment: [...equipment.map(asKnown), ...removed('equipment')],
    fieldOperations: [...fieldOperations.map(asKnown), ...removed('fieldOperation')],
    organizations,
  };
}
