/**
 * Joins the move of a store with the two addresses that a person names.
 */
import { storeAddress } from '../config/addresses';
import { Problem } from '../model/problem';
import { type Moved, type MoveOptions, moveStore } from '../store/move/move-store';
import { storeFault } from './opening-faults';

/**
 * Throws `settings.invalid` when `from` is not an embedded store that is there, or `to` not a scaled one, and what a move
 * throws: each says which of both it is about, and of a server where it was looked for, never its credentials.
 */
export async function moveBetween(
  from: string,
  to: string,
  watch: Pick<MoveOptions, 'paged' | 'readBack' | 'waits' | 'begunAnew' | 'interrupted'>,
): Promise<Moved> {
  const source = storeAddress.schema.safeParse(from).data;
  const target = storeAddress.schema.safeParse(to).data;
  if (source?.kind !== 'sqlite') throw new Problem('settings.invalid', '--from must be `sqlite:` and a path');
  if (target?.kind !== 'postgres')
    throw new Problem('settings.invalid', '--to must be a `postgres://` address');
  const faultOf: MoveOptions['faultOf'] = (end, error) =>
    end === 'from' ? storeFault(error, source, '--from') : storeFault(error, target, '--to');
  return moveStore({ file: source.path, url: target.url.open(), faultOf, ...watch });
}
