/**
 * One look at the subscriptions that were made here, and at those whose tokens the settings name: what has expired is
 * renewed; what somebody ended, or what cannot be renewed, is found; a creation that got no answer is known by its token.
 * What cannot be looked at stays as it was found.
 */
import type { Condition } from '../model/alert';
import type { RawFault } from '../model/provider-data';
import type { Clock } from '../tools/clock';
import type { SeenSubscription } from './documents';
import type { SubscribeDoors } from './doors';
import { adoptGiven, givenOf, keepGiven } from './given-tokens';
import type { HeldSecret } from './held-secrets';
import type { SecretBook } from './secret-book';
import { listOne, putStatus } from './subscriptions';

export interface LookDoors extends Pick<SubscribeDoors, 'book' | 'calls' | 'connections' | 'target'> {
  clock: Clock;
}

export type Finding = Condition & { name: 'subscription-ended' | 'subscription-expired' };
/** By subscription. */
export type Findings = ReadonlyMap<string, Finding>;

/** A token whose subscription is nowhere to be found was never taken. */
const forgottenMs = 86_400_000;

/** Costs a listing for each valid connection that has subscriptions. Rejects as the store does. */
export async function lookAtSubscriptions(doors: LookDoors, before: Findings): Promise<Findings> {
  const { book, clock } = doors;
  const found = new Map<string, Finding>();
  await keepGiven(book);
  for (const { connectionId, status } of doors.connections()) {
    const own = book.held('token').filter((row) => row.connectionId === connectionId);
    if (status !== 'valid' || (own.length === 0 && book.givenTokens().length === 0)) continue;
    const { seen, fault } = await listOne(doors, connectionId);
    await adopt(doors, own, seen, fault === null);
    await adoptGiven(doors, connectionId, seen);
    const bound = boundTokens(book).filter((row) => row.connectionId === connectionId);
    const ids = [
      ...bound.map(({ subscriptionId }) => subscriptionId),
      ...givenOf(doors, seen).map(({ id }) => id),
    ];
    for (const id of new Set(ids)) {
      const subscription = seen.find((one) => one.id === id);
      const earlier = before.get(id);
      if (subscription === undefined && fault !== null) {
        if (earlier !== undefined) found.set(id, earlier);
        continue;
      }
      const trouble = subscription === undefined ? unlisted(id) : await judge(doors, subscription);
      if (trouble === null) continue;
      const sinceMs = earlier?.name === trouble.name ? earlier.sinceMs : clock.nowMs();
      found.set(id, { ...trouble, sinceMs, labels: { subscription_id: id } });
    }
  }
  return found;
}

/** Those whose subscription is known, of the settings too. */
export function boundTokens(book: SecretBook): (HeldSecret & { subscriptionId: string })[] {
  return [...book.held('token'), ...book.inState('token', 'given')].flatMap((row) =>
    row.subscriptionId === null ? [] : [{ ...row, subscriptionId: row.subscriptionId }],
  );
}

type Trouble = Pick<Finding, 'name' | 'detail'>;

function unlisted(id: string): Trouble {
  return { name: 'subscription-ended', detail: `Subscription ${id} is not listed any more.` };
}

/** null: it is as it should be, or is so again. */
async function judge(doors: LookDoors, subscription: SeenSubscription): Promise<Trouble | null> {
  const { id, status } = subscription;
  if (status === 'Terminated')
    return { name: 'subscription-ended', detail: `Subscription ${id} was ended at the provider.` };
  if (status !== 'Expired') return null;
  const fault = await putStatus(doors, subscription, 'Active');
  if (fault === null) return null;
  const detail = `Subscription ${id} has expired and is not renewed: ${wordsOf(fault)}`;
  return { name: 'subscription-expired', detail };
}

async function adopt(
  { book, clock }: LookDoors,
  own: HeldSecret[],
  seen: SeenSubscription[],
  whole: boolean,
): Promise<void> {
  for (const row of own) {
    if (row.subscriptionId !== null) continue;
    const subscription = seen.find(({ token }) => token === row.secret.open());
    if (subscription !== undefined) await book.bind(row.id, subscription.id);
    else if (whole && clock.nowMs() - row.madeAtMs >= forgottenMs) await book.drop(row.id);
  }
}

function wordsOf({ answer, detail }: RawFault): string {
  return answer === null || detail === answer.kind ? detail : `${answer.kind}, ${detail}`;
}
