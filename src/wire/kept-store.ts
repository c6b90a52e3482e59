/**
 * Whether the settings name a store that is there already and of this version. For commands that only ask: a store that
 * they made would answer that nothing is to be done, and one that they brought to this version is no longer what the
 * service that runs on it was started with. Nothing is made or changed here.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Settings } from '../config';
import type * as Migrate from '../store/postgres/migrate';
import type * as Database from '../store/postgres/server/database';
import { mustBeCurrent, mustBeMakeable, mustBeStore } from '../store/sqlite/database';
import { storeFault } from './opening-faults';

/** Throws `settings.invalid`, which names the setting and the whole path, when there is none; `store.locked`. */
export const mustHaveStore = (settings: Settings): void => mustPass(mustBeStore, settings);

/** Throws `settings.invalid`, which names the setting and the whole path, where none is and none can be made. */
export const mustHavePlace = (settings: Settings): void => mustPass(mustBeMakeable, settings);

function mustPass(must: (file: string) => void, { databaseUrl }: Settings): void {
  if (databaseUrl.kind !== 'sqlite') return;
  try {
    must(resolve(databaseUrl.path));
  } catch (error) {
    throw storeFault(error, databaseUrl);
  }
}

/** As `mustHaveStore`, of a database on a server too; throws `store.older` where it is to be migrated, and as opening it does. */
export async function mustHaveCurrentStore({ databaseUrl }: Settings): Promise<void> {
  try {
    if (databaseUrl.kind === 'sqlite') return mustBeCurrent(resolve(databaseUrl.path));
    const { mustBeMigrated } = require('../store/postgres/migrate') as typeof Migrate;
    const { poolConfig } = require('../store/postgres/server/database') as typeof Database;
    await mustBeMigrated(poolConfig({ url: databaseUrl.url.open(), connections: 1 }));
  } catch (error) {
    throw storeFault(error, databaseUrl);
  }
}

/** The path of the embedded store that is named and that nobody has made yet; null where there is one, or none is named. */
export function missingFile({ databaseUrl }: Settings): string | null {
  if (databaseUrl.kind !== 'sqlite') return null;
  const path = resolve(databaseUrl.path);
  return existsSync(path) ? null : path;
}
