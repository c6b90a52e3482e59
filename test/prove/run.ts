// `npm run prove -- --restores N --seed S --store sqlite|postgres --processes N --kind K` replaces the store so often instead.
// `npm run prove -- --kills N --seed S --store sqlite|postgres --processes N --minutes M`: runs the proof, prints what was
// done and what was found as a table, and exits with 1 when a promise is broken, or when a named step or a neighbour's
// fall that belongs to the proof was never come to, unless `--partial` says that this is enough.
import { parseArgs } from 'node:util';
import { cleanUp } from '../support/service';
import type { Finding } from './check';
import { type Kind, kindsOf } from './lives';
import { type ProofReport, prove } from './prove';
import { proveRestores, type RestoresReport } from './prove-restores';
import { postgresUnderProof, type StoreUnderProof, sqliteUnderProof } from './store';

const usage = `npm run prove -- [--kills N] [--seed S] [--store sqlite|postgres] [--processes N] [--minutes M] [--partial] [--json]\nnpm run prove -- --restores N [--seed S] [--store sqlite|postgres] [--processes N] [--kind 'new stores'|…] [--json]`;

function fail(text: string): never {
  process.stderr.write(`${text}\n${usage}\n`);
  process.exit(2);
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) fail(`--${name} takes a whole number from ${least}`);
  return value;
}

