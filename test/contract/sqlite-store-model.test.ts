/**
 * The embedded store against the model of a store.
 */
import { openSqlite } from './open-sqlite';
import { storeModelSuite } from './store-model-suite';

storeModelSuite('sqlite', openSqlite);
