// The proof: a load goes in while everything is broken, then nothing is broken any more, and when all is quiet the
// sender's log, the journal, the topics, the pager and the provider are held against each other. Shares no code with the
// product.
import { evidenceFrom } from '../support/evidence';
import { repeatsIn } from '../support/ledger-checker';
import { until } from '../support/until';
import { explainedBy, readBack, rest, sizesOf, stopAll, toldBy } from './at-rest';
import { makeChaos, mustsOf } from './chaos';
import { checkProof, type Finding, type OpenFiles, type ProofEvidence } from './check';
import { restMsMax } from './check-rest';
import { makeHeldBlock } from './hold-block';
import { keepEvidence } from './keep';
import { goOn, makeLoad, type Resource } from './load';
import { makeRandom } from './random';
import { makeRecoveries, type Recovery } from './recoveries';
import { type SenderLog, startSender } from './sender';
import { leaseSeconds, makeStage, resendSeconds } from './stage';
import { pages } from './steps';
import type { StoreUnderProof } from './store';

export type ProofOptions = {
  seed: number;
  /** Processes of the service that SIGKILL ends, at least; everything else that is broken comes beside it. */
  kills: number;
  /** Goes on at least so long. */
  minutes: number;
  processes: number;
  store: () => Promise<StoreUnderProof>;
  /** Told what is done, a line at a time. */
  tell?: (line: string) => void;
};

export type ProofReport = {
  seed: number;
  store: string;
  processes: number;
  kills: number;
  /** Starts of a process that were in vain; after so many in a row it is given up. */
  failedStarts: number;
  broken: Record<string, number>;
  /** What happened to processes at named steps, and what had to. */
  steps: string[];
  planned: string[];
  sent: SenderLog;
  changes: number;
  /** How often all addresses of the provider moved. */
  moves: number;
  removed: number;
  resources: number;
  announcedOnce: number;
  /** How many of them while things broke: by what was broken, and by quarter of the run. */
  onceNear: Record<string, number>;
  onceByQuarter: number[];
  /** What had to be broken at least once. */
  musts: string[];
  /** What of that, and which named steps, no process ever came to. */
  unreached: string[];
  lines: Record<string, number>;
  records: number;
  /** How often a process was made to send again what Kafka had written, and what stands on the topics again. */
  sentAgain: number;
  repeats: number;
  /** The longest time from a heal to the next 204, and after what. */
  slowest: Recovery;
  restAfterMs: number;
  /** How many blocked organizations on-call was waited for to be told of, and how long at the longest. */
  paged: { blocks: number; afterMs: number };
  /** From rest until on-call saw what is true. */
  pagesAfterMs: number;
  /** At rest, of the process that has most. */
  residentBytes: number;
  /** Of each process: when it was ready, and at rest. */
  files: OpenFiles[];
  findings: Finding[];
  /** Where all that was held against each other is kept; null where nothing was found. */
  keptIn: string | null;
};

/** A machine whose two cores are wanted by a dozen processes more than these runs each step late. */
const busyMs = 15_000;
/**
 * Two re-sends, and what an alert that came back again and again is held for, by design: sixteen. Whoever pages for all may
 * have died last: its lease runs out first.
 */
const pagesMsMax = (2 + 16) * resendSeconds * 1000 + leaseSeconds * 1000 + busyMs;

/**
 * For the last kills of a run, and no longer than this, nobody else is blocked or accepts terms: alerts that came back again
 * and again are held for long, by design, and that need not be waited for at rest.
 */
const killsOfEnd = 12;
const endMs = 20_000;

/** A run of so many kills is given each signal at each step. */
const killsForEach = 200;

/** Whoever was blocked last is found out when its notification has been read, behind all that waits. */
const blocksMsMax = 3 * pagesMsMax;

