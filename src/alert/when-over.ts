/**
 * What is left to do when an alert is over: where it was a gap, that does not fill by itself. Pure.
 */
import type { Alert, Condition, ConditionName } from '../model/alert';

const unannounced =
  'The next sync finds what was not announced meanwhile: `tramline sync` begins one where none is due.';

/** One sentence each; of the others nothing is left to do. */
const sentences: Partial<Record<ConditionName, string>> = {
  'delivery-secret-unopened': unannounced,
  'store-unavailable': unannounced,
  'subscription-ended': unannounced,
  'subscription-expired': unannounced,
  'subscription-silent': unannounced,
};

/** As an annotation; none where nothing is left. */
export function whenOverOf({ name, whenOver, losesNothing }: Condition): { when_over?: string } {
  const sentence = whenOver ?? (losesNothing ? undefined : sentences[name]);
  return sentence === undefined ? {} : { when_over: sentence };
}

/** Once said of an incident it stays, whatever else befell it since: the gap is there. */
export function keptWhenOver({ annotations }: Alert, said: Record<string, string>): Record<string, string> {
  const { when_over } = annotations;
  return when_over === undefined ? said : { when_over, ...said };
}
