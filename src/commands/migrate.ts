/**
 * `tramline migrate`: brings the store to this version, and creates the declared topics where brokers are named. Safe
 * to repeat; `serve` creates no topic. With `--from` and `--to` it moves an embedded store into a scaled one instead.
 */
import type { Command } from 'commander';
import type { LoadedSettings } from '../config';
import { isProblem, Problem } from '../model/problem';
import type { Action, CommandContext, MoveOutcome } from './context';
import { exitCodes } from './exit-code';

interface MigrateOptions {
  reencrypt?: boolean;
  from?: string;
  to?: string;
}

const twoOperations =
  '--reencrypt does not go with --from and --to: move the store first, then run `tramline migrate --reencrypt` with ' +
  'DATABASE_URL naming the new one';

export function registerMigrate(program: Command, action: Action<MigrateOptions>): void {
  program
    .command('migrate')
    .description('bring the store to this version, and create missing topics; or move it')
    .option('--reencrypt', 'seal every stored token with the first of ENCRYPTION_KEYS')
    .option('--from <store>', 'move this embedded store, `sqlite:path`, which nobody may serve …')
    .option('--to <store>', '… into this empty one, `postgres://…`; to be repeated if it was interrupted')
    .action(
      action((context, _argument, options) => {
        const { from, to } = options;
        if (options.reencrypt && (from !== undefined || to !== undefined))
          throw new Problem('command.usage', twoOperations);
        if (options.reencrypt) return reencrypt(context);
        if (from === undefined && to === undefined) return run(context);
        if (from !== undefined && to !== undefined) return move(context, from, to);
        throw new Problem('command.usage', '--from and --to go together');
      }),
    );
}

/** Can be broken off and repeated; needs the former key until it has ended. */
async function reencrypt({ output, load, reencrypt: reseal }: CommandContext): Promise<number> {
  const counts = await reseal(load());
  if (output.json) output.value(counts);
  else {
    output.line(
      `Sealed with the first key: ${counts.resealed} connections and webhook secrets; already so: ${counts.kept}.`,
    );
    output.next(
      'The other keys can be taken out of ENCRYPTION_KEYS. A process that runs without the first one reads nothing until it is restarted with it.',
    );
  }
  return exitCodes.done;
}

async function run(context: CommandContext): Promise<number> {
  const { output, load, createTopics } = context;
  const loaded = load();
  const served = await migrateStore(context, loaded);
  const topics = await createTopics(loaded.settings);
  const shown = String(loaded.origins.DATABASE_URL.shown);
  if (output.json) {
    const lines = topics.map(({ topic, state, partitions, created, below }) => ({
      topic,
      state,
      partitions,
      created,
      below,
    }));
    output.value({ store: shown, served, topics: lines });
  } else {
    output.line(
      served
        ? `The store ${shown} is left to the process that serves it, and is at the version of that one.`
        : `The store ${shown} is at this version.`,
    );
    for (const { topic, state, partitions, created } of topics) {
      output.line(`${topic}: ${created ? 'created' : state}, ${partitions} partitions`);
    }
    output.next('tramline check');
  }
  for (const { topic, below } of topics) if (below !== null) output.warn(`${topic}: ${below}`);
  return topics.every(({ state }) => state === 'present') ? exitCodes.done : exitCodes.failed;
}

/**
 * True where another process serves the store: it has brought it to its own version. Topics may be missing all the same,
 * and need no stop; where no broker is named there is nothing else to do, and the lock is told.
 */
async function migrateStore({ openStore }: CommandContext, loaded: LoadedSettings): Promise<boolean> {
  try {
    const store = await openStore(loaded, 'migrated');
    await store.close();
    return false;
  } catch (error) {
    if (isProblem(error, 'store.locked') && loaded.settings.kafkaBrokers !== null) return true;
    throw error;
  }
}

async function move(context: CommandContext, from: string, to: string): Promise<number> {
  const { output, moveStore } = context;
  const interrupted = () => {
    const signal = context.interrupted();
    signal.addEventListener('abort', () => output.note(stopping), { once: true });
    return signal;
  };
  const paged = (table: string, rows: number) => output.progress(`${table}: ${rows} rows`);
  const readBack = (table: string, rows: number) => output.progress(`${table}: ${rows} rows read back`);
  const begunAnew = () => output.note(anew);
  const moved = await moveStore(from, to, { paged, readBack, begunAnew, interrupted }).finally(() =>
    output.progress(null),
  );
  const { outcome, tables } = moved;
  if (output.json) output.value({ outcome, tables });
  if (outcome === 'stopped') {
    output.warn(stoppedAt(moved));
    return exitCodes.interrupted;
  }
  if (output.json) return exitCodes.done;
  for (const { name, rows, hash } of tables) output.line(`${name}: ${rows} rows, ${hash}`);
  output.line(
    outcome === 'already'
      ? 'The store had been moved there before.'
      : 'Every row was read back as it was. The store that was moved refuses to serve from now on.',
  );
  output.next('set DATABASE_URL to the new store, then tramline serve');
  return exitCodes.done;
}

const anew = 'another version began this move: what it copied is thrown away, and all is copied anew';

/** A server that says nothing holds up a page for a minute. */
const stopping = 'interrupted: what is under way is ended first; a second interrupt ends it at once';

/** A store that served in between has rows that were passed already. */
function stoppedAt({ tables, of, isCopied }: MoveOutcome): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const last = tables.at(-1);
  const inTable = last === undefined ? '' : `, the last in ${last.name}`;
  const far = isCopied
    ? `all ${rows} rows are copied, and not all of them are read back`
    : `${rows} rows of ${tables.length} of ${of} tables are copied${inTable}`;
  return `stopped: ${far}; the same command goes on from there, or begins anew where the old store is served in between`;
}