export async function prove(options: ProofOptions): Promise<ProofReport> {
  const { seed } = options;
  const tell = options.tell ?? (() => {});
  const calledAtMs = Date.now();
  const stage = await makeStage({
    store: options.store,
    processes: options.processes,
    seed,
    tell,
    // Half of everything is announced once only: three for every two kills.
    equipment: Math.max(20, Math.ceil(options.kills / 2) - 10),
    goneAfterSeconds: 1,
  });
  const { store } = stage;
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
    const load = await makeLoad(stage.simulator, sender, makeRandom(seed + 2));
    const held = makeHeldBlock(load, stage.onCall, blocksMsMax);
    const beganAtMs = Date.now();
    tell(`all runs after ${beganAtMs - calledAtMs} ms`);
    const lastsMs = options.minutes * 60_000;
    const shareOver = () =>
      Math.min(1, shareOf(chaos.kills(), options.kills), shareOf(Date.now() - beganAtMs, lastsMs));
    const recoveries = makeRecoveries();
    const chaos = makeChaos({
      stage,
      random: makeRandom(seed + 3),
      near: (what) => load.tellOnceNear(what, shareOver()),
      breaks: recoveries.broken,
      // While a consent is lost, its alert stands for those of its organizations: they would begin twice.
      spares: (failpoint) =>
        failpoint === 'S6 renewed' ? held.isOpen() : pages(failpoint) && load.termsAreEnded(),
      comesToAll: options.kills >= killsForEach,
      acceptedBy: (address) => sender.log.byReceiver.get(address) ?? 0,
    });
    const loading = goOn(() => goesOn, load.step, sender).catch((error: Error) => {
      const last = stage.simulator.lines().slice(-20).join('\n');
      throw new Error(`the provider's stand-in failed: ${error.message}\n${last}`, { cause: error });
    });
    // It is awaited at the end; until then its failure must not end the driver.
    loading.catch(() => {
      goesOn = false;
    });
    // Named steps that were not come by are tried again, for as long again.
    const goOnFor = () => chaos.kills() < (chaos.missing().length > 0 ? 2 : 1) * options.kills;
    const allStart = () => stage.actors.every(({ givenUp }) => !givenUp);
    while (goesOn && allStart() && (goOnFor() || shareOver() < 1)) {
      await held.look(shareOver());
      const sinceMs = Date.now();
      const what = await chaos.strike();
      recoveries.healed(what);
      void sender.nextAccepted().then(recoveries.accepted);
      tell(`${what}, ${Date.now() - sinceMs} ms: ${chaos.kills()} kills, ${sender.log.accepted} accepted`);
      const left = 1 - shareOver();
      const isEnding = left * options.kills <= killsOfEnd && left * lastsMs <= endMs;
      if (isEnding && chaos.missing().length === 0) load.endTerms();
    }
    await held.look(1);
    goesOn = false;
    await loading;
    await load.finish();
    const healedAtMs = Date.now();
    const settled = await sender.settled(2 * restMsMax);
    if (!settled) sender.end();
    const rested = settled && (await rest(stage, tell));
    const restAfterMs = Date.now() - healedAtMs;
    const expectedPages = ['TramlineQuarantineNotEmpty delivery'];
    const restedAtMs = Date.now();
    const seen = until(() => stage.onCall.open().join() === expectedPages.join(), {
      withinMs: pagesMsMax,
      what: 'on-call to see the true state',
    }).catch(() => {});
    const [explained, topics] = await Promise.all([explainedBy(stage, load.onceOnly), readBack(stage)]);
    tell(`explained after ${Date.now() - restedAtMs} ms`);
    await seen;
    const pagesAfterMs = Date.now() - restedAtMs;
    tell(`on-call sees what is true after ${pagesAfterMs} ms`);
    const openPages = stage.onCall.open();
    const { residentBytes, files } = sizesOf(stage);
    const toldLedger = await toldBy(stage);
    await stopAll(stage);
    tell(`stopped after ${Date.now() - restedAtMs} ms`);
    // What had still come after all seemed to be at rest is read as well.
    const records = await topics.toTheEnd();
    await topics.close();
    const tables = await store.tables();
    const { equipment, fieldOperations, organizations } = await stage.simulator.state();
    const asKnown = <One extends { uri: string }>(one: One) => ({ ...one, uri: load.firstOf.get(one.uri)! });
    const removed = (kind: Resource['kind']) => load.removed.filter((one) => one.kind === kind);
    const truth = {
      equipment: [...equipment.map(asKnown), ...removed('equipment')],
      fieldOperations: [...fieldOperations.map(asKnown), ...removed('fieldOperation')],
      organizations,
    };
    tell(`read back after ${Date.now() - restedAtMs} ms`);
    const ledger = evidenceFrom(tables, sender.log.accepted, records);
    const evidence: ProofEvidence = {
      ledger,
      topics: stage.topics,
      tables,
      truth,
      openPages,
      expectedPages,
      residentBytes,
      files,
      explained,
      states: await store.states(),
      sentAgain: chaos.sentAgain(),
      postsOf: stage.onCall.toldOf,
      posts: stage.onCall.posts(),
      blocks: load.blocks,
      restAfterMs: rested ? restAfterMs : Number.POSITIVE_INFINITY,
      acceptedByAddress: sender.log.byAddress,
      triedByAddress: sender.log.triedByAddress,
      strangersLet: sender.log.strangers.let,
      unexplained503: sender.log.unexplained,
      others: sender.log.others,
      lateAnswers: sender.log.late,
      toldLedger,
      announced: load.announced(),
      marks: load.marks,
      firstOf: load.firstOf,
      removed: new Set(load.removed.map(({ uri }) => uri)),
      complaints: stage.actors.flatMap(({ complaints }) => complaints),
      logs: stage.actors.map(({ role, logs }) => ({ role, processes: logs.map((lines) => lines()) })),
    };
    const findings = checkProof(evidence);
    // Where addresses moved between, no other announcement was of the resource either.
    const told = Map.groupBy(sender.log.byAddress, ([address]) => load.firstOf.get(address));
    const timesTold = (first: string) => (told.get(first) ?? []).reduce((sum, [, times]) => sum + times, 0);
    const untold = [...load.onceOnly.keys()].filter((first) => timesTold(first) !== 1);
    if (settled && untold.length > 0) throw new Error(`not accepted exactly once: ${untold.join(', ')}`);
    return {
      seed,
      findings,
      keptIn: findings.length === 0 ? null : keepEvidence({ ...evidence, findings }),
      restAfterMs,
      paged: {
        blocks: load.blocks.filter(({ dueAtMs }) => dueAtMs !== null).length,
        afterMs: held.longestMs(),
      },
      pagesAfterMs,
      slowest: recoveries.slowest,
      store: store.name,
      processes: options.processes,
      kills: chaos.kills(),
      failedStarts: stage.actors.reduce((sum, { failedStarts }) => sum + failedStarts, 0),
      broken: chaos.counts,
      steps: [...chaos.reached],
      planned: chaos.planned,
      sent: sender.log,
      changes: load.changes,
      moves: load.moves,
      removed: load.removed.length,
      resources: load.resources,
      announcedOnce: load.onceOnly.size,
      onceNear: load.onceNear,
      onceByQuarter: load.onceByQuarter,
      musts: mustsOf(stage),
      unreached: chaos.missing(),
      residentBytes: Math.max(0, ...residentBytes),
      files,
      lines: ledger.lines,
      records: records.length,
      sentAgain: chaos.sentAgain(),
      repeats: repeatsIn(records),
    };
  } finally {
    goesOn = false;
    endSending();
    await stage.stop();
  }
}

const shareOf = (done: number, all: number): number => (all === 0 ? 1 : done / all);
