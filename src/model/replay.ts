/**
 * Sending again what was published, or reading its resources again: what is asked for, how far it has come, and what
 * stands in the store about it. Shapes only; times are milliseconds since the epoch unless they are texts.
 */
import type { QuarantineReason } from './notification';
import type { EventKind } from './resource';

/** The named lease of whoever is at a replay: while it is held, retention leaves what that one has still to look at. */
export const replayLease = 'replay';

/** Events named in one replay, at most: their ids travel in an address. */
export const replayedEventsMax = 200;

/** Events that are named of what was refused for one reason: enough to look at, and what is kept of a replay stays small. */
export const refusedNamedMax = 5;

/**
 * So long after its last page a replay that was left is gone on with. Later a topic may have been made anew, and what had been
 * sent is gone. The newest of each key begin anew each time: sent again, they cost no more than their bytes.
 */
export const resumableMs: Record<ReplayHow, number> = { newest: 0, history: 600_000, reads: 600_000 };

/** `newest`: of each key, to its live topic. `history`: all of them, to another topic. `reads`: their resources are due. */
export type ReplayHow = 'newest' | 'history' | 'reads';

/** Which events: exactly one of the first three is given. */
export interface ReplayWanted {
  events: string[] | null;
  organizationId: string | null;
  kind: EventKind | null;
  how: ReplayHow;
  /** Where history goes; null for everything else. */
  toTopic: string | null;
  /** Only counts. */
  dryRun: boolean;
}

/** Which rows of the outbox: all that fit every part that is not null. */
export interface ReplaySelection {
  events: string[] | null;
  keys: string[] | null;
  organizationId: string | null;
  /** Whatever the prefix of their topics. */
  kind: EventKind | null;
  /** Also when their resources are read, which costs a look at each. */
  withReading?: boolean;
  /** A replay that goes on: what the journal says that it has sent already is not selected. */
  notSentBy?: number;
}

/** An event that is kept, and was published or waits to be. */
export interface SelectedEvent {
  row: number;
  eventId: string;
  key: string;
  bytes: number;
  /** Nothing newer was decided under its key. */
  newest: boolean;
  /** It goes out anyway: for the `first` time, or `again`, as a replay has it. null: it does not wait to be sent. */
  waits: 'first' | 'again' | null;
  /** null: it has no resource, or nobody asked for that. */
  reading: Reading | null;
}

/**
 * When a resource that is due is read: `now`; `parked`, as long as its organization waits for its customer; `forgotten`,
 * not at all, since nothing is done for its organization.
 */
export type Reading = 'now' | 'parked' | 'forgotten';

/** As many rows were looked at as a page may hold; `after` is the last of them, null at the end. */
export interface SelectedPage {
  events: SelectedEvent[];
  after: number | null;
}

export interface ReplayCounts {
  /**
   * Published events that were selected; for reads also those that wait to be. Of named ones, these alone, whatever else their
   * keys have.
   */
  selected: number;
  /** Keys among them whose newest event can be sent again, or whose resource can be read. */
  keys: number;
  /** Events that were sent again, or are on their way; resources that were made due. */
  replayed: number;
}

/**
 * Records that Kafka refused to take once more, or, `store-behind`, that are known as the newest of their keys no more, since
 * the store was found behind their topic: they stand as they stood before.
 */
export interface ReplayRefusal {
  reason: QuarantineReason | 'store-behind';
  records: number;
  /** Ids of the first of them, at most `refusedNamedMax`; fewer where a process of a former version counted them. */
  events: string[];
}

/** A replay as the store keeps it. */
export interface ReplayRun {
  replay: number;
  /** When the one for the same was left that this goes on with; null when it begins. */
  leftAtMs: number | null;
  /** Rows up to this one are done. */
  after: number;
  /** Rows after this one came later. */
  until: number;
  /** Of all that was done of it before. */
  counts: ReplayCounts;
}

/** How far a page brings it. */
export interface ReplayStep {
  replay: number;
  /** Where the replay stands by the steps before; where it does not, a failover lost one of them. */
  from: number;
  after: number;
  /** Of all of it, but for what this step adds to `replayed`. */
  counts: ReplayCounts;
  /** Whoever takes the step holds it; absent where nobody else can be at one. */
  lease?: { name: string; holder: string };
}

/** A replay as operators see it: the counts are those of what was asked for now. */
export interface ReplayView extends ReplayCounts {
  /** `idle`: none since the start of the process. */
  state: 'idle' | 'running' | 'ended' | 'stopped';
  how: ReplayHow;
  toTopic: string | null;
  dryRun: boolean;
  /** It goes on with one for the same, which was left at that time. */
  resumed: boolean;
  leftAt: string | null;
  /** What had been replayed then. */
  replayedBefore: number;
  /** Records of earlier replays that still waited to be sent when this one had ended. */
  earlierUnsent: number;
  /** At its end, what of it did not go again, by its reason: `replayed` does not count that. */
  refused: ReplayRefusal[];
  /** Left out, since they go out anyway: newest events that wait to be sent; of history, those that were never sent and what follows them in their keys. */
  waiting: number;
  /** Named events that are not kept. */
  unknown: string[];
  /** About as many calls to the provider: its reads now and the settling reads after them. More for what is gone, has moved or fails. */
  calls: number;
  /** Of its reads, those that wait until a customer acts. */
  parked: number;
  /** Resources of forgotten organizations, which it does not have read. */
  forgotten: number;
  /** What the provider's sandbox leaves of calls in this month; null without one. */
  callsLeft: number | null;
  startedAt: string | null;
  tookMs: number;
  /** Why it stopped; null unless it did. */
  reason: string | null;
}
