/**
 * Which subscriptions deliver here in vain: their deliveries must carry a token that is known, and none of theirs is, as after
 * they were ended where nobody could ask the provider. Pure.
 */
import { deliversTo, objectOf, type SeenSubscription } from './documents';
import type { SubscribeDoors } from './doors';

/** False wherever that is not certain: of one that may deliver elsewhere, or whose token is not shown and may be held. */
export function isRefusedHere(
  { book, needsToken, target }: Pick<SubscribeDoors, 'book' | 'needsToken' | 'target'>,
  subscription: SeenSubscription,
): boolean {
  const { id, status, token, body } = subscription;
  if (!needsToken || target === null || status === 'Terminated') return false;
  const { uri } = objectOf(body.targetEndpoint);
  if (typeof uri !== 'string' || !deliversTo(subscription, target)) return false;
  const unopened = book.unopened().filter(({ kind }) => kind === 'token');
  const stored = [...book.held('token'), ...book.inState('token', 'given'), ...unopened];
  if (stored.some(({ subscriptionId }) => subscriptionId === id)) return false;
  if (token !== null) return !book.tokens().some((known) => known.token.open() === token);
  const isFree = stored.some(({ subscriptionId }) => subscriptionId === null);
  return !isFree && !book.givenTokens().some((given) => given.id === null);
}
