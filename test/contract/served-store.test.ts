/**
 * The embedded store as it is served, on a thread of its own and behind its channel, keeps the store's contract, and the
 * model of a store. There a thread that is lost takes nobody with it who asked it.
 */
import { openServed } from './open-served';
import { storeModelSuite } from './store-model-suite';
import { storeSuites } from './store-suites';

storeSuites('served', openServed);
storeModelSuite('served', openServed, 8);
