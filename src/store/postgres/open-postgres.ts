/**
 * Opens the scaled store and joins verbs and transactions. No process owns it: several receivers and workers have the
 * same rows, and what a dead one held runs out by the store's clock.
 */
import type { QuarantineReason } from '../../model/notification';
import { Problem } from '../../model/problem';
import type { News, Store } from '../../model/store';
import type { SetAside } from '../quarantine-entry';
import type { Seen } from '../set-back';
import type { Context, InTransaction, PostgresSettings } from './context';
import { LaneChanges } from './lanes';
import { forgetFormer, nothingLooked } from './look-from';
import { migrate } from './migrate';
import { notedEveryMs, noteNoRoom, noteRoom, saysNoRoom } from './ready';
import { finishNamed, rememberNames } from './remember-names';
import { makeBell } from './server/bell';
import {
  type Database,
  halfMoved,
  openDatabase,
  poolConfig,
  type TransactionOptions,
} from './server/database';
import { makeGroups } from './server/groups';
import { groups, longVerbs, transactionOptions, verbs } from './verbs';

type Verb = (...args: unknown[]) => Promise<unknown>;

/**
 * Throws `store.unavailable` when the server cannot be reached, `store.newer` when its schema is of a newer version,
 * `store.moved` when a move into it is not complete. When one begins later, every verb throws `store.unavailable` until it is.
 * `nowMs` replaces the database's clock, for tests; `tellWaits` hears whom it waits for before it can open.
 */
export async function openPostgres(
  settings: PostgresSettings,
  nowMs: (() => number) | null = null,
  tellSetAside: SetAside = () => {},
  tellWaits: (detail: string) => void = () => {},
): Promise<Store> {
  const schema = await migrate(poolConfig(settings), { tell: tellWaits });
  const database = openDatabase(settings, nowMs, schema);
  await refuseHalfMoved(database);
  const bell = makeBell(settings);
  const seen: Seen = { furthestMs: 0 };
  const looked = nothingLooked();
  let closed = false;
  const isClosing = () => closed;
  const inTransaction = async <Result>(
    work: (context: Context) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> => {
    let news = new Set<News>();
    let setAside: QuarantineReason[] = [];
    let committed: (() => void)[] = [];
    const result = await database.transact(
      async (statements, beganMs) => {
        const lanes = new LaneChanges();
        // A second attempt begins anew.
        news = new Set();
        setAside = [];
        committed = [];
        forgetFormer(looked, database.connected());
        const toldMs = nowMs?.() ?? null;
        const told = { settings, seen, looked, lanes, news, committed, setAside, isClosing };
        const done = await work({ ...told, database: statements, nowMs: beganMs, toldMs });
        await lanes.write(statements);
        // Where the beginning was refused, nobody knows when it was.
        if (beganMs() > seen.furthestMs) seen.furthestMs = beganMs();
        return done;
      },
      { ...options, served: true },
    );
    for (const done of committed) done();
    bell.ring(news);
    setAside.forEach(tellSetAside);
    return result;
  };
  const doors = makeDoors(inTransaction, database.connected);
  const underWay = new Set<Promise<unknown>>();
  let notedMs = Number.NEGATIVE_INFINITY;

  /** What a delivery met is what readiness must know, of every process. */
  async function noteFull(error: unknown): Promise<void> {
    if (!saysNoRoom(error) || performance.now() - notedMs < notedEveryMs) return;
    notedMs = performance.now();
    await inTransaction(noteNoRoom).catch(() => {});
  }

  async function noteTaken(): Promise<void> {
    if (notedMs === Number.NEGATIVE_INFINITY) return;
    notedMs = Number.NEGATIVE_INFINITY;
    await inTransaction(noteRoom).catch(() => {});
  }

  function call(name: string, door: Verb, args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(new Problem('store.closed', 'the store is closed'));
    const answer = door(...args);
    const noted = name === 'put' ? answer.then(noteTaken, noteFull) : answer.catch(() => {});
    const ended = noted.then(() => void underWay.delete(ended));
    underWay.add(ended);
    return answer;
  }

  async function close(): Promise<void> {
    closed = true;
    await Promise.all(underWay);
    await bell.close();
    await database.close();
  }

  const bound = Object.fromEntries(
    [...doors].map(([name, door]) => [name, (...args: unknown[]) => call(name, door, args)]),
  );
  return { ...bound, heed: bell.heed, close } as unknown as Store;
}

/**
 * A store that is being moved into is not served before all of it is there. Who had it open when the move began is refused by
 * each transaction. Throws `store.moved`; the database is closed then.
 */
async function refuseHalfMoved(database: Database): Promise<void> {
  const moving = await database.transact((statements) =>
    statements.get(`SELECT value FROM meta WHERE name = 'moving'`),
  );
  if (moving === undefined) return;
  await database.close();
  throw new Problem('store.moved', halfMoved);
}

function makeDoors(
  inTransaction: <Result>(
    work: (context: Context) => Promise<Result>,
    options?: TransactionOptions,
  ) => Promise<Result>,
  connected: () => number,
): Map<string, Verb> {
  const doors = new Map<string, Verb>();
  const optionsOf = (name: string) => transactionOptions[name as keyof typeof transactionOptions];
  for (const [name, verb] of Object.entries(verbs)) {
    const act = verb as (context: Context, ...args: unknown[]) => Promise<unknown>;
    doors.set(name, (...args) => inTransaction((context) => act(context, ...args), optionsOf(name)));
  }
  for (const [name, verb] of Object.entries(longVerbs)) {
    const act = verb as (run: InTransaction, ...args: unknown[]) => Promise<unknown>;
    doors.set(name, (...args) => act((work) => inTransaction(work, optionsOf(name)), ...args));
  }
  for (const { verbs: names, sizes, execute, isSingle } of groups) {
    const join = makeGroups<{ verb: (typeof names)[number]; args: unknown[] }, unknown>((calls) => {
      const options = isSingle?.(calls) ? { single: true } : { ahead: true };
      return inTransaction((context) => execute(context, calls), options);
    }, sizes);
    for (const verb of names) doors.set(verb, (...args) => join({ verb, args }));
  }
  const name = rememberNames(doors.get('nameEquipment') as Store['nameEquipment'], connected);
  doors.set('nameEquipment', name as Verb);
  doors.set('finish', finishNamed(name, doors.get('finish') as Store['finish']) as Verb);
  return doors;
}
