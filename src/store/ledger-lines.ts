/**
 * The lines of hints, as SQL that both stores understand: `t` is the task, `o` the organization whose turn it takes, `d` the
 * read that covers the hint, `e` the event which that decided.
 */
import { awaitsAnother } from './event-steps';

/**
 * When the last event went that may have been taken by a version that did not mark the reads of what it took: positions
 * rise with the time of sending, so it was sent before the first above it. Below 0 where none was.
 */
const unmarkedUntil = `(SELECT CASE WHEN m.value = 0 THEN -1 ELSE coalesce(
    (SELECT f.sent_at FROM outbox f WHERE f.position > m.value ORDER BY f.position LIMIT 1), 9007199254740991) END
  FROM (SELECT CASE WHEN f.value > k.value THEN f.value ELSE u.value END AS value FROM meta f, meta k, meta u
    WHERE f.name = 'floor' AND k.name = 'marked' AND u.name = 'unmarked') m)`;

/**
 * What an event has become so far: it is published when it is sent, also while a replay has it go once more, and with an
 * operator when Kafka refused it. One that was set aside waits until its resource is published anew. One that is not there
 * and that retention has not taken has become nothing: no line holds it, and the ledger does not add up. `readTask` is the
 * store's, of `e`.
 */
export const publishedLineBy = (readTask: string): string => `CASE e.state
  WHEN 0 THEN CASE WHEN e.position IS NULL THEN 'waiting' ELSE 'published' END WHEN 3 THEN
    CASE (SELECT q.state FROM quarantine q WHERE q.outbox_id = e.id ORDER BY q.id DESC LIMIT 1)
      WHEN 'discarded' THEN 'discarded' WHEN 'released' THEN 'merged' ELSE 'quarantined' END
  WHEN 4 THEN CASE WHEN ${awaitsAnother(readTask)} THEN 'waiting' ELSE 'merged' END
  ELSE CASE WHEN e.id IS NOT NULL OR d.swept OR d.at <= ${unmarkedUntil} THEN 'published' END END`;

/** Of what no read covers yet: it waits, for a customer where the organization is blocked, or with an operator. */
export const waitingLine = `CASE WHEN t.state = 'quarantined' THEN 'quarantined'
  WHEN t.due_at IS NOT NULL AND o.access IS NOT NULL AND o.access <> 'active' THEN 'parked' ELSE 'waiting' END`;