function asked() {
  try {
    return parseArgs({
      options: {
        kills: { type: 'string', default: '60' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        store: { type: 'string', default: 'sqlite' },
        processes: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '0' },
        restores: { type: 'string' },
        kind: { type: 'string' },
        partial: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail((error as Error).message);
  }
}

function storeOf(name: string, processes: number): () => Promise<StoreUnderProof> {
  if (name === 'postgres') return () => postgresUnderProof();
  if (name !== 'sqlite') return fail('--store takes sqlite or postgres');
  if (processes !== 1) return fail('one process at a time may have an SQLite store');
  return sqliteUnderProof;
}

function kindOf(name: string, store: string): Kind {
  const some = kindsOf(store === 'postgres' ? store : 'sqlite');
  return some.find((kind) => kind === name) ?? fail(`--kind takes one of: ${some.join(', ')}`);
}

/** All that a notification can become; 0 of one is said as well. */
const ledgerLines = [
  ...['published', 'merged', 'unchanged', 'gone', 'acted', 'ignored'],
  ...['parked', 'quarantined', 'discarded', 'waiting'],
];

/** The report for a terminal. */
export function tableOf(report: ProofReport): string {
  const { sent, lines } = report;
  const rows: [string, string | number][] = [
    ['seed', report.seed],
    ['store, processes', `${report.store}, ${report.processes}`],
    ['processes killed by SIGKILL', report.kills],
    ['starts that failed', report.failedStarts],
    ...Object.entries(report.broken)
      .sort()
      .map(([what, count]): [string, number] => [`  ${what}`, count]),
    ['resources; announced exactly once', `${report.resources}; ${report.announcedOnce}`],
    ...Object.entries(report.onceNear)
      .sort()
      .map(([what, count]): [string, number] => [`  near ${what}`, count]),
    ['  by quarter of the run', report.onceByQuarter.join(', ')],
    ['changes at the provider; removals', `${report.changes}; ${report.removed}`],
    ['moves of its addresses', report.moves],
    ['deliveries sent; tries of them', `${sent.sent.deliveries}; ${sent.tries}`],
    ['deliveries answered 204', sent.deliveries],
    ['notifications sent; accepted', `${sent.sent.notifications}; ${sent.accepted}`],
    ...Object.entries(sent.others).map(([status, count]): [string, number] => [
      status === '0' ? '  tries without an answer' : `  answers ${status}`,
      count,
    ]),
    ...ledgerLines.map((line): [string, number] => [`  ${line}`, lines[line] ?? 0]),
    ['records; repeats of the same bytes', `${report.records}; ${report.repeats}`],
    ['  made to send again', report.sentAgain],
    ...violationsOf(report.findings),
    ['signals at steps that had to come', report.planned.length],
    ['never come to', report.unreached.length],
    ['largest process at rest', `${Math.round(report.residentBytes / 1_048_576)} MiB`],
    ['files open when ready; at rest', report.files.map((of) => `${of.whenReady}; ${of.atRest}`).join(', ')],
    ['longest time without a 204', `${sent.longestSilenceMs} ms`],
    ['slowest recovery to a 204', `${report.slowest.recoveredAfterMs} ms after ${report.slowest.what}`],
    ['rest after the last heal', `${report.restAfterMs} ms`],
    ['blocked organizations that on-call had to see', report.paged.blocks],
    ['  and saw after', `${report.paged.afterMs} ms`],
    ['on-call saw the true state after', `${report.pagesAfterMs} ms`],
  ];
  return inColumns(rows);
}

function inColumns(rows: [string, string | number][]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** The rows that name what was broken. */
const promises: Record<string, Finding['kind'][]> = {
  lost: ['lost', 'missing', 'vanished', 'unjournalled', 'unpublished', 'untrue', 'unsettled', 'unsent'],
  invented: ['invented', 'untraced', 'unexplained', 'mistold'],
  'differing duplicates': ['differs'],
  'order violations': ['order', 'newest'],
};

/** How many findings fall into each row, and into none of them: together all that were found. */
function violationsOf(findings: Finding[]): [string, number][] {
  const named = Object.entries(promises).map(([row, kinds]): [string, number] => [
    row,
    findings.filter(({ kind }) => kinds.includes(kind)).length,
  ]);
  const shown = named.reduce((sum, [, count]) => sum + count, 0);
  return [...named, ['other violations', findings.length - shown]];
}

/**
 * What was found, a finding a line, fifty at most, and where all that they were found in is kept. How a process ended, or
 * that it did not start, comes first: the others may follow from that.
 */
export const findingsOf = ({ findings, keptIn }: Pick<ProofReport, 'findings' | 'keptIn'>): string[] => [
  ...findings
    .toSorted((one, other) => Number(other.kind === 'end') - Number(one.kind === 'end'))
    .slice(0, 50)
    .map(({ kind, text }) => `${kind}: ${text}`),
  ...(keptIn === null ? [] : [`what they were found in is kept in ${keptIn}`]),
];

/** A kill is a chance to come to a step: with fewer there may be no time for all. */
const killsForAll = 60;

/** Whether what was done is the whole proof, in one line, and the exit code. */
export function verdictOf(
  { findings, unreached, kills }: Pick<ProofReport, 'findings' | 'unreached' | 'kills'>,
  partial: boolean,
): { line: string; code: 0 | 1 } {
  const broken = findings.length > 0 ? `${findings.length} violations` : 'no violation';
  if (unreached.length === 0)
    return { line: `${broken}; every named step was come to`, code: findings.length > 0 ? 1 : 0 };
  const enough = kills < killsForAll ? `; --kills ${killsForAll} or more comes to all` : '';
  return {
    line: `${broken}, but never come to: ${unreached.join(', ')}${enough}`,
    code: findings.length === 0 && partial ? 0 : 1,
  };
}

/** The report of the proof of restored stores for a terminal. */
export function restoresTableOf(report: RestoresReport): string {
  const rows: [string, string | number][] = [
    ['seed', report.seed],
    ['store, processes', `${report.store}, ${report.processes}`],
    ...Object.entries(report.lives),
    ['lives that were judged', report.judged],
    ['processes killed by SIGKILL beside that', report.kills],
    ...Object.entries(report.broken)
      .sort()
      .map(([what, count]): [string, number] => [`  ${what}`, count]),
    ['resources; changes; removals', `${report.resources}; ${report.changes}; ${report.removed}`],
    ['notifications accepted; in the last life', `${report.accepted}; ${report.acceptedLast}`],
    ['records; repeats of the same bytes', `${report.records}; ${report.repeats}`],
    ['events whose number was found taken', report.setAside],
    ...violationsOf(report.findings),
    ['rest after the last heal', `${report.restAfterMs} ms`],
  ];
  return inColumns(rows);
}

async function runRestores(words: ReturnType<typeof asked>, count: string): Promise<void> {
  const processes = numberOf('processes', words.processes, 1);
  const store = storeOf(words.store, processes);
  const report = await proveRestores({
    seed: numberOf('seed', words.seed, 0),
    restores: numberOf('restores', count, 1),
    strikes: 2,
    processes,
    ...(words.kind === undefined ? {} : { kinds: [kindOf(words.kind, words.store)] }),
    store: words.store === 'postgres' ? () => postgresUnderProof(true) : store,
    tell: (line) => process.stderr.write(`${line}\n`),
  });
  await cleanUp();
  const { length } = report.findings;
  const line = length > 0 ? `${length} violations` : 'no violation';
  const text = [restoresTableOf(report), ...findingsOf(report), line].join('\n');
  process.stdout.write(`${words.json ? JSON.stringify(report) : text}\n`);
  process.exit(length > 0 ? 1 : 0);
}

async function run(): Promise<void> {
  const words = asked();
  if (words.restores !== undefined) return runRestores(words, words.restores);
  const processes = numberOf('processes', words.processes, 1);
  const report = await prove({
    seed: numberOf('seed', words.seed, 0),
    kills: numberOf('kills', words.kills, 0),
    minutes: numberOf('minutes', words.minutes, 0),
    processes,
    store: storeOf(words.store, processes),
    tell: (line) => process.stderr.write(`${line}\n`),
  });
  await cleanUp();
  const { line, code } = verdictOf(report, words.partial);
  process.stdout.write(
    `${words.json ? JSON.stringify(report) : [tableOf(report), ...findingsOf(report), line].join('\n')}\n`,
  );
  process.exit(code);
}

if (require.main === module) {
  run().catch(async (error: Error) => {
    process.stderr.write(`${error.stack}\n`);
    await cleanUp();
    process.exit(1);
  });
}
