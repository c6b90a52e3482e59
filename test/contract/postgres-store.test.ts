/**
 * The scaled store keeps the store's contract.
 */
import { describeWithNeighbour } from '../support/neighbour';
import { postgresAvailable } from '../support/postgres';
import { startPostgresStores } from './open-postgres';
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

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'the store on PostgreSQL', () => {
  let stores: Awaited<ReturnType<typeof startPostgresStores>>;
  beforeAll(async () => {
    stores = await startPostgresStores();
  });
  afterAll(() => stores.stop());

  const suites: ((name: string, open: typeof stores.openPostgres) => void)[] = [
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
  for (const suite of suites) suite('postgres', (rules) => stores.openPostgres(rules));
});
