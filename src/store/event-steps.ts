/**
 * The steps of one event in a journey: why and as what it was decided, where it was published, and where it went again.
 * Pure: both stores hand over rows with the same names.
 */
import type { ExplainStep } from '../model/inspection';
import { leftOutStep, stepsMax } from './left-out';
import { storeBehind } from './replay-rows';

/** Is the resource of a row of the outbox still to be published anew? `readTask` is the store's, of that row. */
export const awaitsAnother = (readTask: string): string => `EXISTS (
  SELECT 1 FROM tasks r WHERE r.id = ${readTask} AND r.content_hash = '' AND NOT r.deleted)`;

/** Of the outbox, as every store has it; `readTask` is the store's, of its rows. */
export const eventColumnsBy = (
  readTask: string,
): string => `id, event_id, topic, key, sequence, position, partition, log_offset, task_id, cause, decided_at,
  sent_at, state, headers, ${awaitsAnother(readTask)} AS awaits,
  CASE WHEN headers LIKE '%.deleted.v1"%' THEN value END AS deleted_value`;

export interface EventToTell {
  id: number;
  event_id: string;
  topic: string;
  key: string;
  sequence: number;
  position: number | null;
  partition: number | null;
  log_offset: string | null;
  task_id: number | null;
  cause: string;
  headers: string;
  decided_at: number;
  sent_at: number | null;
  /** 0 unsent, 1 in the embedded log, 2 in Kafka, 3 quarantined, 4 set aside. */
  state: number;
  /** Its resource is to be published anew; a number where the store has no booleans. */
  awaits: boolean | number;
  /** Of a deletion: it says where the resource went, if it did. */
  deleted_value: string | null;
}

/** What an operator has of a record that Kafka refused. */
export interface EntryToTell {
  id: number;
  reason: string;
  at: number;
  state: string;
}

/** A line of the journal of replays; `topic` is null for a read. */
export const replayColumns = 'replay, at, topic, partition, log_offset, sent_at';

export interface ReplayToTell {
  replay: number;
  at: number;
  topic: string | null;
  partition: number | null;
  log_offset: string | null;
  sent_at: number | null;
}

/** An event with what happened to it since: `replays` are the newest, and one more than are told where there are more. */
export interface ToldEvent extends EventToTell {
  replays: ReplayToTell[];
  /** That of a quarantined record, where it is still kept. */
  entry: EntryToTell | null;
}

export function eventSteps(event: ToldEvent, nowMs: number): ExplainStep[] {
  const { event_id: eventId, key, sequence, cause, topic, partition, log_offset: offset, position } = event;
  const change = changeIn(event.headers);
  const movedTo = movedToIn(event.deleted_value);
  const steps: ExplainStep[] = [
    {
      at: at(event.decided_at),
      step: 'decided',
      text: `event ${eventId} was decided${changeText(change, movedTo)} with sequence ${sequence} of ${key}${reasonOf(cause)}`,
      eventId,
      key,
      sequence,
      change,
      movedTo,
      cause,
    },
  ];
  if (event.sent_at !== null) {
    const where = partition === null ? 'the embedded log' : `${topic}/${partition}@${offset}`;
    steps.push({
      at: at(event.sent_at),
      step: 'sent',
      text: `event ${eventId} was published at position ${position} to ${where}`,
      eventId,
      position,
      topic,
      partition,
      offset,
    });
  }
  const replays = event.replays.slice(-stepsMax);
  const leftOut =
    replays.length < event.replays.length
      ? [leftOutStep(replays[0]!.at, 'times that it was sent again')]
      : [];
  const again = replays.map((line) => replayStep(line, eventId));
  return [...steps, ...stateSteps(event, nowMs), ...leftOut, ...again];
}

