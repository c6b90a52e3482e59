// `npm run prove -- --kills N --seed S --store sqlite|postgres --processes N --minutes M`: runs the proof, prints what was
// done and what was found as a table, and exits with 1 when a promise is broken.
import { parseArgs } from 'node:util';
import { cleanUp } from '../support/service';
import { type ProofReport, prove } from './prove';
import { postgresUnderProof, type StoreUnderProof, sqliteUnderProof } from './store';

const usage = `npm run prove -- [--kills N] [--seed S] [--store sqlite|postgres] [--processes N] [--minutes M] [--json]`;

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
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail((error as Error).message);
  }
}

async function storeOf(name: string, processes: number): Promise<StoreUnderProof> {
  if (name === 'postgres') return postgresUnderProof();
  if (name !== 'sqlite') return fail('--store takes sqlite or postgres');
  if (processes !== 1) return fail('one process at a time may have an SQLite store');
  return sqliteUnderProof();
}

/** The report for a terminal. */
export function tableOf(report: ProofReport): string {
  const { sent, lines } = report;
  const kindOf = (...kinds: string[]) => report.findings.filter(({ kind }) => kinds.includes(kind)).length;
  const rows: [string, string | number][] = [
    ['seed', report.seed],
    ['store, processes', `${report.store}, ${report.processes}`],
    ['processes killed by SIGKILL', report.kills],
    ...Object.entries(report.broken)
      .sort()
      .map(([what, count]): [string, number] => [`  ${what}`, count]),
    ['resources; announced exactly once', `${report.resources}; ${report.announcedOnce}`],
    ...Object.entries(report.onceNear)
      .sort()
      .map(([what, count]): [string, number] => [`  near ${what}`, count]),
    ['  by quarter of the run', report.onceByQuarter.join(', ')],
    ['changes at the provider', report.changes],
    ['tries of a delivery; deliveries sent', `${sent.tries}; ${sent.deliveries}`],
    ['deliveries answered 204', sent.deliveries],
    ['notifications accepted', sent.accepted],
    ...Object.entries(sent.others).map(([status, count]): [string, number] => [
      status === '0' ? '  tries without an answer' : `  answers ${status}`,
      count,
    ]),
    ...Object.entries(lines).map(([line, count]): [string, number] => [`  ${line}`, count]),
    ['lost', kindOf('lost', 'missing', 'unjournalled', 'unpublished', 'untrue')],
    ['invented', kindOf('invented', 'untraced', 'unexplained')],
    ['records; repeats of the same bytes', `${report.records}; ${report.repeats}`],
    ['differing duplicates', kindOf('differs')],
    ['order violations', kindOf('order', 'newest')],
    ['other violations', kindOf('stranger', 'dishonest', 'answer', 'told', 'page', 'end', 'slow', 'large')],
    ['longest time without a 204', `${sent.longestSilenceMs} ms`],
    ['slowest recovery to a 204', `${report.slowest.recoveredAfterMs} ms after ${report.slowest.what}`],
    ['rest after the last heal', `${report.restAfterMs} ms`],
    ['on-call saw the true state after', `${report.pagesAfterMs} ms`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** What was found, a finding a line, fifty at most. */
export const findingsOf = ({ findings }: ProofReport): string[] =>
  findings.slice(0, 50).map(({ kind, text }) => `${kind}: ${text}`);

async function run(): Promise<void> {
  const words = asked();
  const processes = numberOf('processes', words.processes, 1);
  const report = await prove({
    seed: numberOf('seed', words.seed, 0),
    kills: numberOf('kills', words.kills, 0),
    minutes: numberOf('minutes', words.minutes, 0),
    processes,
    store: await storeOf(words.store, processes),
    tell: (line) => process.stderr.write(`${line}\n`),
  });
  await cleanUp();
  process.stdout.write(
    `${words.json ? JSON.stringify(report) : [tableOf(report), ...findingsOf(report)].join('\n')}\n`,
  );
  process.exit(report.findings.length === 0 ? 0 : 1);
}

if (require.main === module) {
  run().catch(async (error: Error) => {
    process.stderr.write(`${error.stack}\n`);
    await cleanUp();
    process.exit(1);
  });
}
