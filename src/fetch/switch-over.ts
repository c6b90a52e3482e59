/**
 * A refused OAuth 1 token may be one that nobody can mend by another consent of the same kind: the provider ends them
 * (contract section 5, rule 5). Adds to such a refusal what to do about it. Pure; decides no state.
 */
import { type ConnectionAuth, oauth1Ending } from '../model/connection';
import type { Verdict } from './classify';

/** The provider's words first, then ours; every other verdict, and every other connection's, as it was. */
export function nameSwitchOver(verdict: Verdict, auth: ConnectionAuth | undefined): Verdict {
  if (verdict.kind !== 'reauthorize' || auth !== 'oauth1') return verdict;
  const { message } = verdict;
  return { ...verdict, message: message === null ? oauth1Ending : `${message}. ${oauth1Ending}` };
}
