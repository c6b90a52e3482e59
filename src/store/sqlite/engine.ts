/**
 * The embedded store as synchronous verbs, executed in groups: all calls of a group share one transaction and at most one
 * flush to disk. A group that fails is repeated one by one, so that only the call at fault fails, but where the store is
 * away: a full disk can be read.
 */
import type { QuarantineReason } from '../../model/notification';
import { Problem } from '../../model/problem';
import type { Seen } from '../set-back';
import type { Context, StoreSettings } from './context';
import { type Database, mayBeRead, openDatabase, problemOf } from './database';
import { Lanes } from './lanes';
import { OrganizationCache } from './organization-cache';
import { makeTransaction } from './transaction';
import { mayWait, type VerbName, verbs } from './verbs';

export interface Call {
  verb: VerbName;
  args: unknown[];
}

/** `setAside`: why the call set things aside, where it did. */
export type CallResult = { value: unknown; setAside?: QuarantineReason[] } | { problem: Problem };

export interface Engine {
  /**
   * Executes the calls in order; each gets its result. What may wait stays in an open transaction until a call that
   * is not, or `commit`; nothing does after a commit that failed, until one succeeds. Never throws.
   */
  execute(calls: Call[]): CallResult[];
  /** Commits what is open; true when nothing was or it is on disk now. Never throws. */
  commit(): boolean;
  /** Of all fences and revisions that were given. */
  highest(): number;
  /** Moves the write-ahead log into the file when it is long, and all of it with `whole`. Never throws. */
  checkpoint(whole?: boolean): void;
  close(): void;
}

/**
 * Throws `store.locked`, `store.moved`, `store.unavailable`. `nowMs` is the store's clock; `highest` is what the engine
 * before it in this process said; null when there was none.
 */
export function openEngine(
  settings: StoreSettings,
  nowMs: () => number,
  highest: number | null = null,
): Engine {
  const database = openDatabase(settings.file);
  refuseMoved(database, settings.file);
  const transaction = makeTransaction(database, highest);
  const { counters, undo } = transaction;
  const seen: Seen = { furthestMs: 0 };
  const context: Context = {
    database,
    settings,
    nowMs() {
      const now = nowMs();
      if (now > seen.furthestMs) seen.furthestMs = now;
      return now;
    },
    seen,
    lanes: new Lanes(undo, (id, width) => keepWidth(database, id, width)),
    organizations: new OrganizationCache(database, undo),
    leases: new Map(),
    conditions: new Map(),
    swept: { position: 0, delivery: 0, readOfTask: 0, readWithFence: 0, aside: 0 },
    ledger: { untilMs: 0, waitingSinceMs: null },
    setAside: [],
    logStuck: null,
    undo,
    nextRevision: () => ++counters.revision,
    nextFence(last) {
      counters.revision = Math.max(counters.revision, last) + 1;
      return counters.revision;
    },
    currentRevision: () => counters.revision,
    soundRevision: (noted) => noted >= counters.soundFrom,
    nextPosition: () => ++counters.position,
  };
  transaction.within(() => load(context));
  transaction.commit(false);

  /** A commit failed, and none that wrote has succeeded since: nothing is answered before it is on disk. */
  let failing = false;
  const commit = (answered: boolean) => {
    try {
      if (transaction.commit(answered)) failing = false;
    } catch (error) {
      failing = true;
      throw error;
    }
  };
  const execute = (calls: Call[]): CallResult[] => {
    try {
      const results = transaction.within(() => calls.map((call) => executeOne(context, call)));
      if (failing || calls.some(({ verb, args }) => !mayWait(verb, args))) commit(false);
      return results;
    } catch (error) {
      const problem = problemOf(error);
      const isAway = problem.code === 'store.unavailable' && !mayBeRead(error);
      if (isAway || calls.length === 1) return calls.map(() => ({ problem }));
      return calls.flatMap((call) => execute([call]));
    }
  };
  return {
    execute,
    commit() {
      try {
        commit(true);
        return true;
      } catch {
        return false;
      }
    },
    highest: () => counters.revision,
    checkpoint(whole = false) {
      if (transaction.isOpen()) return;
      try {
        if (database.checkpoint(whole)) context.logStuck = null;
      } catch (error) {
        // The log grows until it can be moved. Whether the store can still be written, each call finds out for itself.
        const sinceMs = context.logStuck?.sinceMs ?? context.nowMs();
        context.logStuck = { sinceMs, detail: problemOf(error).message };
      }
    },
    close() {
      this.commit();
      database.close();
    },
  };
}

function executeOne(context: Context, { verb, args }: Call): CallResult {
  context.setAside = [];
  const value = verbOf(verb)(context, ...args);
  return context.setAside.length === 0 ? { value } : { value, setAside: context.setAside };
}

function verbOf(verb: VerbName): (context: Context, ...args: unknown[]) => unknown {
  return verbs[verb] as (context: Context, ...args: unknown[]) => unknown;
}

/** What was moved lives on elsewhere. A move that was begun and left is not gone on with once this one is served again. */
function refuseMoved(database: Database, file: string): void {
  if (database.get(`SELECT value FROM meta WHERE name = 'moved'`) === undefined) {
    database.run(`DELETE FROM meta WHERE name = 'moving'`);
    return;
  }
  database.close();
  throw new Problem('store.moved', `${file} was moved to another store: name that one in DATABASE_URL`);
}

/**
 * What a former process had taken is due again, as is what an older version left to this one, and its named leases are
 * free: the file's lock says that it is dead. Since
 * when each is free stays known: of those that it held to its end, since it was found dead. Lanes are built from what
 * waits, as wide as they were.
 */
function load(context: Context): void {
  const { database } = context;
  context.organizations.load();
  database.run(
    `UPDATE tasks SET state = 'due', due_at = ?1, code = iif(state = 'taken', code, NULL)
     WHERE state = 'taken' OR (state = 'due' AND code = 'older-normalizer' AND normalizer_version <= ?2)`,
    context.nowMs(),
    context.settings.normalizerVersion,
  );
  database.run('UPDATE leases SET until = ?1 WHERE until > ?1', context.nowMs());
  const lanes = database.all(
    'SELECT lane, min(due_at) AS due_at FROM tasks WHERE due_at IS NOT NULL GROUP BY lane',
  );
  for (const { lane, due_at } of lanes) context.lanes.expect(String(lane), Number(due_at));
  for (const { id, width } of database.all('SELECT id, width FROM lanes')) {
    context.lanes.restore(String(id), Number(width));
  }
}

/** Eight times after a block, and not for each read between. */
function keepWidth(database: Database, id: string, width: number | null): void {
  if (width === null) database.run('DELETE FROM lanes WHERE id = ?', id);
  else {
    database.run(
      'INSERT INTO lanes (id, width) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET width = excluded.width',
      id,
      width,
    );
  }
}
