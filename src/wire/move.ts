/**
 * Joins the move of a store with the two addresses that a person names.
 */
import { storeAddress } from '../config/addresses';
import { Problem } from '../model/problem';
import { type Moved, type MoveOptions, moveStore } from '../store/move/move-store';

/** Throws `settings.invalid` when `from` is not an embedded store that is there, or `to` not a scaled one. */
export async function moveBetween(
  from: string,
  to: string,
  watch: Pick<MoveOptions, 'paged' | 'readBack' | 'begunAnew' | 'interrupted'>,
): Promise<Moved> {
  const source = storeAddress.schema.safeParse(from).data;
  const target = storeAddress.schema.safeParse(to).data;
  if (source?.kind !== 'sqlite') throw new Problem('settings.invalid', '--from must be `sqlite:` and a path');
  if (target?.kind !== 'postgres')
    throw new Problem('settings.invalid', '--to must be a `postgres://` address');
  return moveStore({ file: source.path, url: target.url.open(), ...watch });
}
