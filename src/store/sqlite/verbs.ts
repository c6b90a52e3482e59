/**
 * The embedded store's verbs, each as it is called inside a transaction, and which of them need not be on disk when they
 * are answered.
 */
import type { ListedPage } from '../../model/sync';
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
import type { Context } from './context';
import { equipmentRecords, nameEquipment } from './equipment-names';
import { explain } from './explain';
import { finish } from './finish';
import { forgetOn, forgetOrganization } from './forget';
import { hasten, hastenOn, hastenRefused, refusedHastenedAgoMs } from './hasten';
import { put, take } from './inbox';
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
import { freeLease } from './leases';
import { ledgerOfDeliveries, ledgerPage } from './ledger';
import { nextDueInMs } from './next-due';
import { observe } from './observe';
import { finishGone, foundAbsent, giveBack, postpone, quarantineTask } from './other-endings';
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
import { ownerOf, payProbeCall, postponeProbe, probing, requestProbe, takeProbes } from './probes';
import { keepSample, listQuarantine, showQuarantine } from './quarantine';
import { discardQuarantine, rejudge, releaseQuarantine } from './release';
import * as replays from './replays';
import { sweep } from './sweep';
import * as syncs from './syncs';
import { allFound, behindSince, noteFound, readingOn, topicEnds } from './topic-ends';
import * as secrets from './webhook-secrets';

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
  hastenRefused,
  hastenOn,
  refusedHastenedAgoMs,
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
  ownerOf,
  probing,
  pauseReading,
  readingPause,
  listOrganizations,
  findOrganization,
  accessHistory,
  forgetOrganization,
  forgetOn,
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
  logStuck: ({ logStuck }: Context) => logStuck,
  ready,
  nameEquipment,
  equipmentRecords,
  beginRun: syncs.beginRun,
  endRun: syncs.endRun,
  syncStanding: syncs.syncStanding,
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

export type VerbName = keyof typeof verbs;

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
  'shareConditions',
  'storeBytes',
  'logStuck',
  'leads',
  'markSent',
]);

/** Whether a call's answer may go out before it is on disk. Behind the end of a list comes no page that would be refused. */
export function mayWait(verb: VerbName, args: unknown[]): boolean {
  if (verb === 'finishPage' && 'end' in (args[0] as ListedPage).after) return false;
  return repeatable.has(verb);
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

/** A write that is taken back would prove nothing: this one commits, and writes in any case, since its value is another each time. */
function ready(context: Context): void {
  context.database.run(
    `INSERT INTO meta (name, value) VALUES ('heartbeat', 1)
     ON CONFLICT (name) DO UPDATE SET value = value + 1`,
  );
}
