/**
 * The embedded store keeps the store's contract.
 */
import { openSqlite } from './open-sqlite';
import { storeAccessSuite } from './store-access-suite';
import { storeAlertsSuite } from './store-alerts-suite';
import { storeBehindSuite } from './store-behind-suite';
import { storeCasesSuite } from './store-cases-suite';
import { storeClockSuite } from './store-clock-suite';
import { storeConnectionsSuite } from './store-connections-suite';
import { storeDamageSuite } from './store-damage-suite';
import { storeExplainSuite } from './store-explain-suite';
import { storeReplaySuite } from './store-replay-suite';
import { storeRetentionSuite } from './store-retention-suite';
import { storeSuite } from './store-suite';
import { storeSyncSuite } from './store-sync-suite';

const suites = [
  storeSuite,
  storeCasesSuite,
  storeClockSuite,
  storeAccessSuite,
  storeAlertsSuite,
  storeConnectionsSuite,
  storeSyncSuite,
  storeExplainSuite,
  storeReplaySuite,
  storeRetentionSuite,
  storeBehindSuite,
  storeDamageSuite,
];
for (const suite of suites) suite('sqlite', openSqlite);
