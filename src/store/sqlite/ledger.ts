/**
 * What became of each notification, derived from the journal: a hint's line is that of the read which covers its
 * generation; of several hints that one read covers the last is told by it and the others are merged into it. What was
 * decided is published only when it is sent.
 */
import type { Ledger, LedgerLine } from '../../model/ledger';
import { tellingFirst } from '../covered';
import { publishedLineBy, waitingLine } from '../ledger-lines';
import type { Context } from './context';
import type { Database } from './database';
import { readTaskOf } from './read-task';

const rowsMax = 10_000;
const deliveriesMax = 20_000;
/** So long after a page the next is waited for: one comes within milliseconds, but after a client that went away. */
const nextPageMs = 10_000;
/** Retention waits so long for one ledger after another, and then goes on for so long whatever is told. */
const waitMsMax = 600_000;
const goesOnMs = 60_000;

export interface LedgerPage {
  lines: Partial<Record<LedgerLine, number>>;
  /** Of them, those whose deliveries the journal no longer holds. */
  folded: number;
  /** No task up to this one is of a later page; null when there are no more. */
  after: number | null;
}

/**
 * The lines of the hints of up to `limit` tasks above `after`, of deliveries up to `untilDelivery`: what came while the
 * pages are told is of none of them. Folded ones are of tasks that still wait. One walk through hints and reads by their
 * generations: a look for each hint would take as long as both counts multiplied, and everything waits behind it. So a page
 * looks at 10,000 hints and 10,000 reads at most, unless its first task alone has more.
 */
export function ledgerPage(
  context: Context,
  after: number,
  limit: number,
  untilDelivery: number,
): LedgerPage {
  const { database } = context;
  const until = endOfPage(database, after, limit);
  context.ledger.untilMs = until === null ? 0 : context.nowMs() + nextPageMs;
  if (until === null) return { lines: {}, folded: 0, after: null };
  const rows = database.all(
    `WITH ranked AS (
       SELECT task_id, generation, outcome, event_id, at, swept, row_number() OVER (
         PARTITION BY task_id, generation ORDER BY ${tellingFirst}) AS place
       FROM reads WHERE task_id > ?1 AND task_id <= ?2),
     decided AS MATERIALIZED (SELECT task_id, generation, outcome, event_id, at, swept FROM ranked WHERE place = 1),
     marked AS (
       SELECT task_id, generation, 1 AS hinted FROM hints
       WHERE task_id > ?1 AND task_id <= ?2 AND delivery_id <= ?3
       UNION ALL SELECT task_id, generation, 0 FROM decided),
     covered AS (
       SELECT task_id, generation, hinted, min(generation) FILTER (WHERE NOT hinted)
         OVER (PARTITION BY task_id ORDER BY generation DESC, hinted) AS by FROM marked)
     SELECT line, count(*) AS count FROM (
       SELECT CASE
         WHEN c.by IS NULL THEN ${waitingLine}
         WHEN c.generation < c.by AND d.outcome <> 'discarded' THEN 'merged'
         WHEN d.outcome = 'published' THEN ${publishedLineBy(readTaskOf('e'))}
         ELSE d.outcome END AS line
       FROM covered c JOIN tasks t ON t.id = c.task_id LEFT JOIN organizations o ON o.id = t.lane
       LEFT JOIN decided d ON d.task_id = c.task_id AND d.generation = c.by
       LEFT JOIN outbox e ON e.event_id = d.event_id WHERE c.hinted)
     GROUP BY line`,
    after,
    until,
    untilDelivery,
  );
  const folded = database.all(
    `SELECT ${waitingLine} AS line, sum(t.folded) AS count FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
     WHERE t.id > ? AND t.id <= ? AND t.folded > 0 GROUP BY line`,
    after,
    until,
  );
  const lines: LedgerPage['lines'] = {};
  for (const row of [...rows, ...folded]) {
    if (row.line === null) continue;
    const line = row.line as LedgerLine;
    lines[line] = (lines[line] ?? 0) + Number(row.count);
  }
  return { lines, folded: folded.reduce((sum, row) => sum + Number(row.count), 0), after: until };
}

