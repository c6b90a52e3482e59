/**
 * The store's doors, as the rooms need them. One contract for the embedded and the scaled store; every promise is a
 * test of the contract suite. All times are of the store's clock, in milliseconds since the epoch. Any verb may throw
 * `store.unavailable` (nothing was changed; try again) or `store.closed`.
 */
import type { Alert, AlertInputs, Condition, Told } from './alert';
import type { SealedConnection, SealedTokens } from './connection';
import type { StoredConsent } from './consent';
import type { EquipmentBook } from './equipment-names';
import type { Acknowledgement, EventRow, OutboxRow, RowPlace } from './event';
import type { Inspection } from './inspection';
import type { Accepted, Delivery, QuarantineReason } from './notification';
import type {
  Access,
  AccessChange,
  CauseSet,
  DueProbe,
  Forgotten,
  Observation,
  Observed,
  OrganizationView,
  ProbeAgain,
  Probing,
  Transition,
} from './organization';
import type { ReplayRefusal, ReplayRun, ReplaySelection, ReplayStep, SelectedPage } from './replay';
import type { ResourceIdentity, ResourceKind } from './resource';
import type { SavedWebhookSecret, StoredWebhookSecret } from './subscription';
import type {
  LastRun,
  ListedPage,
  ListedResource,
  ListedResult,
  ListingName,
  OpenedListing,
  RunCounts,
  StandingOfRun,
  SyncRun,
  SyncWanted,
} from './sync';
import type {
  FinishedGone,
  FinishedRead,
  FinishResult,
  FoundAbsent,
  GivenBack,
  KnownOtherwise,
  Postponed,
  QuarantinedTask,
  TakenTask,
} from './task';
import type { FoundPage, KnownEnd, TopicEnd } from './topic-end';

/** Acceptance and the work list. */
export interface Inbox {
  /** Journals the delivery and marks its tasks due, in one transaction that is on disk when this resolves. */
  put(delivery: Delivery): Promise<Accepted>;
  /**
   * Keeps a sample of a body that cannot be read, once per body, a bounded number in all: true when it is kept from now
   * on. `raw` is cut by the caller.
   */
  keepSample(sample: { bodyHash: string; detail: string; raw: string }): Promise<boolean>;
  /**
   * Takes up to `limit` tasks of active organizations, fairly between organizations: no organization gets more than
   * its share while others wait. Each gets a lease and a fence.
   */
  take(limit: number): Promise<TakenTask[]>;
  /** What is new of the names that it says is kept, whatever comes of it. */
  finish(read: FinishedRead): Promise<FinishResult | KnownOtherwise>;
  finishGone(read: FinishedGone): Promise<FinishResult>;
  /** Records the first absence; the task settles until it is asked again. */
  foundAbsent(read: FoundAbsent): Promise<void>;
  postpone(task: Postponed): Promise<void>;
  giveBack(task: GivenBack): Promise<void>;
  quarantineTask(task: QuarantinedTask): Promise<void>;
  /** Gives all leases of this process back, for shutdown; the tasks are due again at once. */
  releaseLeases(taken: { taskId: number; fence: number }[]): Promise<void>;
  /**
   * Makes tasks that were postponed for reasons that are not their own due now. In steps, so that others have their turn
   * between two: where the process dies, the store is closed or a step fails, the rest waits its own time.
   */
  hasten(): Promise<number>;
  /**
   * Something that the client key was refused at `refusedAtMs` is answered now; null: it is not known when. Makes due now what
   * waits since the key was refused, once for all that was refused before: 0 when that was done since, by whichever process. In
   * steps as `hasten`; the first says that it was done.
   */
  hastenRefused(refusedAtMs: number | null): Promise<number>;
  /** Milliseconds since that was last done, by whichever process; null when it never was. */
  refusedHastenedAgoMs(): Promise<number | null>;
  /**
   * From now on `listener` is told, soon and not for sure, when any process that shares the store made tasks or probes
   * due (`work`) or decided events (`events`). A store of one process tells nothing: who acts there knows.
   */
  heed(listener: (news: News) => void): Promise<void>;
  /** The provider wants a pause of the client key: no process takes a task or a probe before it is over. The longest holds. */
  pauseReading(forMs: number): Promise<void>;
  readingPause(): Promise<ReadingPause | null>;
  /** Milliseconds until the next task, or probe, may be taken; null when nothing waits for time. */
  nextDueInMs(what: 'task' | 'probe'): Promise<number | null>;
}

