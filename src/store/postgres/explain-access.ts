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
import { eventColumns, toldEvents } from './told-events';

/** null: it is no such key, or none that ever had an event. */
export async function explainAccess(context: Context, of: string): Promise<ExplainStep[] | null> {
  if (!isAccessKey(of)) return null;
  const known = await context.database.get('SELECT 1 AS there FROM sequences WHERE key = $1', of);
  if (known === undefined) return null;
  const events = await rows<EventToTell>(
    context,
    `SELECT ${eventColumns} FROM outbox WHERE key = $1 AND task_id IS NULL ORDER BY id DESC LIMIT $2`,
    of,
    rowsMax,
  );
  const transitions = await rows<NumberedTransition>(
    context,
    `SELECT epoch, at, access, previous, cause, said_by, asked_by FROM organization_history
     WHERE organization_id = $1 AND epoch = ANY($2::bigint[])`,
    partsOf(of).organizationId,
    epochsOf(events),
  );
  return accessJourney(await toldEvents(context, events.reverse()), transitions, context.nowMs());
}
