/**
 * The embedded store as synchronous verbs, executed in groups: all calls of a group share one transaction and at most one
 * flush to disk. A group that fails for another reason than availability is repeated one by one, so that only the call
 * at fault fails.
 */
import type { QuarantineReason } from '../../model/notification';
import { Problem } from '../../model/problem';
import type { Store } from '../../model/store';
import { shareConditions } from './conditions';
import {
  acceptConnection,
  connectionsMark,
  findConnection,
  importConnections,
  keepSights,
  learn,
  listConnections,
  refuseConnection,
  replaceTokens,
  revokeConnection,
  saveConnection,
} from './connections';
import { findConsent, saveConsent, takeConsent } from './consents';
import type { Context, StoreSettings } from './context';
import { type Database, openDatabase, problemOf } from './database';
import { finishGone, foundAbsent, giveBack, postpone, quarantineTask } from './endings';
import { equipmentRecords, nameEquipment } from './equipment-names';
import { explain } from './explain';
import { finish } from './finish';
import { forgetOrganization } from './forget';
import { hasten, put, take } from './inbox';
import {
  accessHistory,
  alertInputs,
  alertMark,
  counts,
  findOrganization,
  listAlerts,
  listOrganizations,
  listTasks,
  organizationAccess,
  saveAlerts,
  storeBytes,
} from './inspect';
import { Lanes } from './lanes';
import { freeLease } from './leases';
import { ledgerOfDeliveries, ledgerPage } from './ledger';
import { nextDueInMs } from './next-due';
import { observe } from './observe';
import { OrganizationCache } from './organization-cache';
import {
  holdLease,
  leads,
  leaseFreeMs,
  listEvents,
  markSent,
  pickUnsent,
  quarantineRecord,
  resendLogged,
  unsentCount,
} from './outbox';
import { pauseReading, readingPause } from './pauses';
import { payProbeCall, postponeProbe, probing, requestProbe, takeProbes } from './probes';
import { keepSample, listQuarantine, showQuarantine } from './quarantine';
import { discardQuarantine, rejudge, releaseQuarantine } from './release';
import * as replays from './replays';
import { sweep } from './sweep';
import * as syncs from './syncs';
import { allFound, behindSince, noteFound, readingOn, topicEnds } from './topic-ends';
import { makeTransaction } from './transaction';
import * as secrets from './webhook-secrets';

type Bound<Verb> = Verb extends (context: Context, ...rest: infer Rest) => infer Result
  ? (...rest: Rest) => Result
  : never;

/** Every verb takes the context first; what it returns is what the store's promise resolves to. */
export const verbs = {
  put,
  take,
  finish,
  finishGone,
  foundAbsent,
  postpone,
  giveBack,
  quarantineTask,
  releaseLeases,
  hasten,
  nextDueInMs,
  keepSample,
  holdLease,
  leads,
  pickUnsent,
  markSent,
  quarantineRecord,
  resendLogged,
  unsentCount,
  learn,
  access: organizationAccess,
  epochs,
  observe,
  takeProbes,
  payProbeCall,
  postponeProbe,
  requestProbe,
  probing,
  pauseReading,
  readingPause,
  listOrganizations,
  findOrganization,
  accessHistory,
  forgetOrganization,
  importConnections,
  listConnections,
  refuseConnection,
  acceptConnection,
  findConnection,
  saveConnection,
  replaceTokens,
  revokeConnection,
  connectionsMark,
  keepSights,
  saveConsent,
  takeConsent,
  findConsent,
  listWebhookSecrets: secrets.listWebhookSecrets,
  saveWebhookSecret: secrets.saveWebhookSecret,
  resealWebhookSecret: secrets.resealWebhookSecret,
  dropWebhookSecret: secrets.dropWebhookSecret,
  noteHeartbeat: secrets.noteHeartbeat,
  noteListening: secrets.noteListening,
  countLooks: secrets.countLooks,
  alertInputs,
  alertMark,
  listAlerts,
  saveAlerts,
  shareConditions,
  listTasks,
  listQuarantine,
  showQuarantine,
  releaseQuarantine,
  rejudge,
  discardQuarantine,
  listEvents,
  explain,
  ledgerPage,
  ledgerOfDeliveries,
  counts,
  leaseFreeMs,
  sweep,
  storeBytes,
  ready,
  nameEquipment,
  equipmentRecords,
  beginRun: syncs.beginRun,
  endRun: syncs.endRun,
  lastRun: syncs.lastRun,
  openListings: syncs.openListings,
  compareListed: syncs.compareListed,
  finishPage: syncs.finishPage,
  hintAbsent: syncs.hintAbsent,
  countCalls: syncs.countCalls,
  beginReplay: replays.beginReplay,
  selectReplay: replays.selectReplay,
  resendNewest: replays.resendNewest,
  readAgain: replays.readAgain,
  readHistory: replays.readHistory,
  noteHistory: replays.noteHistory,
  replayPending: replays.replayPending,
  endReplay: replays.endReplay,
  topicEnds,
  noteFound,
  allFound,
  readingOn,
  behindSince,
};