/** Nothing is asked of the provider for `leftMs`, as it wished at `sinceMs`. */
export interface ReadingPause {
  sinceMs: number;
  leftMs: number;
}

export type News = 'work' | 'events';

/** Who holds a named lease. */
export interface LeaseHeld {
  name: string;
  holder: string;
  /** What was noted here since it leads: a store that does not know it took this one's place, and lags behind it. */
  ends?: TopicEnd[];
}

/** Decided events on their way out. */
export interface Outbox {
  /** Takes or renews a named lease; false when another holder has it. */
  holdLease(name: string, holder: string, leaseMs: number): Promise<boolean>;
  /**
   * Unsent rows in order of commit, the lowest unsent sequence of a key first, except those of the topics and slots
   * named, and those rows that are in hand: picked, and not known to be marked. `bytesMax` bounds the sum of their sizes; at
   * least one row comes when any is there. None comes when the lease that is given does not lead now.
   */
  pickUnsent(
    limit: number,
    bytesMax: number,
    except: HeldPartition[],
    lease?: LeaseHeld,
    inHand?: number[],
  ): Promise<OutboxRow[]>;
  /** Whether it is held now, and all is known that its holder noted. */
  leads(lease: LeaseHeld): Promise<boolean>;
  /**
   * Gives each row its public position and, for Kafka, partition and offset. A row marked before keeps what it has. `again`:
   * these were told before, and nobody heard that they were marked; then none is that was made unsent since. It may be none of the
   * rows that are `passed`, where something newer of their keys was sent. Marks none when the lease that is given does not
   * lead now; where a row is missing, the topics' ends stay as they are known.
   */
  markSent(
    acknowledgements: Acknowledgement[],
    lease?: LeaseHeld,
    again?: boolean,
    passed?: number[],
  ): Promise<void>;
  /**
   * Kafka refused this one alone; a row that holds another event stays as it is. One that stands on its topic, and that a replay
   * sends again, is as it was before that, which counts it as refused.
   */
  quarantineRecord(refused: EventRow, reason: QuarantineReason, detail: string): Promise<void>;
  /**
   * Of the rows beyond `after` the lowest, some `limit`: those that only the embedded log has become unsent again, since Kafka
   * was configured since, and go to the topics of the prefix of today, as do the unsent whose topics no Kafka was known to have.
   * Gives the last that was looked at, null when no more can be there. Who picks none before that sends all in their order,
   * however often it began anew.
   */
  resendLogged(after: number, limit: number): Promise<number | null>;
  /** How many rows are unsent; 100,000 says that there are as many or more. */
  unsentCount(): Promise<number>;
}

/** A partition that is set aside: `slot % partitions === partition` of the topic. */
export interface HeldPartition {
  topic: string;
  partition: number;
  partitions: number;
}

