/**
 * The alert of a state of the platform by itself, as it begins where nothing else is known: nobody was told of it. Pure.
 */
import { type Alert, type Condition, noInputs } from '../model/alert';
import { converge } from './converge';
import { type EvaluateOptions, evaluate, openOf } from './evaluate';

export interface LoneOptions
  extends Pick<EvaluateOptions, 'groupAbove' | 'journalMs' | 'runbookBase' | 'ownNames'> {
  holdMs: number;
}

/** Never throws. */
export function alertOfCondition(condition: Condition, nowMs: number, options: LoneOptions): Alert {
  const inputs = { ...noInputs, conditions: [condition], nowMs };
  const passed = evaluate(inputs, { ...options, ...openOf([]) });
  const [alert] = converge({ passed, held: [] }, [], nowMs, options) as [Alert];
  return alert;
}
