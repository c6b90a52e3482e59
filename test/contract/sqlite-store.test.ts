/**
 * The embedded store keeps the store's contract.
 */
import { openSqlite } from './open-sqlite';
import { storeAccessSuite } from './store-access-suite';
import { storeCasesSuite } from './store-cases-suite';
import { storeSuite } from './store-suite';
import { storeSyncSuite } from './store-sync-suite';

for (const suite of [storeSuite, storeCasesSuite, storeAccessSuite, storeSyncSuite])
  suite('sqlite', openSqlite);
