// What is waited for, and what is asked of the service, once nothing is broken any more: that all is quiet, what it tells of
// itself, its orderly end, and what stands on the topics then.
import { readFileSync } from 'node:fs';
import { openTopics, type TopicsReader } from '../support/evidence';
import { until } from '../support/until';
import type { Explained } from './check';
import { restMsMax } from './check-rest';
import { openFilesOf, runs, type Stage } from './stage';
import { works } from './steps';

/** One that works; undefined where none runs. */
export const workerOf = (stage: Stage) => stage.actors.find((actor) => works(actor) && runs(actor))?.service;

/** The ledger as the service tells it; null where nobody runs that could. */
export async function toldBy(stage: Stage): Promise<Record<string, number> | null> {
  const worker = workerOf(stage);
  if (worker == null) return null;
  const answer = await fetch(`${worker.operationsUrl}/api/ledger`);
  return (await answer.json()) as Record<string, number>;
}

/** Where it says that it has sent what was decided of these: by first address, where each was announced. */
export async function explainedBy(
  stage: Stage,
  announced: ReadonlyMap<string, string>,
): Promise<Explained[]> {
  const explained: Explained[] = [];
  const worker = workerOf(stage);
  if (worker == null) return [];
  for (const [address, at] of announced) {
    const answer = await fetch(`${worker.operationsUrl}/api/explain?of=${encodeURIComponent(at)}`);
    const { steps = [] } = (await answer.json()) as { steps?: Record<string, unknown>[] };
    const sent = steps.filter(({ step }) => step === 'sent') as Explained['sent'];
    explained.push({ address, sent });
  }
  return explained;
}

/** In this order: what is looked for later is what became of the former meanwhile. */
const statesOfRead = ['taken', 'settling', 'postponed', 'due', 'taken'];

/** Whether some resource may still be read, although nothing waits. */
async function isAnyToRead({ operationsUrl }: { operationsUrl: string }): Promise<boolean> {
  for (const state of statesOfRead) {
    const answer = await fetch(`${operationsUrl}/api/tasks?state=${state}&limit=1`);
    if (((await answer.json()) as unknown[]).length > 0) return true;
  }
  return false;
}

/** Nothing comes to rest any more. */
class NobodyWorks extends Error {}

/**
 * True when nothing waits, nothing is to be read once more, nothing is unsent and nobody is blocked, within a bound a little
 * wider than is allowed. What settles is no line of the ledger, and may still become an event.
 */
export async function rest(stage: Stage, tell: (line: string) => void): Promise<boolean> {
  const isQuiet = async () => {
    const working = workerOf(stage);
    const ledger = await toldBy(stage);
    if (working == null || ledger === null) throw new NobodyWorks();
    // In this order: what was read is sent.
    const isToRead = await isAnyToRead(working);
    const metrics = await (await fetch(`${working.operationsUrl}/metrics`)).text();
    const unsent = /^tramline_outbox_pending(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1];
    const blocked = [...metrics.matchAll(/^tramline_organizations\{access="(?!active")[^}]*\} (\d+)/gm)];
    const stillBlocked = blocked.reduce((sum, [, count]) => sum + Number(count), 0);
    tell(
      `to rest: ${ledger.waiting} wait, ${ledger.parked} parked, ${unsent} unsent, ${stillBlocked} blocked${isToRead ? ', some to be read' : ''}`,
    );
    return !isToRead && ledger.waiting === 0 && ledger.parked === 0 && unsent === '0' && stillBlocked === 0;
  };
  const bounds = { withinMs: 2 * restMsMax, everyMs: 250, what: 'rest', unless: NobodyWorks };
  return until(isQuiet, bounds).then(
    () => true,
    () => false,
  );
}

/** Reads all that is on the topics, and can go on from there. */
export async function readBack(stage: Stage): Promise<TopicsReader> {
  const topics = await openTopics(stage.kafka.brokers, stage.topics);
  await topics.toTheEnd();
  return topics;
}

export async function stopAll(stage: Stage): Promise<void> {
  for (const actor of stage.actors.filter(({ givenUp }) => !givenUp)) {
    const { code, signal } = await actor.service!.stop();
    if (code !== 0) actor.complaints.push(`${actor.role} ended with ${code ?? signal} at rest`);
  }
}

/** Memory and open files of each process that runs. */
export function sizesOf({ actors }: Stage) {
  const running = actors.filter(runs);
  return {
    residentBytes: running.map(({ service }) => residentBytesOf(service!.pid)),
    files: running.map(({ role, service, filesWhenReady }) => {
      return { role, whenReady: filesWhenReady, atRest: openFilesOf(service!.pid) };
    }),
  };
}

function residentBytesOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}