export interface Organizations {
  /** Names and sight learned from a listing; unknown organizations are added as active. */
  learn(organizations: { id: string; name: string | null; connectionId: string }[]): Promise<void>;
  /**
   * `connectionId`: the one that its listings are read through, kept while it is valid and sees it. `forgotten`: an
   * operator forgot it, and it did not connect again since.
   */
  access(organizationId: string): Promise<{
    access: Access;
    causes: CauseSet;
    epoch: number;
    connectionId: string | null;
    forgotten: boolean;
  } | null>;
  /** The epoch of each, to be noted before a listing that may observe them. */
  epochs(): Promise<Map<string, number>>;
  /** Applies an observation under its epoch; on a change it writes history and the access event in one transaction. */
  observe(observation: Observation): Promise<Transition & { applied: boolean }>;
  /** Due probes, each leased for `leaseMs` so that one process probes at a time. */
  takeProbes(limit: number, leaseMs: number): Promise<DueProbe[]>;
  /**
   * Pays for one more call of a probe that was taken: its first one is paid for already. 0 when the budget has it, and it is
   * made now; else after how many milliseconds to ask again. `anyway`: it is made, and counts as far as the budget reaches.
   */
  payProbeCall(anyway: boolean): Promise<number>;
  /** A probe that got no answer about access, but what `found` says; begun in an earlier epoch, it is just over. */
  postponeProbe(organizationId: string, epoch: number, again: ProbeAgain, found: string): Promise<void>;
  /** Asks for a probe now (`onDemand`), or as a hint, at most one a minute. False when the organization is unknown. */
  requestProbe(organizationId: string, onDemand: boolean): Promise<boolean>;
  /** To whom a resource belonged when it was read last; null where it never was. */
  ownerOf(resource: ResourceIdentity): Promise<string | null>;
  /**
   * Is it being asked, or is a probe of it due, as is one whose lease ran out? And what the last probe that ended found,
   * whichever process made it; null when none ended since one was asked for on demand, or when a process of an older version
   * ended it. Of an unknown one: neither.
   */
  probing(organizationId: string): Promise<Probing>;
  /** At most `limit` of them in the order of their ids, those after the id `after`; null: from the first. */
  listOrganizations(page: { limit: number; after: string | null }): Promise<OrganizationView[]>;
  /** null when it is unknown. */
  findOrganization(organizationId: string): Promise<OrganizationView | null>;
  /** The last changes of its access, at most `limit`, the latest last; empty when it is unknown. */
  accessHistory(organizationId: string, limit: number): Promise<AccessChange[]>;
  /**
   * Ends what we have to do with it: not connected from now on, seen by nobody, its name erased, what waits for it given
   * up on record. It alerts nobody and is not probed until a listing shows it again. null when it is unknown. Much that waits is
   * given up in pages, after the rest: who is broken off asks again, and is told of all. Throws `command.refused` where
   * somebody else asks meanwhile, `store.closed`.
   */
  forgetOrganization(organizationId: string): Promise<Forgotten | null>;
}

export interface Connections {
  /**
   * Imports connections that are not stored yet, or that hold another token than the stored one did at import: then the
   * organizations whose grant was refused are probed at once.
   */
  importConnections(connections: (SealedConnection & { importHash: string })[]): Promise<void>;
  listConnections(): Promise<SealedConnection[]>;
  /**
   * The provider refused this token of it. Organizations that no other valid connection sees need a new consent: that is
   * observed in the same transaction. The listings of the others are read through another one from now on. Only while it
   * is valid and holds that token: of what was consented to since, nothing is refused.
   */
  refuseConnection(
    connectionId: string,
    message: string | null,
    sealedToken: string,
  ): Promise<{ observed: Observed[] }>;
  /**
   * The provider takes the refused token again: it is valid, and organizations whose grant was refused are probed at once.
   * False when it is not refused, as after another consent.
   */
  acceptConnection(connectionId: string): Promise<boolean>;
  /** null when it is unknown or was revoked. */
  findConnection(connectionId: string): Promise<SealedConnection | null>;
  /**
   * A user consented: the connection is new, or holds these tokens from now on and is valid. What it was seen to see
   * stays; organizations whose grant was refused are probed at once. A token of the settings is not imported over it.
   */
  saveConnection(connection: SealedConnection): Promise<void>;
  /** Other tokens, or the same under another key, in the place of those with `replaces`; false when they are not there. */
  replaceTokens(connectionId: string, replaces: string, tokens: SealedTokens): Promise<boolean>;
  /**
   * Erases its tokens and what it sees. Organizations that no other valid connection sees need a new consent, observed
   * in the same transaction. null when it is unknown.
   */
  revokeConnection(connectionId: string): Promise<{ observed: Observed[] } | null>;
  /** Another text whenever a connection was added, changed or revoked, by whichever process. */
  connectionsMark(): Promise<string>;
  /**
   * A listing of this connection that came to its end holds these only: what it does not hold is no longer seen through
   * it where another connection sees it, and where that one was refused, the organization needs its consent anew: that is
   * observed in the same transaction. Where no other sees it, absence is only a hint.
   */
  keepSights(connectionId: string, organizations: string[]): Promise<{ observed: Observed[] }>;
}

