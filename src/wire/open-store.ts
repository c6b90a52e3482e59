/**
 * Opens the store that the settings name, for the service and for a command beside none: without what a worker is made of.
 */
import type { Settings } from '../config';
import type { Store } from '../model/store';
import { openStore as openStoreWith } from '../store/open-store';
import type * as Postgres from '../store/postgres/open-postgres';
import type { SetAside } from '../store/quarantine-entry';
import { storeFault } from './opening-faults';
import * as options from './options';

/**
 * Opens the store that the settings name; `waits` hears whom it waits for until then, and `setAside` of all that it puts into
 * quarantine. Throws `store.locked`, `store.unavailable`, `settings.invalid`.
 */
export async function openStore(
  settings: Settings,
  waits: (detail: string) => void,
  setAside?: SetAside,
): Promise<Store> {
  const store = options.storeOptions(settings);
  try {
    if (!('url' in store)) return await openStoreWith(store, setAside);
    // Its client takes a megabyte, which a process with the embedded store has no use for.
    const { openPostgres } = require('../store/postgres/open-postgres') as typeof Postgres;
    return await openPostgres(store, null, setAside, waits);
  } catch (error) {
    throw storeFault(error, settings.databaseUrl);
  }
}