/** Tasks are told whole: their hints and reads are counted as far as the page goes, and the one that is too much is left. */
function endOfPage(database: Database, after: number, limit: number): number | null {
  const { first, last } = database.get(
    `SELECT min(id) AS first, max(id) AS last FROM (SELECT id FROM tasks WHERE id > ? ORDER BY id LIMIT ?)`,
    after,
    limit,
  )!;
  if (first === null) return null;
  const ends = ['hints', 'reads'].flatMap((table) => {
    const sql = `SELECT task_id FROM ${table} WHERE task_id > ? AND task_id <= ? ORDER BY task_id LIMIT 1 OFFSET ?`;
    const tooMuch = database.get(sql, after, Number(last), rowsMax);
    return tooMuch === undefined ? [] : [Number(tooMuch.task_id) - 1];
  });
  return Math.max(Number(first), Math.min(Number(last), ...ends));
}

export interface LedgerOfDeliveries {
  lines: Pick<Ledger, 'accepted' | 'acted' | 'ignored' | 'quarantined' | 'discarded'>;
  /** The last delivery that is counted, on whichever page. */
  untilDelivery: number;
  /** The last delivery of the page; null when there are no more. */
  after: number | null;
}

/**
 * The lines of notifications that are no hints, of at most 20,000 deliveries above `after`. The first page says up to which
 * delivery all are counted: what comes meanwhile is on none. What was discarded is counted with its delivery, so that an
 * order or retention between two pages takes it from both or from neither.
 */
export function ledgerOfDeliveries(
  context: Context,
  after: number,
  untilDelivery: number | null,
): LedgerOfDeliveries {
  const { database } = context;
  context.ledger.untilMs = context.nowMs() + nextPageMs;
  const until = untilDelivery ?? Number(database.get('SELECT max(id) AS last FROM deliveries')!.last ?? 0);
  const sums = database.get(
    `SELECT count(*) AS rows, max(id) AS last, sum(notifications) AS accepted, sum(acted) AS acted,
       sum(ignored) AS ignored, sum(quarantined) AS quarantined
     FROM (SELECT id, notifications, acted, ignored, quarantined FROM deliveries
       WHERE id > ? AND id <= ? ORDER BY id LIMIT ?)`,
    after,
    until,
    deliveriesMax,
  )!;
  const last = Number(sums.last ?? until);
  const ended = database.get(
    `SELECT count(*) AS discarded FROM quarantine
     WHERE what = 'notification' AND state = 'discarded' AND delivery_id > ? AND delivery_id <= ?`,
    after,
    last,
  )!;
  const discarded = Number(ended.discarded);
  const lines = {
    accepted: Number(sums.accepted),
    acted: Number(sums.acted),
    ignored: Number(sums.ignored),
    quarantined: Number(sums.quarantined) - discarded,
    discarded,
  };
  return { lines, untilDelivery: until, after: last < until && sums.rows === deliveriesMax ? last : null };
}

/**
 * Whether retention of deliveries is to wait, asked by each of its steps. One between two pages takes a delivery that was
 * counted from a page to come, and the ledger would tell a loss that there was not. It waits ten minutes at
 * most for one ledger after another.
 */
export function waitsForLedger({ ledger, nowMs }: Context): boolean {
  const now = nowMs();
  // A clock that was set back ends the wait.
  const isTold = ledger.untilMs > now && ledger.untilMs <= now + nextPageMs;
  if (!isTold) ledger.waitingSinceMs = null;
  else if (ledger.waitingSinceMs === null || ledger.waitingSinceMs > now) ledger.waitingSinceMs = now;
  return ledger.waitingSinceMs !== null && (now - ledger.waitingSinceMs) % (waitMsMax + goesOnMs) < waitMsMax;
}