/** Consents on their way. */
export interface Consents {
  /** Keeps it for `lifeMs` from now, in the place of one with this id; forgets those that ended a day ago. */
  saveConsent(consent: Omit<StoredConsent, 'expiresAtMs'>, lifeMs: number): Promise<void>;
  /** The one that this key opens, which then opens nothing any more; null when there is none, or its time is over. */
  takeConsent(key: string): Promise<StoredConsent | null>;
  findConsent(consentId: string): Promise<StoredConsent | null>;
}

/** What we made for deliveries to be known by. */
export interface WebhookSecrets {
  /** The oldest first. */
  listWebhookSecrets(): Promise<StoredWebhookSecret[]>;
  /** Keeps it; of one that is there already the sealed text stays, when it was made, and what was heard. */
  saveWebhookSecret(secret: SavedWebhookSecret): Promise<void>;
  /** Another sealed text of the same secret, and nothing else; false when what is there is not what it replaces. */
  resealWebhookSecret(id: string, replaces: string, sealed: string): Promise<boolean>;
  dropWebhookSecret(id: string): Promise<void>;
  /** A heartbeat of the subscription with this token arrived now: nothing when the token is not there. */
  noteHeartbeat(id: string): Promise<void>;
  /**
   * Somebody has listened to deliveries for the last `forMs`, whichever process it was. Answers since when nobody has left
   * off for longer than `lapseMs`.
   */
  noteListening(forMs: number, lapseMs: number): Promise<number>;
  /** Adds to the looks that saw every subscription, whichever process looked; how many there are now. */
  countLooks(more: 0 | 1): Promise<number>;
}

export interface Alerts {
  /** All organizations that cannot be read: where they are many, dear. */
  alertInputs(): Promise<AlertInputs>;
  /**
   * Another text whenever the access of an organization changed or something was set aside, by whichever process; cheap.
   * What else `alertInputs` tells (how much waits, names, announced times, when consents end, which are refused) may change
   * without it.
   */
  alertMark(): Promise<string>;
  listAlerts(): Promise<Alert[]>;
  saveAlerts(alerts: Alert[]): Promise<void>;
  /**
   * Tells the other processes which states of the platform this one knows of, for `forMs` or until it tells anew;
   * answers what each of the others has told, also that it knows of none.
   */
  shareConditions(holder: string, conditions: Condition[], forMs: number): Promise<Told[]>;
}

/** Listings that find what was not notified, and the count of calls. */
export interface Syncs {
  /** Goes on with the run for the same that was begun and not ended, else begins one; `organizationId` null: all. */
  beginRun(wanted: SyncWanted): Promise<SyncRun>;
  /**
   * `whole`: nothing was left that could have been read at another time. A full one of all organizations then ends that
   * the store is behind its topics.
   */
  endRun(run: number, counts: RunCounts, whole: boolean): Promise<void>;
  /** As it was given with the run that ended last; null where none did, or a version before did not give it. */
  syncStanding(): Promise<StandingOfRun | null>;
  /** The run that was begun last; null when none was. */
  lastRun(): Promise<LastRun | null>;
  /** These listings as the run finds them, in order, and the store's revision before they are asked for. */
  openListings(run: number, names: ListingName[]): Promise<{ listings: OpenedListing[]; revision: number }>;
  /** Notes those that are as they were published, and who has shown them; the places in the list of the others. */
  compareListed(
    run: number,
    listingId: number,
    listed: ListedResource[],
    connectionId: string,
  ): Promise<number[]>;
  /**
   * Finishes what a page holds whole and makes due what it does not. A resource that waits for a read is left to it; one
   * that was read since `revision` is not finished from the page, and is read again when the page says otherwise.
   * Throws `store.refused` when pages of the run were lost after they were answered: the run is to be gone on with.
   */
  finishPage(page: ListedPage): Promise<ListedResult>;
  /**
   * Makes due what the organization is known to have and none of its listings of this run holds: a read decides. At most
   * `shareMax` of them all, at least 20, and one more. To be called when every listing came to its end.
   */
  hintAbsent(run: number, organizationId: string, kind: ResourceKind, shareMax: number): Promise<number>;
  /** Adds to the calls of a month, `2026-01`; how many there are now. */
  countCalls(month: string, calls: number): Promise<number>;
}

