/**
 * Tells while what deliveries are known by cannot be opened: a process that is started so refuses them, and says nothing
 * else of it. Pure but for since when.
 */
import type { Condition } from '../model/alert';
import type { Clock } from '../tools/clock';
import type { HeldSecrets, UnopenedSecret } from './held-secrets';

const namedMax = 20;

export interface UnopenedDoors {
  book: Pick<HeldSecrets, 'unopened'>;
  /** A delivery is known here by its Authorization value, too. */
  checksValues: boolean;
  /** The settings name such values. */
  namesValues: boolean;
  clock: Pick<Clock, 'nowMs'>;
}

/**
 * At most one condition, of what the provider is known to use, and of replaced values where the settings may name them
 * still; it names at most 20 subscriptions. Never throws.
 */
export function makeUnopenedWatch(doors: UnopenedDoors): () => Condition[] {
  const { book, checksValues, namesValues, clock } = doors;
  let sinceMs: number | null = null;
  const isNeeded = ({ kind, state }: UnopenedSecret) =>
    kind === 'token'
      ? state === 'active'
      : checksValues && (state === 'active' || (state === 'retired' && namesValues));
  return () => {
    const closed = book.unopened().filter(isNeeded);
    const [first] = closed;
    if (first === undefined) {
      sinceMs = null;
      return [];
    }
    sinceMs ??= clock.nowMs();
    const ids = closed.flatMap(({ subscriptionId }) => subscriptionId ?? []).slice(0, namedMax);
    const what = `What deliveries are known by cannot be opened: ${first.why}. It is ${whatOf(closed, ids)}.`;
    const detail = `${what} ${effectOf(closed)}`;
    // What comes with a replaced value is taken, not refused.
    return [{ name: 'delivery-secret-unopened', detail, ids, sinceMs, losesNothing: !closed.some(isActive) }];
  };
}

function whatOf(closed: UnopenedSecret[], ids: string[]): string {
  const tokens = closed.filter(({ kind }) => kind === 'token');
  const values = closed.filter(({ kind }) => kind === 'authorization');
  const more = tokens.length - ids.length;
  return [
    ...(values.some(isActive) ? ['the Authorization value'] : []),
    ...(values.every(isActive) ? [] : ['an Authorization value that was replaced']),
    ...(tokens.length === 0 ? [] : [`the token of ${ids.join(', ')}${more > 0 ? ` and ${more} more` : ''}`]),
  ].join(', and ');
}

/** Of a process that did not know it before. */
function effectOf(closed: UnopenedSecret[]): string {
  const refused =
    'A process that did not know it before refuses what comes with it, or does not hear of the subscription';
  const accepted = 'What comes with a replaced value is accepted again where WEBHOOK_AUTHORIZATION names it';
  return [...(closed.some(isActive) ? [refused] : []), ...(closed.every(isActive) ? [] : [accepted])].join(
    '. ',
  );
}

function isActive({ state }: UnopenedSecret): boolean {
  return state === 'active';
}
