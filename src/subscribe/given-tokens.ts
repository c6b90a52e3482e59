/**
 * The subscriptions whose tokens stand in the settings: made elsewhere, and watched as far as they can be known, by the
 * token that the provider shows with them and by their heartbeats. Nothing is accepted or refused for it.
 */

import { deliversTo, type SeenSubscription } from './documents';
import type { SubscribeDoors } from './doors';
import type { HeldSecret } from './held-secrets';
import type { SecretBook } from './secret-book';

/** Keeps what the settings name and lets go of what they name no more. Rejects as the store does. */
export async function keepGiven(book: SecretBook): Promise<void> {
  const named = new Set(book.givenTokens().map(({ token }) => token.open()));
  for (const row of book.inState('token', 'given')) {
    if (!named.has(row.secret.open())) await book.drop(row.id);
  }
  // Another is kept in its place, or the settings name it no more.
  for (const { id, state } of book.lost()) if (state === 'given') await book.drop(id);
  for (const token of book.givenTokens()) {
    if (token.id === null && token.token.open() !== '') await book.keep(token);
  }
}

/** Those of `seen` that deliver here with a token of the settings, and have not ended. */
export function givenOf(
  { book, target }: Pick<SubscribeDoors, 'book' | 'target'>,
  seen: readonly SeenSubscription[],
): SeenSubscription[] {
  const named = new Set(book.givenTokens().map(({ token }) => token.open()));
  return seen.filter(
    (one) =>
      one.token !== null && named.has(one.token) && one.status !== 'Terminated' && deliversTo(one, target),
  );
}

/** Each token of the settings stands for the first of its subscriptions, and for another one when that has ended. */
export async function adoptGiven(
  doors: Pick<SubscribeDoors, 'book' | 'connections' | 'target'>,
  connectionId: string,
  seen: SeenSubscription[],
): Promise<void> {
  const { book } = doors;
  const valid = doors.connections().filter(({ status }) => status === 'valid');
  const known = new Set(valid.map((connection) => connection.connectionId));
  const live = givenOf(doors, seen);
  for (const row of book.inState('token', 'given')) {
    const elsewhere = row.connectionId !== null && row.connectionId !== connectionId;
    if (elsewhere && known.has(row.connectionId as string)) continue;
    const own = live.filter(({ token }) => token === row.secret.open());
    const same = own.find(({ id }) => id === row.subscriptionId);
    const next = same ?? own[0];
    if (next === undefined || (same !== undefined && !elsewhere)) continue;
    await book.bind(row.id, next.id, { connectionId });
  }
}

/** How a token of the settings is called whose subscription nobody has seen; null: the settings do not name it. */
export function nameOfGiven(book: SecretBook, { id }: Pick<HeldSecret, 'id'>): string | null {
  const at = book.givenTokens().findIndex((token) => token.id === id);
  return at < 0 ? null : `token-${at + 1}`;
}