/** What stands on the topics, compared with what is known: a store that was restored, or is new, may be behind them. */
export interface TopicEnds {
  topicEnds(): Promise<KnownEnd[]>;
  /**
   * Events that are known, byte for byte, become sent ones, with their place. For all others the key's sequence rises to theirs, unsent
   * rows that are not above it are set aside, and its resource is published anew by whatever looks at it next; an
   * organization's access is told anew at once. Then the store is behind until a full sync that began later has ended,
   * and no task is taken before `allFound`. Where an older event of a key stands after its newest, since its writer had no
   * answer and ended while it wrote both again, the newest goes again as it is. What others left there, and this store holds nothing of, is
   * kept: it is told of when it is found elsewhere, or gone where it was notified. How many others there were.
   * Where records are `lost`, every key of the topic's kind goes on above all that it can have had, what is unsent of it is set aside,
   * all of it is published anew in the same way, and nothing that was sent is taken for the newest of its key. Of `anotherLog` keys go on above all that the former can have had, and what was never
   * sent is set aside. Throws `store.unavailable` where the store does not know the topic up to the page.
   */
  noteFound(page: FoundPage): Promise<number>;
  /** Whoever reads on has come to the end of the topics: tasks are taken again. */
  allFound(): Promise<void>;
  /** Whether others were found and `allFound` is still to come. */
  readingOn(): Promise<boolean>;
  /** Since when it is known that the store was behind; null when it is not. */
  behindSince(): Promise<number | null>;
}

/** Sending again what was published. Every record of it is journalled, with its place. */
export interface Replays {
  /**
   * One over what is in the outbox now. Goes on with the last one when it is for the same, has not ended and was moved on
   * less than so long ago; else begins, and ends what was left. To be asked for by whoever holds the lease of replays.
   */
  beginReplay(asked: string, resumableMs?: number): Promise<ReplayRun>;
  /** Events that were published, or wait to be, with rows in (`after`, `until`]; at most `limit` rows are looked at. */
  selectReplay(
    selection: ReplaySelection,
    after: number,
    until: number,
    limit: number,
  ): Promise<SelectedPage>;
  /**
   * Those rows that are the newest of their keys and were sent to Kafka are unsent again; how many are. null, and nothing is
   * done: the replay has ended or is further, or the lease of the step is not held now. So with the next ones.
   */
  resendNewest(step: ReplayStep, rows: number[]): Promise<number | null>;
  /**
   * Of those rows that are the newest of their keys, also where they wait to be sent, the resources are due unless they wait, but
   * for those of the forgotten; how many.
   */
  readAgain(step: ReplayStep, rows: number[]): Promise<number | null>;
  /** Those rows whole, in their order. */
  readHistory(rows: number[]): Promise<OutboxRow[]>;
  /** How many were sent. The rows of `tooLarge` the topic did not take for their size: they are counted as refused. */
  noteHistory(step: ReplayStep, topic: string, sent: RowPlace[], tooLarge?: number[]): Promise<number | null>;
  /** Rows of it that are still to be sent again; of all of them from `first` on, where that is named. */
  replayPending(replay: number, first?: number): Promise<number>;
  /** What was refused of it. */
  endReplay(replay: number): Promise<ReplayRefusal[]>;
}

export interface Store
  extends Inbox,
    Outbox,
    Organizations,
    Connections,
    Consents,
    WebhookSecrets,
    Alerts,
    Inspection,
    EquipmentBook,
    Syncs,
    TopicEnds,
    Replays {
  close(): Promise<void>;
}
