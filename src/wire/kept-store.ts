/**
 * Whether the settings name a store that is there already. For commands that only ask: a store that they made would answer
 * that nothing is to be done. Nothing is made or changed here; a database on a server is for its own opening to judge.
 */
import { resolve } from 'node:path';
import type { Settings } from '../config';
import { mustBeStore } from '../store/sqlite/database';
import { storeFault } from './opening-faults';

/** Throws `settings.invalid`, which names the setting and the whole path, when there is none; `store.locked`. */
export function mustHaveStore({ databaseUrl }: Settings): void {
  if (databaseUrl.kind !== 'sqlite') return;
  try {
    mustBeStore(resolve(databaseUrl.path));
  } catch (error) {
    throw storeFault(error);
  }
}
