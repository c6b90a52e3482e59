// One life of a store, judged: when nothing is broken any more and all is quiet, processes end in order, the topics are read back,
// and all is held against all.
import { evidenceFrom } from '../support/evidence';
import { until } from '../support/until';
import { readBack, rest, sizesOf, stopAll, toldBy, workerOf } from './at-rest';
import type { Finding } from './check';
import { checkLives, type LivesEvidence, livesRestMsMax, mustBeBehind } from './check-lives';
import type { Lives } from './lives';
import type { Load, Resource } from './load';
import type { Sender } from './sender';
import { leaseSeconds, resendSeconds, type Stage } from './stage';

export type JudgedParts = { stage: Stage; load: Load; sender: Sender; lives: Lives };

export type Judged = { evidence: LivesEvidence; findings: Finding[] };

/**
 * Two re-sends, what an alert that came back again is held for, and whoever paged for all may have died last; what a process
 * asked of a store that was away for long, and asked nobody again, it remembers for a minute.
 */
const pagesMsMax = (2 + 16) * resendSeconds * 1000 + leaseSeconds * 1000 + 30_000 + 60_000;
const behindPage = 'TramlineStoreBehindTopics';

/** The load stands still, and everybody has accepted its terms since before this life began. No process runs afterwards. */
export async function judgeLife(parts: JudgedParts, tell: (line: string) => void): Promise<Judged> {
  const { stage, load, sender, lives } = parts;
  const { store, onCall } = stage;
  const healedAtMs = Date.now();
  const settled = await sender.settled(livesRestMsMax);
  if (!settled) sender.end();
  if (settled && !mustBeBehind(lives.begin())) await listUnlessBehind(stage, tell);
  const since = () => pagesSince(stage, lives.beganAtMs());
  // What lasts for a moment may be over before anybody is told.
  const isOver = async () => since().behindTold > 0 || (await wholeSyncAt(stage)) > lives.beganAtMs();
  const heard = until(async () => !since().open.includes(behindPage) && (await isOver()), {
    withinMs: livesRestMsMax,
    what: 'the store to be behind its topics no more',
  });
  await heard.catch(() => {});
  await listBlocked(stage, lives.blockedThen(), tell);
  const rested = settled && (await rest(stage, tell)) && (await restBehind(parts, tell));
  const restAfterMs = Date.now() - healedAtMs;
  const bad = lives.badBefore();
  const isAnyBad = bad.kept || sender.log.bad > bad.sent;
  const expectedPages = isAnyBad ? ['TramlineQuarantineNotEmpty delivery'] : [];
  await until(() => since().open.join() === expectedPages.join(), {
    withinMs: pagesMsMax,
    what: 'on-call to see the true state',
  }).catch(() => {});
  const { open: openPages, behindTold } = since();
  const { residentBytes, files } = sizesOf(stage);
  const toldLedger = await toldBy(stage);
  await stopAll(stage);
  const topics = await readBack(stage);
  const records = await topics.toTheEnd();
  await topics.close();
  const tables = await store.tables();
  const begin = lives.begin();
  const acceptedSince = sender.log.accepted - begin.accepted;
  const ledger = evidenceFrom(tables, begin.notifications + acceptedSince, records);
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
    beganAtMs: lives.beganAtMs(),
    openPages,
    expectedPages,
    postsOf: onCall.toldOf,
    residentBytes,
    files,
    restAfterMs: rested ? restAfterMs : Number.POSITIVE_INFINITY,
    complaints: stage.actors.flatMap(({ complaints }) => complaints),
    logs: stage.actors.map(({ role, logs }) => ({ role, processes: logs.map((lines) => lines()) })),
  };
  return { evidence, findings: checkLives(evidence) };
}

/** When a sync of everything last ended, as the service tells it; minus infinity where none did. */
async function wholeSyncAt(stage: Stage): Promise<number> {
  const worker = workerOf(stage);
  if (worker == null) return Number.NEGATIVE_INFINITY;
  const metrics = await (await fetch(`${worker.operationsUrl}/metrics`)).text();
  const ageSeconds = /^tramline_sync_whole_age_seconds(?:\{[^}]*\})? ([\d.]+)/m.exec(metrics)?.[1];
  return Date.now() - Number(ageSeconds ?? Number.POSITIVE_INFINITY) * 1000;
}

/** Pages that the last life told of: what a former one told ends by itself, five minutes later. */
function pagesSince({ onCall }: Stage, sinceMs: number): { open: string[]; behindTold: number } {
  const told = onCall.posts().filter(({ atMs }) => atMs >= sinceMs);
  const names = new Set(told.map(({ name }) => name));
  return {
    open: onCall.open().filter((name) => names.has(name)),
    // That one of a former life has ended is told before this one has found out that it is behind.
    behindTold: told.filter(({ name, atMs, endsAtMs }) => name === behindPage && endsAtMs > atMs).length,
  };
}

/** The next sync of all that comes by the interval, of those alone that the full one had to leave out. */
async function listBlocked(
  stage: Stage,
  organizations: string[],
  tell: (line: string) => void,
): Promise<void> {
  for (const id of organizations) {
    await list(stage, `?organization=${id}`);
    tell(`${id} was listed, which was blocked in the backup`);
  }
}

/**
 * The next sync by the interval finds what was accepted and lost. A store that is behind its topics, as it knows when all was
 * sent, begins one by itself, which waits for a minute where another is under way.
 */
async function listUnlessBehind(stage: Stage, tell: (line: string) => void): Promise<void> {
  await rest(stage, tell);
  if (await isBehind(stage)) return;
  await list(stage, '');
  tell('all was listed, since nothing was lost that stands on a topic');
}

const isBehind = async ({ store }: Stage) => (await store.states()).behind.length > 0;

async function list(stage: Stage, which: string): Promise<void> {
  const url = `${workerOf(stage)!.operationsUrl}/api/sync`;
  await fetch(`${url}${which}`, { method: 'POST' });
  const isOver = async () => {
    const { state } = (await (await fetch(url)).json()) as { state: string };
    return state !== 'running';
  };
  await until(isOver, { withinMs: livesRestMsMax, what: `the sync of ${which || 'all'}` });
}

/** A store that may be behind its topics has found out by the time of rest; what the end of that brings comes to rest as well. */
async function restBehind({ stage, lives }: JudgedParts, tell: (line: string) => void): Promise<boolean> {
  if (mustBeBehind(lives.begin())) return true;
  const isOver = async () => !(await isBehind(stage));
  await until(isOver, { withinMs: livesRestMsMax, what: 'the end of that' }).catch(() => {});
  return rest(stage, tell);
}

async function truthOf({ stage, load }: JudgedParts): Promise<LivesEvidence['truth']> {
  const { equipment, fieldOperations, organizations } = await stage.simulator.state();
  const asKnown = <One extends { uri: string }>(one: One) => ({ ...one, uri: load.firstOf.get(one.uri)! });
  const removed = (kind: Resource['kind']) => load.removed.filter((one) => one.kind === kind);
  return {
    equipment: [...equipment.map(asKnown), ...removed('equipment')],
    fieldOperations: [...fieldOperations.map(asKnown), ...removed('fieldOperation')],
    organizations,
  };
}
