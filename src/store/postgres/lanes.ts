/**
 * What a transaction does to lanes: gathered while its verbs run, written at its end, in order of their names. A lane says
 * from when on something in it may be due: a lower bound. Whoever adds work shares the lane's row until its commit (KEY
 * SHARE), and only who can take the row for itself raises the bound (FOR UPDATE), so that no work is ever overlooked.
 */
import type { Statements } from './server/database';

/** A drain that got this far goes on at full speed. */
const widthMax = 64;

interface Change {
  dueAtMs: number | null;
  succeeded: number;
  narrowed: boolean;
  /** undefined: stays as it is; null: blocked. */
  openAtMs: number | null | undefined;
}

interface LaneRow {
  id: string;
  next_due_at: number | null;
  width: number | null;
  succeeded: number;
}

/**
 * Of a lane `l`, beside `taken` of what is in flight in each: is as much in flight as its width lets through? Looked up from what is in
 * flight, so that no lane is compared with all that are.
 */
export const isFull = `(l.id IN (SELECT f.taken_lane FROM taken f CROSS JOIN LATERAL (
  SELECT width FROM lanes WHERE id = f.taken_lane OFFSET 0) w WHERE f.in_flight >= w.width)) IS TRUE`;

export class LaneChanges {
  readonly #changes = new Map<string, Change>();
  /** Changes only become more: as many as there are is all of them. */
  #looked = { count: 0, rows: new Map<string, LaneRow>() };

  /** Something in the lane falls due at `dueMs`. */
  expect(id: string, dueMs: number): void {
    const change = this.#of(id);
    change.dueAtMs = Math.min(change.dueAtMs ?? dueMs, dueMs);
  }

  /** A read of the lane succeeded: after as many as its width lets through, it doubles. */
  widen(id: string): void {
    this.#of(id).succeeded += 1;
  }

  /** After a block: one task at first, then two, then four. */
  narrow(id: string): void {
    this.#of(id).narrowed = true;
  }

  /** From when on its work may be taken; null while its organization is blocked. */
  open(id: string, openAtMs: number | null): void {
    this.#of(id).openAtMs = openAtMs;
  }

  #of(id: string): Change {
    let change = this.#changes.get(id);
    if (change === undefined) {
      change = { dueAtMs: null, succeeded: 0, narrowed: false, openAtMs: undefined };
      this.#changes.set(id, change);
    }
    return change;
  }

  /** Shares the rows of what changed so far, where `write` will decide by them: it then has them. */
  async look(database: Statements): Promise<void> {
    if (this.#isExpectedOnly()) return;
    const ids = [...this.#changes.keys()];
    const shared = await database.all(
      'SELECT id, next_due_at, width, succeeded FROM lanes WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE',
      ids,
    );
    const rows = new Map((shared as LaneRow[]).map((row) => [row.id, row]));
    this.#looked = { count: ids.length, rows };
  }

  /** To be called once, when nothing else follows but the commit. What is only expected needs no answer, and leaves with it. */
  async write(database: Statements): Promise<void> {
    if (!this.#isExpectedOnly()) await this.#decide(database);
    else if (this.#changes.size > 0) expectLanes(database, this.#changes);
  }

  #isExpectedOnly(): boolean {
    return [...this.#changes.values()].every(
      ({ succeeded, narrowed, openAtMs }) => succeeded === 0 && !narrowed && openAtMs === undefined,
    );
  }

  /** By the rows as they are: a block narrows a lane, and reads that succeed widen it again. */
  async #decide(database: Statements): Promise<void> {
    if (this.#looked.count < this.#changes.size) await this.look(database);
    const { rows } = this.#looked;
    const missing = [...this.#changes.keys()].filter((id) => !rows.has(id));
    if (missing.length > 0) await addLanes(database, missing);
    const changing = [...this.#changes].filter(([id, change]) => mustWrite(rows.get(id), change));
    if (changing.length > 0) await this.#update(database, new Map(changing));
  }

  async #update(database: Statements, changing: Map<string, Change>): Promise<void> {
    const locked = (await database.all(
      `SELECT id, next_due_at, width, succeeded FROM lanes WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
      [...changing.keys()],
    )) as LaneRow[];
    const next = locked.map((row) => applied(row, changing.get(row.id)!));
    await database.run(
      `UPDATE lanes l SET
         turn = CASE WHEN l.next_due_at IS NULL AND n.next_due_at IS NOT NULL
           THEN greatest(l.turn, (SELECT value FROM meta WHERE name = 'turn')) ELSE l.turn END,
         next_due_at = n.next_due_at, width = n.width, succeeded = n.succeeded,
         open_at = CASE WHEN n.opens THEN n.open_at ELSE l.open_at END
       FROM unnest($1::text[], $2::bigint[], $3::int[], $4::int[], $5::bool[], $6::bigint[])
         AS n (id, next_due_at, width, succeeded, opens, open_at)
       WHERE l.id = n.id AND l.id = ANY($1::text[])`,
      next.map(({ id }) => id),
      next.map(({ next_due_at }) => next_due_at),
      next.map(({ width }) => width),
      next.map(({ succeeded }) => succeeded),
      next.map(({ id }) => changing.get(id)!.openAtMs !== undefined),
      next.map(({ id }) => changing.get(id)!.openAtMs ?? null),
    );
  }
}

/** Those that fall due earlier now (`hint-functions.ts`). */
function expectLanes(database: Statements, changes: Map<string, Change>): void {
  database.last(
    'SELECT expect_lanes_1($1, $2)',
    [...changes.keys()],
    [...changes.values()].map(({ dueAtMs }) => dueAtMs!),
  );
}

/** Adds lanes met for the first time, open. */
export async function addLanes(database: Statements, ids: string[]): Promise<void> {
  await database.run(
    `INSERT INTO lanes (id) SELECT id FROM unnest($1::text[]) AS n (id) ORDER BY id COLLATE "C"
     ON CONFLICT (id) DO NOTHING`,
    ids,
  );
}

function mustWrite(row: LaneRow | undefined, change: Change): boolean {
  if (row === undefined || change.narrowed || change.openAtMs !== undefined) return true;
  if (change.succeeded > 0 && row.width !== null) return true;
  return change.dueAtMs !== null && (row.next_due_at === null || row.next_due_at > change.dueAtMs);
}

/** The lane after the change; a block's end narrows it before anything else counts. */
function applied(row: LaneRow, change: Change): LaneRow {
  let { width, succeeded } = row;
  if (change.narrowed) [width, succeeded] = [1, 0];
  for (let count = 0; count < change.succeeded && width !== null; count += 1) {
    succeeded += 1;
    if (succeeded < width) continue;
    succeeded = 0;
    width = width >= widthMax ? null : width * 2;
  }
  const due = change.dueAtMs;
  const nextDueAt = due === null ? row.next_due_at : Math.min(row.next_due_at ?? due, due);
  return { id: row.id, next_due_at: nextDueAt, width, succeeded };
}
