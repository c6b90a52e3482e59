/**
 * Traces of which few are kept: whatever belongs to one that is not is told apart by its ids alone, before the SDK is
 * asked, since a span that nobody keeps costs there almost what a kept one does. Which are kept is decided by the sampler;
 * this says the same, sooner.
 */
import { formatTraceparent, keptContextOf, makeIdPool, parseTraceparent, type Traces } from './traces';

export interface SparseParts {
  /** Where kept ones are recorded. Root spans must get their trace's id from `nextTraceId`. */
  recorded: Traces;
  /** What the sampler says of a trace that begins here. */
  isKept(traceId: string): boolean;
  ids: TraceIds;
}

/** Ids for the SDK: the trace of the next root span may be decided before it begins. */
export interface TraceIds {
  draw(bytes: number): string;
  generateTraceId(): string;
  generateSpanId(): string;
  /** The trace of the next root span. */
  beginWith(traceId: string): void;
}

export function makeTraceIds(): TraceIds {
  const draw = makeIdPool();
  let decided: string | null = null;
  return {
    draw,
    generateTraceId() {
      const id = decided ?? draw(16);
      decided = null;
      return id;
    },
    generateSpanId: () => draw(8),
    beginWith(traceId) {
      decided = traceId;
    },
  };
}

export function makeSparseTraces({ recorded, isKept, ids }: SparseParts): Traces {
  const nothing = { end: () => {} };
  const notKept = (traceId: string) => ({
    traceparent: formatTraceparent({ traceId, spanId: ids.draw(8), traceFlags: 0 }),
    end: nothing.end,
  });
  return {
    startDelivery(incoming) {
      const parent = parseTraceparent(incoming);
      const traceId = parent?.traceId ?? ids.draw(16);
      if (!isKept(traceId)) return notKept(traceId);
      if (parent === null) ids.beginWith(traceId);
      return recorded.startDelivery(incoming);
    },
    startAttempt(delivery, kind) {
      const parent = parseTraceparent(delivery);
      const isOver = parent !== null && (parent.traceFlags & 1) === 0;
      return isOver ? notKept(parent.traceId) : recorded.startAttempt(delivery, kind);
    },
    startFetch: (attempt, request) =>
      attempt.endsWith('-00') ? nothing : recorded.startFetch(attempt, request),
    // Kept with any of its records: many go together, and the journey of one must not end before the topic.
    startSend: (to, batches) =>
      batches.some(({ rows }) => rows.some((row) => keptContextOf(row) !== null))
        ? recorded.startSend(to, batches)
        : nothing,
  };
}
