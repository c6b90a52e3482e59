/**
 * The scaled store keeps the store's contract.
 */
import { describeWithNeighbour } from '../support/neighbour';
import { postgresAvailable } from '../support/postgres';
import { startPostgresStores } from './open-postgres';
import { storeSuites } from './store-suites';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'the store on PostgreSQL', () => {
  let stores: Awaited<ReturnType<typeof startPostgresStores>>;
  beforeAll(async () => {
    stores = await startPostgresStores();
  });
  afterAll(() => stores.stop());

  storeSuites('postgres', (rules) => stores.openPostgres(rules));
});
