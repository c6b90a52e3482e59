/**
 * The scaled store against the model of a store.
 */
import { describeWithNeighbour } from '../support/neighbour';
import { postgresAvailable } from '../support/postgres';
import { startPostgresStores } from './open-postgres';
import { storeModelSuite } from './store-model-suite';

/** Each step is some ten transactions, each of them flushed. */
const numRuns = 8;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'the model of a store on PostgreSQL', () => {
  let stores: Awaited<ReturnType<typeof startPostgresStores>>;
  beforeAll(async () => {
    stores = await startPostgresStores();
  });
  afterAll(() => stores.stop());

  storeModelSuite('postgres', (rules) => stores.openPostgres(rules), numRuns);
});
