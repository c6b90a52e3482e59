/**
 * Loads what had a resource read: hints, lines of replays, the runs of the sync, and what another of its addresses passed
 * on. Rows only, each found by an index.
 */
import { askedForBy } from '../asked-for';
import type { ReadToTell } from '../covered';
import type { ReplayToTell } from '../event-steps';
import type { Asked, HintToTell, PassedOn } from '../journey';
import { rowsMax } from '../left-out';
import { causeOf } from '../read-fence';
import { organizationsOf, type RunToTell } from '../runs';
import type { Context } from './context';

const statements = askedForBy((nth) => `?${nth}`);

/** Rows as the statement's columns make them. */
export function rows<Wanted>(
  { database }: Context,
  sql: string,
  ...values: (string | number | null)[]
): Wanted[] {
  return database.all(sql, ...values) as unknown as Wanted[];
}

/**
 * What had it read: the hints that no earlier read covers, what replays asked for since the read before, and what was passed
 * on to it; with that, only the hints that no read before it covers.
 */
export function askedFor(context: Context, read: ReadToTell): Asked {
  const { task_id: task, fence, generation, at } = read;
  const passed = passedOnTo(context, read);
  const hints = rows<HintToTell>(
    context,
    statements.hints,
    task,
    fence,
    generation,
    rowsMax,
    passed?.read.at ?? null,
  );
  const readAgain = rows<ReplayToTell>(context, statements.readAgain, task, fence, at, rowsMax);
  const organizations = organizationsOf(rows(context, statements.keys, task, causeOf(task, fence)));
  return {
    hints: hints.reverse(),
    readAgain: readAgain.reverse(),
    organizations,
    runs: runs(context, organizations),
    passedOn: passed,
  };
}

/** The last since a read of it that covers less. */
function passedOnTo(context: Context, { task_id: task, fence, generation, at }: ReadToTell): PassedOn | null {
  const [read] = rows<ReadToTell>(context, statements.passedOn, task, fence, generation, at);
  return read === undefined ? null : { read, asked: askedFor(context, read) };
}

/** All that are kept and could list what is theirs, which are few. */
export function runs(context: Context, organizations: string[]): RunToTell[] {
  return rows<RunToTell>(
    context,
    `SELECT id, began_at, organization_id FROM sync_runs
     WHERE organization_id IS NULL OR organization_id IN (SELECT value FROM json_each(?)) ORDER BY id`,
    JSON.stringify(organizations),
  );
}
