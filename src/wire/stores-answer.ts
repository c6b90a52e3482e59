/**
 * What a check asks the store beside the store's own line: a store that hangs is named there, and must not make a part fail
 * that it says nothing against.
 */
import { Problem } from '../model/problem';
import { type Clock, endsWithin } from '../tools/clock';

/** Shorter than a check waits for a part: what is late then is the store. */
const heardMsMax = 3000;

/** As `asked`; throws `store.unavailable` when it takes longer than 3 s. */
export async function storesAnswer<Told>(asked: Promise<Told>, clock: Clock): Promise<Told> {
  if (await endsWithin(asked, heardMsMax, clock)) return asked;
  throw new Problem('store.unavailable', `the store gives no answer within ${heardMsMax / 1000} s`);
}
