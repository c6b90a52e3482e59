/**
 * The steps of one event in a journey: why and as what it was decided, where it was published, and where it went again.
 * Pure: both stores hand over rows with the same names.
 */
import type { ExplainStep } from '../model/store';

export interface EventToTell {
  event_id: string;
  topic: string;
  key: string;
  sequence: number;
  position: number | null;
  partition: number | null;
  log_offset: string | null;
  cause: string;
  decided_at: number;
  sent_at: number | null;
}

/** A line of the journal of replays; `topic` is null for a read. */
export interface ReplayToTell {
  replay: number;
  at: number;
  topic: string | null;
  partition: number | null;
  log_offset: string | null;
  sent_at: number | null;
}

export function eventSteps(event: EventToTell, replays: ReplayToTell[]): ExplainStep[] {
  const { event_id: eventId, key, sequence, cause, topic, partition, log_offset: offset, position } = event;
  const steps: ExplainStep[] = [
    {
      at: at(event.decided_at),
      step: 'decided',
      text: `event ${eventId} was decided with sequence ${sequence} of ${key}${reasonOf(cause)}`,
      ...{ eventId, key, sequence, cause },
    },
  ];
  if (event.sent_at !== null) {
    const where = partition === null ? 'the embedded log' : `${topic}/${partition}@${offset}`;
    steps.push({
      at: at(event.sent_at),
      step: 'sent',
      text: `published at position ${position} to ${where}`,
      ...{ position, topic, partition, offset },
    });
  }
  return [...steps, ...replays.map(replayStep)];
}

export function replayStep({
  replay,
  topic,
  partition,
  log_offset: offset,
  ...line
}: ReplayToTell): ExplainStep {
  if (topic === null) {
    const text = `replay ${replay} had the resource read again`;
    return { at: at(line.at), step: 'read-again', text, replay };
  }
  if (line.sent_at === null) {
    const text = `replay ${replay} sends the same bytes again to ${topic}: on their way`;
    return { at: at(line.at), step: 'replaying', text, replay, topic };
  }
  return {
    at: at(line.sent_at),
    step: 'replayed',
    text: `replay ${replay} sent the same bytes again to ${topic}/${partition}@${offset}`,
    ...{ replay, topic, partition, offset },
  };
}

/** The journey of a delivery that retention has taken; `oldest` is the first that is kept. */
export function expiredSteps(oldest: number, nowMs: number): ExplainStep[] {
  const text = `it is no longer kept: the journal begins with d${oldest}`;
  return [{ at: at(nowMs), step: 'expired', text, oldest: `d${oldest}` }];
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
