/**
 * The embedded store keeps the store's contract.
 */
import { openSqlite } from './open-sqlite';
import { storeSuites } from './store-suites';

storeSuites('sqlite', openSqlite);
