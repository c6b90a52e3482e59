/**
 * The one transaction that may be open, with what is kept in memory beside it: work goes in group by group, a group that
 * fails is taken back to where it began, tables and memory alike, and what is committed is on disk. Which work may wait
 * for a commit is not decided here.
 */
import type { Database } from './database';

export interface Counters {
  /** Of fences and revisions. Whoever was given one may still be there when it is taken back: it never goes back itself. */
  revision: number;
  position: number;
  /** Whoever noted a lower revision may lean on what was answered then, and lost since. */
  soundFrom: number;
}

export type Undo = (answered: boolean) => void;

export interface Transaction {
  /** What the next group counts on; saved with it. */
  counters: Counters;
  /** Registers how to take back a change in memory, told whether the call that made it had been answered. */
  undo(action: Undo): void;
  isOpen(): boolean;
  /** Does the work inside what is open, or what it opens. Throws as the work does, which then has not been. */
  within<Result>(work: () => Result): Result;
  /**
   * Commits what is open, of which the last work may be `answered` already. When it throws, none of that has been. True
   * when something was written: what only read says nothing of the disk.
   */
  commit(answered: boolean): boolean;
}

/** Where a group began inside a transaction that was open. */
interface Mark {
  undone: number;
  position: number;
}

/** `highest`: so far the revision has risen in this process, whatever of that is in the database; null: it begins here. */
export function makeTransaction(database: Database, highest: number | null): Transaction {
  const undone: Undo[] = [];
  /** So many of them are of calls that have been answered. */
  let answeredTo = 0;
  const counters: Counters = { ...countersOf(database), soundFrom: 0 };
  if (highest !== null) lose(highest);
  let saved = { ...counters };
  let open = false;
  let changesBefore = 0;

  function lose(noted: number): void {
    counters.revision = Math.max(counters.revision, noted) + 1;
    counters.soundFrom = counters.revision;
  }

  function commit(): boolean {
    const written = database.changes() > changesBefore;
    if (written) save();
    database.commit();
    if (written) saved = { ...counters };
    undone.length = 0;
    answeredTo = 0;
    open = false;
    return written;
  }

  function save(): void {
    database.mustStand();
    for (const name of ['revision', 'position'] as const)
      if (counters[name] !== saved[name])
        database.run('UPDATE meta SET value = ? WHERE name = ?', counters[name], name);
  }

  function begin(): void {
    database.begin();
    changesBefore = database.changes();
  }

  /**
   * Takes back what was done since the mark; all that is open where there is none, or the database lost it: then what was
   * `answered` is lost.
   */
  function rollback(mark: Mark | null, answered: boolean): void {
    let kept = mark;
    try {
      if (kept !== null) database.rollbackTo();
    } catch {
      kept = null;
    }
    try {
      if (kept === null) database.rollback();
    } catch {
      // It is rolled back before the next one begins, or by the next process.
    }
    const from = kept?.undone ?? 0;
    for (let index = undone.length - 1; index >= from; index -= 1) undone[index]!(index < answeredTo);
    undone.length = from;
    answeredTo = Math.min(answeredTo, from);
    counters.position = (kept ?? saved).position;
    if (answered && kept === null) lose(counters.revision);
    open = kept !== null;
  }

  return {
    counters,
    undo: (action) => void undone.push(action),
    isOpen: () => open,
    within(work) {
      const mark = open ? { undone: undone.length, position: counters.position } : null;
      answeredTo = undone.length;
      try {
        if (mark !== null) database.savepoint();
        else begin();
        open = true;
        return work();
      } catch (error) {
        rollback(mark, mark !== null);
        throw error;
      }
    },
    commit(answered) {
      if (!open) return false;
      if (answered) answeredTo = undone.length;
      try {
        return commit();
      } catch (error) {
        rollback(null, true);
        throw error;
      }
    },
  };
}

function countersOf(database: Database): Pick<Counters, 'revision' | 'position'> {
  const numberOf = (name: string) =>
    Number(database.get('SELECT value FROM meta WHERE name = ?', name)!.value);
  return { revision: numberOf('revision'), position: numberOf('position') };
}
