/**
 * Tells while what deliveries are known by cannot be opened: a process that is started so refuses them, and says nothing
 * else of it. Pure but for since when.
 */
import type { Condition } from '../model/alert';
import type { Clock } from '../tools/clock';
import type { HeldSecrets, UnopenedSecret } from './held-secrets';

const namedMax = 20;

/**
 * At most one condition, of what the provider is known to use; it names at most 20 subscriptions. `checksValues`: a
 * delivery is known here by its Authorization value, too. Never throws.
 */
export function makeUnopenedWatch(
  book: Pick<HeldSecrets, 'unopened'>,
  checksValues: boolean,
  clock: Pick<Clock, 'nowMs'>,
): () => Condition[] {
  let sinceMs: number | null = null;
  const isNeeded = ({ kind, state }: UnopenedSecret) =>
    state === 'active' && (kind === 'token' || checksValues);
  return () => {
    const lost = book.unopened().filter(isNeeded);
    const [first] = lost;
    if (first === undefined) {
      sinceMs = null;
      return [];
    }
    sinceMs ??= clock.nowMs();
    const ids = lost.flatMap(({ subscriptionId }) => subscriptionId ?? []).slice(0, namedMax);
    const detail =
      `What deliveries are known by cannot be opened: ${first.why}. It is ${whatOf(lost, ids)}. A process that did not know ` +
      'it before refuses what comes with it, or does not hear of the subscription';
    return [{ name: 'delivery-secret-unopened', detail, ids, sinceMs }];
  };
}

function whatOf(lost: UnopenedSecret[], ids: string[]): string {
  const tokens = lost.filter(({ kind }) => kind === 'token');
  const more = tokens.length - ids.length;
  const values = tokens.length < lost.length ? ['the Authorization value'] : [];
  const named = `the token of ${ids.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [...values, ...(tokens.length > 0 ? [named] : [])].join(', and ');
}
