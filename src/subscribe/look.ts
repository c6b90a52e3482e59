/**
 * One look at the subscriptions that were made here, and at those whose tokens the settings name: what has expired is
 * renewed; what somebody ended, or what cannot be renewed, is found; a creation that got no answer is known by its token.
 * Where the consent that made one is gone, any other connection that lists it takes it over. What cannot be looked at
 * stays as it was found, and what came malformed is told.
 */
import type { Condition } from '../model/alert';
import { asSentence } from '../model/as-sentence';
import type { Connection } from '../model/connection';
import type { Clock } from '../tools/clock';
import type { SeenSubscription } from './documents';
import type { SubscribeDoors } from './doors';
import { adoptGiven, givenOf, keepGiven } from './given-tokens';
import type { HeldSecret } from './held-secrets';
import type { SecretBook } from './secret-book';
import { listOne, putStatus } from './subscriptions';

export interface LookDoors
  extends Pick<SubscribeDoors, 'book' | 'calls' | 'connections' | 'target' | 'problemOf'> {
  clock: Clock;
  /** What was told of subscriptions, by whichever process, and is not over. */
  open(): Promise<Open[]>;
  /** What the provider lists cannot be read; nobody asked for it. */
  failed(error: unknown): void;
}

export type Finding = Condition & { name: 'subscription-ended' | 'subscription-expired' };
/** By subscription. */
export type Findings = ReadonlyMap<string, Finding>;

/** A finding of which it is told: what is left of one when who found it is no more. */
export type Open = Pick<Finding, 'name' | 'sinceMs'> & { subscriptionId: string };

const wordsOfOpen: Record<Finding['name'], string> = {
  'subscription-ended': 'was found to have ended',
  'subscription-expired': 'was found expired and was not renewed',
};

/** As far as nobody can look anew. */
function foundBefore(open: Open[]): Findings {
  return new Map(
    open.map(({ name, sinceMs, subscriptionId: id }): [string, Finding] => {
      const detail = `Subscription ${id} ${wordsOfOpen[name]}, and cannot be looked at now.`;
      return [id, { name, sinceMs, detail, labels: { subscription_id: id } }];
    }),
  );
}

/** A token whose subscription is nowhere to be found was never taken. */
const forgottenMs = 86_400_000;

export interface Look {
  findings: Findings;
  /** Every connection's listing was read: what is not found is as it should be. */
  whole: boolean;
}

/**
 * Costs a listing for each valid connection that may have some. Where the last look was none that was whole, somebody else, or
 * this process in a former life, may have found what nobody can look at any more. Rejects as the store does.
 */
export async function lookAtSubscriptions(doors: LookDoors, last: Look): Promise<Look> {
  const { book } = doors;
  const before = last.whole ? last.findings : new Map([...foundBefore(await doors.open()), ...last.findings]);
  const found = new Map<string, Finding>();
  await keepGiven(book);
  const valid = doors.connections().filter(({ status }) => status === 'valid');
  let whole = valid.length > 0;
  for (const connection of valid) {
    const { connectionId } = connection;
    const own = book.held('token').filter((row) => row.connectionId === connectionId);
    const left = leftOf(book.held('token'), valid);
    if (own.length + left.length === 0 && book.givenTokens().length === 0) continue;
    const { seen, fault } = await listOne(doors, connectionId);
    whole &&= fault === null;
    if (fault !== null && fault.answer === null) doors.failed(doors.problemOf(fault));
    await adopt(doors, own, seen, fault === null);
    await takeOver(book, left, seen, connection);
    await adoptGiven(doors, connectionId, seen);
    await judgeAll(doors, connectionId, seen, fault === null, { before, found });
  }
  // What nobody can look at now stays as it was found: the refused consent is an alert of its own.
  for (const { subscriptionId: id } of leftOf(boundTokens(book), valid)) {
    const earlier = before.get(id);
    if (earlier !== undefined && !found.has(id)) found.set(id, earlier);
  }
  return { findings: found, whole };
}

/** What one connection lists, each as it should be or found. */
async function judgeAll(
  doors: LookDoors,
  connectionId: string,
  seen: SeenSubscription[],
  whole: boolean,
  { before, found }: { before: Findings; found: Map<string, Finding> },
): Promise<void> {
  const bound = boundTokens(doors.book).filter((row) => row.connectionId === connectionId);
  const ids = [
    ...bound.map(({ subscriptionId }) => subscriptionId),
    ...givenOf(doors, seen).map(({ id }) => id),
  ];
  for (const id of new Set(ids)) {
    const subscription = seen.find((one) => one.id === id);
    const earlier = before.get(id);
    if (subscription === undefined && !whole) {
      if (earlier !== undefined) found.set(id, earlier);
      continue;
    }
    const trouble = subscription === undefined ? unlisted(id) : await judge(doors, subscription);
    if (trouble !== null) found.set(id, findingOf(doors, id, trouble, earlier));
  }
}

function findingOf(
  { clock }: LookDoors,
  id: string,
  trouble: Trouble,
  earlier: Finding | undefined,
): Finding {
  const sinceMs = earlier?.name === trouble.name ? earlier.sinceMs : clock.nowMs();
  return { ...trouble, sinceMs, labels: { subscription_id: id } };
}

/** Those of a connection that is refused, or is no more. */
function leftOf<Row extends HeldSecret>(rows: Row[], valid: readonly Connection[]): Row[] {
  const known = new Set(valid.map(({ connectionId }) => connectionId));
  return rows.filter(({ connectionId }) => connectionId !== null && !known.has(connectionId));
}

/** A connection that lists one may renew it, and what it announces is read by its user's. */
async function takeOver(
  book: SecretBook,
  left: HeldSecret[],
  seen: SeenSubscription[],
  { connectionId, user }: Connection,
): Promise<void> {
  for (const row of left) {
    const subscription = seen.find(({ id, token }) =>
      row.subscriptionId === null ? token === row.secret.open() : id === row.subscriptionId,
    );
    if (subscription !== undefined) await book.bind(row.id, subscription.id, { connectionId, user });
  }
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
  const { message } = doors.problemOf({ ...fault, address: null });
  const detail = asSentence(`Subscription ${id} has expired and is not renewed: ${message}`);
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