/** Why it is not where it was to go. */
function stateSteps(
  { event_id: eventId, state, topic, sequence, key, decided_at, sent_at, entry }: ToldEvent,
  nowMs: number,
): ExplainStep[] {
  if (state === 0 && sent_at === null)
    return [
      {
        at: at(nowMs),
        step: 'unsent',
        text: `event ${eventId} waits to be sent to ${topic}`,
        eventId,
        topic,
      },
    ];
  if (state === 3) {
    const ended = entry === null || entry.state === 'waiting' ? '' : `, and was ${entry.state}`;
    const why = entry === null ? '' : ` as q${entry.id}: ${entry.reason}`;
    const text = `event ${eventId} was not published but quarantined${why}${ended}`;
    return [
      {
        at: at(entry?.at ?? nowMs),
        step: 'quarantined',
        text,
        eventId,
        entry: entry === null ? null : `q${entry.id}`,
      },
    ];
  }
  if (state === 4) {
    const held = `its topic held sequence ${sequence} of ${key}, or a higher one, which this store did not know of`;
    const text = `event ${eventId} does not go out from here: ${held}. What stands there under this id, if anything does, was sent from elsewhere, as before a restore, with other bytes. What it told is published anew above that`;
    // When it was found is not kept.
    return [{ at: at(sent_at ?? decided_at), step: 'set-aside', text, eventId }];
  }
  return [];
}

/** A read that no delivery asked for and no replay: the sync did. `run` is null when it is no longer kept. */
export function syncStep(run: { id: number; began_at: number } | null, readAtMs: number): ExplainStep {
  const which = run === null ? 'a sync' : `run ${run.id} of the sync`;
  const text = `${which} found that it differs, or that no listing holds it`;
  return { at: at(run?.began_at ?? readAtMs), step: 'listed', text, run: run?.id ?? null };
}

/** Did no webhook announce it? */
export function isReconciled(headers: string): boolean {
  return headers.includes('["ce_reconciled","true"]');
}

/** Of a read, or with the event that was sent again. */
export function replayStep(
  { replay, topic, partition, log_offset: offset, ...line }: ReplayToTell,
  eventId?: string,
): ExplainStep {
  if (topic === null) {
    const text = `replay ${replay} had the resource read again`;
    return { at: at(line.at), step: 'read-again', text, replay };
  }
  if (line.sent_at === null) {
    const text = `replay ${replay} sends event ${eventId} again to ${topic}, as the same bytes: on their way`;
    return { at: at(line.at), step: 'replaying', text, replay, topic, eventId };
  }
  if (partition === null) {
    const behind = `replay ${replay} did not send event ${eventId} again, since this store was found behind ${topic}, where something newer of its key stands or may have stood`;
    const refused = `${topic} refused event ${eventId} when replay ${replay} sent it again`;
    const text = `${offset === storeBehind ? behind : refused}: it stands as it stood before`;
    return { at: at(line.sent_at), step: 'replay-refused', text, replay, topic, eventId };
  }
  return {
    at: at(line.sent_at),
    step: 'replayed',
    text: `replay ${replay} sent event ${eventId} again, as the same bytes, to ${topic}/${partition}@${offset}`,
    replay,
    topic,
    partition,
    offset,
    eventId,
  };
}

/** As what it was decided, by its `ce_type`; null where that cannot be read back. */
function changeIn(headers: string): string | null {
  return /\["ce_type","[^"]*\.([a-z]+)\.v1"\]/.exec(headers)?.[1] ?? null;
}

/** The organization to which the resource of a deletion moved; null where it is gone, or the value cannot be read back. */
function movedToIn(value: string | null): string | null {
  try {
    const { movedTo } = JSON.parse(value ?? '{}') as { movedTo?: unknown };
    return typeof movedTo === 'string' ? movedTo : null;
  } catch {
    return null;
  }
}

function changeText(change: string | null, movedTo: string | null): string {
  if (change === null) return '';
  return movedTo === null
    ? ` as ${change}`
    : ` as ${change}, since its resource moved to organization ${movedTo},`;
}

/** A read is told by a step of its own. */
function reasonOf(cause: string): string {
  const run = /^sync (\d+)$/.exec(cause)?.[1];
  if (run !== undefined) return `: run ${run} of the sync found it`;
  const access = /^access /.test(cause);
  return access ? ': the access of its organization changed' : '';
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}