export type Verbs = { [Name in keyof typeof verbs]: Bound<(typeof verbs)[Name]> };
export type VerbName = keyof Verbs;

export interface Call {
  verb: VerbName;
  args: unknown[];
}

/**
 * What the store may forget when the process dies: takes, endings that nobody has seen yet, and what was acknowledged for
 * rows that are then sent again as they are. WHY.md says why that breaks no promise.
 */
const repeatable: ReadonlySet<VerbName> = new Set<VerbName>([
  'take',
  'nextDueInMs',
  'releaseLeases',
  'finish',
  'finishGone',
  'foundAbsent',
  'postpone',
  'giveBack',
  'nameEquipment',
  'equipmentRecords',
  'openListings',
  'compareListed',
  'finishPage',
  'hintAbsent',
  'shareConditions',
  'storeBytes',
  'leads',
  'markSent',
]);

/** `setAside`: why the call set things aside, where it did. */
export type CallResult = { value: unknown; setAside?: QuarantineReason[] } | { problem: Problem };

export interface Engine {
  /**
   * Executes the calls in order; each gets its result. What is repeatable stays in an open transaction until a call that
   * is not, or `commit`. Never throws.
   */
  execute(calls: Call[]): CallResult[];
  /** Commits what is open; true when nothing was or it is on disk now. Never throws. */
  commit(): boolean;
  /** Moves the write-ahead log into the file when it is long, and all of it with `whole`. Never throws. */
  checkpoint(whole?: boolean): void;
  close(): void;
}

/** Throws `store.locked`, `store.moved`, `store.unavailable`. `nowMs` is the store's clock. */
export function openEngine(settings: StoreSettings, nowMs: () => number): Engine {
  const database = openDatabase(settings.file);
  refuseMoved(database, settings.file);
  const transaction = makeTransaction(database);
  const { counters, undo } = transaction;
  const context: Context = {
    database,
    settings,
    nowMs,
    lanes: new Lanes(undo, (id, width) => keepWidth(database, id, width)),
    organizations: new OrganizationCache(),
    leases: new Map(),
    conditions: new Map(),
    swept: { position: 0, delivery: 0, readOfTask: 0, readWithFence: 0 },
    setAside: [],
    undo,
    nextRevision: () => ++counters.revision,
    currentRevision: () => counters.revision,
    nextPosition: () => ++counters.position,
  };
  transaction.within(() => load(context));
  transaction.commit();

  const execute = (calls: Call[]): CallResult[] => {
    try {
      const results = transaction.within(() => calls.map((call) => executeOne(context, call)));
      if (calls.some(({ verb }) => !repeatable.has(verb))) transaction.commit();
      return results;
    } catch (error) {
      const problem = problemOf(error);
      if (problem.code === 'store.unavailable' || calls.length === 1) return calls.map(() => ({ problem }));
      return calls.flatMap((call) => execute([call]));
    }
  };
  return {
    execute,
    commit() {
      try {
        transaction.commit();
        return true;
      } catch {
        return false;
      }
    },
    checkpoint(whole = false) {
      if (transaction.isOpen()) return;
      try {
        database.checkpoint(whole);
      } catch {
        // The log grows until it can be moved. Whether the store can still be written, each call finds out for itself.
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
 * What a former process had taken is due again and its named leases are free: the file's lock says that it is dead. Since
 * when each is free stays known: of those that it held to its end, since it was found dead. Lanes are built from what
 * waits, as wide as they were.
 */
function load(context: Context): void {
  const { database } = context;
  context.organizations.load(database);
  database.run(`UPDATE tasks SET state = 'due', due_at = ? WHERE state = 'taken'`, context.nowMs());
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

function releaseLeases(context: Context, taken: { taskId: number; fence: number }[]): void {
  const nowMs = context.nowMs();
  for (const { taskId, fence } of taken) {
    if (context.leases.get(taskId)?.fence === fence) freeLease(context, taskId, nowMs);
  }
}

function epochs(context: Context): Map<string, number> {
  return new Map([...context.organizations.all()].map(({ id, epoch }) => [id, epoch]));
}

/** A write that is taken back would prove nothing: this one commits. */
function ready(context: Context): void {
  writeHeartbeat(context);
}

/** Writes in any case: a value that stays the same would be left alone. */
function writeHeartbeat(context: Context): void {
  context.database.run(
    `INSERT INTO meta (name, value) VALUES ('heartbeat', 1)
     ON CONFLICT (name) DO UPDATE SET value = value + 1`,
  );
}

/** The doors that the engine serves as they are; `ledger`, `heed` and `close` are made by the client. */
export type Served = Pick<Store, Exclude<keyof Store, 'ledger' | 'heed' | 'close'>>;
