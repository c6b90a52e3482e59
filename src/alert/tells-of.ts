/**
 * What an alert that is stored says of the platform now. Pure.
 */
import type { Alert, ConditionName } from '../model/alert';
import { conditionRows } from './catalogue';

/** Whether it says that this state holds: it fires, and is not merely held open after that has ended. */
export function tellsOf(
  { name, state, quietSinceMs }: Pick<Alert, 'name' | 'state' | 'quietSinceMs'>,
  condition: ConditionName,
): boolean {
  return name === conditionRows[condition].name && state === 'firing' && quietSinceMs === null;
}
