/**
 * Loads the events that tell of an organization's access, by their key, and the changes that they tell of. Rows only, each
 * found by an index.
 */
import type { ExplainStep } from '../../model/inspection';
import { partsOf } from '../../model/resource';
import { accessJourney, epochsOf, isAccessKey, type NumberedTransition } from '../access-journey';
import type { EventToTell } from '../event-steps';
import { rowsMax } from '../left-out';
import { rows } from './asked-for';
import type { Context } from './context';
import { eventColumns, toldEvent } from './told-event';

/** null: it is no such key, or none that ever had an event. */
export function explainAccess(context: Context, of: string): ExplainStep[] | null {
  if (!isAccessKey(of)) return null;
  if (context.database.get('SELECT 1 FROM sequences WHERE key = ?', of) === undefined) return null;
  const events = rows<EventToTell>(
    context,
    `SELECT ${eventColumns} FROM outbox WHERE key = ? AND task_id IS NULL ORDER BY id DESC LIMIT ?`,
    of,
    rowsMax,
  ).reverse();
  const transitions = rows<NumberedTransition>(
    context,
    `SELECT epoch, at, access, previous, cause, said_by, asked_by FROM organization_history
     WHERE organization_id = ? AND epoch IN (SELECT value FROM json_each(?))`,
    partsOf(of).organizationId,
    JSON.stringify(epochsOf(events)),
  );
  const told = events.map((event) => toldEvent(context, event));
  return accessJourney(told, transitions, context.nowMs());
}
