/**
 * The verbs of the scaled store, by name. Each takes the context of its transaction first; what it resolves to is what
 * the store's promise resolves to. Whatever it throws rolls the transaction back.
 */
import type { EquipmentNames } from '../../model/equipment-names';
import type { Delivery } from '../../model/notification';
import type { Store } from '../../model/store';
import { alertInputs, alertMark, listAlerts, saveAlerts } from './alerts';
import { shareConditions } from './conditions';
import * as connections from './connections';
import { findConsent, saveConsent, takeConsent } from './consents';
import type { Context, InTransaction } from './context';
import { hasten, hastenRefused, nextDueInMs, refusedHastenedAgoMs } from './due';
import { type EndingCall, endings, endTasks } from './end-tasks';
import { nameTogether, recordsTogether } from './equipment-names';
import { listEvents } from './events';
import { explain } from './explain';
import { finishPage } from './finish-page';
import { forgetOrganization } from './forget';
import { holdLease, leaseFreeMs } from './leases';
import { ledger } from './ledger';
import { observe } from './observe';
import { access, accessHistory, epochs, findOrganization, learn, listOrganizations } from './organizations';
import { leads, markSent, quarantineRecord, resendLogged, unsentCount } from './outbox';
import { pauseReading, readingPause } from './pauses';
import { pickUnsent } from './pick-unsent';
import { ownerOf, payProbeCall, postponeProbe, probing, requestProbe, takeProbes } from './probes';
import { arePlain, put } from './put';
import { listQuarantine, showTogether } from './quarantine';
import { keepSample } from './quarantine-entries';
import { ready } from './ready';
import { discardTogether, rejudgeTogether, releaseTogether } from './release';
import * as replays from './replays';
import type { TransactionOptions } from './server/database';
import type { GroupSizes } from './server/groups';
import { lockNumbers } from './server/lock-numbers';
import { sweep } from './sweep';
import {
  beginRun,
  compareListed,
  countCalls,
  endRun,
  hintAbsent,
  lastRun,
  openListings,
  syncStanding,
} from './syncs';
import { take } from './take';
import { counts, listTasks } from './tasks';
import { allFound, behindSince, noteFound, readingOn, topicEnds } from './topic-ends';
import {
  countLooks,
  dropWebhookSecret,
  listWebhookSecrets,
  noteHeartbeat,
  noteListening,
  resealWebhookSecret,
  saveWebhookSecret,
} from './webhook-secrets';

type Name = Exclude<keyof Store, 'close'>;
type Answer<Verb extends Name> = Promise<Awaited<ReturnType<Store[Verb]>>>;

/** One call, one transaction. */
export const verbs = {
  take,
  refusedHastenedAgoMs,
  nextDueInMs,
  keepSample,
  holdLease,
  leads,
  shareConditions,
  markSent,
  quarantineRecord,
  resendLogged,
  unsentCount,
  learn,
  access,
  epochs,
  observe,
  takeProbes,
  payProbeCall,
  postponeProbe,
  requestProbe,
  ownerOf,
  probing,
  pauseReading,
  readingPause,
  listOrganizations,
  findOrganization,
  accessHistory,
  importConnections: connections.importConnections,
  listConnections: connections.listConnections,
  refuseConnection: connections.refuseConnection,
  acceptConnection: connections.acceptConnection,
  findConnection: connections.findConnection,
  saveConnection: connections.saveConnection,
  replaceTokens: connections.replaceTokens,
  revokeConnection: connections.revokeConnection,
  connectionsMark: connections.connectionsMark,
  keepSights: connections.keepSights,
  saveConsent,
  takeConsent,
  findConsent,
  listWebhookSecrets,
  saveWebhookSecret,
  resealWebhookSecret,
  dropWebhookSecret,
  noteHeartbeat,
  noteListening,
  countLooks,
  alertInputs,
  alertMark,
  listAlerts,
  saveAlerts,
  listTasks,
  listQuarantine,
  explain,
  ledger,
  counts,
  leaseFreeMs,
  storeBytes: async ({ database }) =>
    (await database.get('SELECT pg_database_size(current_database()) AS bytes'))!.bytes,
  logStuck: async () => null,
  ready,
  beginRun,
  endRun,
  syncStanding,
  lastRun,
  openListings,
  compareListed,
  finishPage,
  hintAbsent,
  countCalls,
  beginReplay: replays.beginReplay,
  selectReplay: replays.selectReplay,
  resendNewest: replays.resendNewest,
  readAgain: replays.readAgain,
  readHistory: replays.readHistory,
  noteHistory: replays.noteHistory,
  replayPending: replays.replayPending,
  endReplay: replays.endReplay,
  topicEnds,
  allFound,
  readingOn,
  behindSince,
} satisfies {
  [Verb in Name]?: (context: Context, ...args: Parameters<Store[Verb]>) => Answer<Verb>;
};

