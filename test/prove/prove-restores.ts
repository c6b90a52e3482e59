// The proof of restored stores: a load goes in while processes fall and the store is replaced, again and again, by a backup of
// itself or by a new one. Then nothing is broken any more, and when all is quiet the topics are held against the provider
// over all these lives, and the last life against what was accepted in it. Shares no code with the product.
import { setTimeout as delay } from 'node:timers/promises';
import { repeatsIn } from '../support/ledger-checker';
import { type Chaos, makeChaos } from './chaos';
import type { Finding } from './check';
import { type Judged, judgeLife } from './judge-life';
import { keepEvidence } from './keep';
import { type Kind, type Lives, makeLives } from './lives';
import { goOn, type Load, makeLoad } from './load';
import { makeRandom, type Random } from './random';
import { type Sender, startSender } from './sender';
import { makeStage, type Stage } from './stage';
import type { StoreUnderProof } from './store';

export type RestoresOptions = {
  seed: number;
  /** How often the store is replaced. */
  restores: number;
  /** At most so much is broken, one after the other, before each backup, and half of it after that. */
  strikes: number;
  processes: number;
  store: () => Promise<StoreUnderProof>;
  /** What it is replaced by, each of them first; else whatever the store has. */
  kinds?: readonly Kind[];
  /** Told what is done, a line at a time. */
  tell?: (line: string) => void;
};

export type RestoresReport = {
  seed: number;
  store: StoreUnderProof['name'];
  processes: number;
  /** How many lives were judged. */
  judged: number;
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

/** So many lives are brought to rest and judged, and the last: a later one brings what a former one left out. */
const judgedShare = 0.7;

/**
 * Longer than a new store takes until it has read the topics: a deletion that it believed before is not told, since it knows
 * nothing of what is gone.
 */
const goneAfterSeconds = 6;

export async function proveRestores(options: RestoresOptions): Promise<RestoresReport> {
  const { seed, processes, restores } = options;
  const calledAtMs = Date.now();
  const tell = (line: string) => options.tell?.(`${Date.now() - calledAtMs} ms: ${line}`);
  // Each new life is told of some that are announced once only.
  const equipment = Math.max(20, Math.min(60, 2 * restores));
  const { store } = options;
  const stage = await makeStage({ store, processes, seed, tell, equipment, goneAfterSeconds });
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
    const { kinds } = options;
    const lives = makeLives({ stage, load, sender, chaos, random, tell, ...(kinds && { kinds }) });
    const parts = { stage, load, sender, chaos, lives, random };
    const judged: Judged[] = [];
    const gate = makeGate(load.step);
    const loading = goOn(() => goesOn, gate.step, sender);
    loading.catch(() => {
      goesOn = false;
    });
    for (let life = 1; life <= restores && goesOn; life += 1) {
      const isLast = life === restores;
      const isJudged = isLast || random.chance(judgedShare);
      await liveOn(parts, { share: life / restores, strikes: options.strikes, isJudged }, tell);
      if (!isJudged) continue;
      await delay(random.between(500, 3000));
      await gate.close();
      if (isLast) await load.finish();
      judged.push(await judgeLife(parts, tell));
      tell(`life ${life} is judged: ${judged.at(-1)!.findings.length} findings`);
      if (isLast || judged.at(-1)!.findings.length > 0) break;
      await Promise.all(stage.actors.map((actor) => stage.start(actor)));
      load.keepTerms(false);
      gate.open();
    }
    goesOn = false;
    await loading;
    return reportOf(parts, options, judged);
  } finally {
    goesOn = false;
    endSending();
    await stage.stop();
  }
}

/** Things break, a backup is taken, more things break, and the store is replaced. */
async function liveOn(
  { stage, load, chaos, lives, random }: Parts,
  { share, strikes, isJudged }: { share: number; strikes: number; isJudged: boolean },
  tell: (line: string) => void,
): Promise<void> {
  const breakSome = async (most: number) => {
    for (let left = random.between(0, most); left > 0; left -= 1) tell(await chaos.strike());
  };
  await breakSome(strikes);
  await lives.backUp();
  await breakSome(Math.floor(strikes / 2));
  // What a full sync leaves out since it waits for a customer, only the next sync finds.
  if (isJudged) {
    load.keepTerms(true);
    await delay(500);
    await load.acceptAll();
  }
  if (stage.actors.some(({ givenUp }) => givenUp)) throw new Error('a process does not start');
  await lives.replace(share);
}

/** The load may be held back; what is under way then has ended when that is answered. */
function makeGate(step: () => Promise<void>) {
  let isOpen = true;
  let underWay = Promise.resolve();
  return {
    async step(): Promise<void> {
      if (!isOpen) return;
      underWay = step();
      await underWay;
    },
    close(): Promise<void> {
      isOpen = false;
      return underWay;
    },
    open(): void {
      isOpen = true;
    },
  };
}

function reportOf(parts: Parts, options: RestoresOptions, judged: Judged[]): RestoresReport {
  const { stage, load, sender, chaos, lives } = parts;
  const last = judged.at(-1);
  if (last === undefined) throw new Error('the load failed before a life was judged');
  const { evidence, findings } = last;
  const { records, ledger, begin, restAfterMs } = evidence;
  return {
    seed: options.seed,
    store: stage.store.name,
    processes: options.processes,
    lives: lives.counts,
    judged: judged.length,
    broken: chaos.counts,
    kills: chaos.kills(),
    resources: load.resources,
    changes: load.changes,
    moves: load.moves,
    removed: load.removed.length,
    accepted: sender.log.accepted,
    acceptedLast: sender.log.accepted - begin.accepted,
    records: records.length,
    repeats: repeatsIn(records),
    setAside: ledger.events.filter(({ state }) => state === 4).length,
    restAfterMs,
    findings,
    keptIn: findings.length === 0 ? null : keepEvidence({ ...evidence, findings }),
  };
}