const longMs = 30_000;

/** What a verb's transaction needs beyond the usual. */
export const transactionOptions: { [Verb in Name]?: TransactionOptions } = {
  take: { lock: lockNumbers.claim, ahead: true },
  learn: { lock: lockNumbers.connections },
  importConnections: { lock: lockNumbers.connections },
  refuseConnection: { lock: lockNumbers.connections },
  acceptConnection: { lock: lockNumbers.connections },
  saveConnection: { lock: lockNumbers.connections },
  revokeConnection: { lock: lockNumbers.connections },
  keepSights: { lock: lockNumbers.connections },
  forgetOrganization: { lock: lockNumbers.connections },
  listTasks: { statementMs: longMs, readsMuch: true },
  selectReplay: { statementMs: longMs },
  listEvents: { statementMs: longMs },
  counts: { statementMs: longMs, readsMuch: true },
  ledger: { statementMs: longMs, snapshot: true, readsMuch: true },
  sweep: { lock: lockNumbers.sweep, statementMs: longMs },
  noteFound: { statementMs: longMs },
};

/** One call, several transactions. */
export const longVerbs = {
  hasten,
  hastenRefused,
  sweep,
  pickUnsent,
  listEvents,
  noteFound,
  forgetOrganization,
} satisfies {
  [Verb in Name]?: (inTransaction: InTransaction, ...args: Parameters<Store[Verb]>) => Answer<Verb>;
};

/** Calls that come together are made in one transaction: the results in the order of the calls. */
export interface VerbGroup {
  verbs: Name[];
  sizes: GroupSizes;
  execute(context: Context, calls: { verb: Name; args: unknown[] }[]): Promise<unknown[]>;
  /** Of these calls: is all that it asks one statement? */
  isSingle?(calls: { args: unknown[] }[]): boolean;
}

/** While one group is flushed the next is prepared. */
const usual: GroupSizes = { groupsMax: 2, besideAt: 25 };
/** For which senders and other organizations wait: a group's answers leave while the second is executed and the third is prepared. */
const awaited: GroupSizes = { groupsMax: 3, besideAt: 17 };

export const groups: VerbGroup[] = [
  {
    ...groupOf('put', put, awaited),
    isSingle: (calls) => arePlain(calls.map(({ args }) => args[0] as Delivery)),
  },
  {
    verbs: Object.keys(endings) as Name[],
    sizes: awaited,
    execute: (context, calls) => endTasks(context, calls as EndingCall[]),
  },
  {
    verbs: ['nameEquipment'],
    sizes: usual,
    execute: (context, calls) =>
      nameTogether(
        context,
        calls.map(({ args }) => args[0] as EquipmentNames[]),
      ),
  },
  groupOf('equipmentRecords', recordsTogether),
  groupOf('showQuarantine', showTogether),
  groupOf('releaseQuarantine', releaseTogether),
  groupOf('rejudge', rejudgeTogether),
  groupOf('discardQuarantine', discardTogether),
];

/** Of one verb; what it answers is what the store's promise resolves to. */
function groupOf<Verb extends Name>(
  verb: Verb,
  execute: (
    context: Context,
    calls: Parameters<Store[Verb]>[],
  ) => Promise<Awaited<ReturnType<Store[Verb]>>[]>,
  sizes = usual,
): VerbGroup {
  return {
    verbs: [verb],
    sizes,
    execute: (context, calls) =>
      execute(
        context,
        calls.map(({ args }) => args as Parameters<Store[Verb]>),
      ),
  };
}

type Ordered = 'showQuarantine' | 'releaseQuarantine' | 'rejudge' | 'discardQuarantine';
type Grouped = 'put' | 'nameEquipment' | 'equipmentRecords' | Ordered | keyof typeof endings;
type Missing = Exclude<Name, keyof typeof verbs | keyof typeof longVerbs | Grouped | 'heed'>;

/** A verb of the contract that is nowhere does not compile; whoever waits for news is told by another way. */
export const missingVerbs: [Missing] extends [never] ? [] : [Missing] = [];
