// The store's whole contract, for every way in which a store is opened.
import type { StoreRules } from '../../src/store/store-rules';
import { storeAccessSuite } from './store-access-suite';
import { storeAheadSuite } from './store-ahead-suite';
import { storeAlertsSuite } from './store-alerts-suite';
import { storeBehindSuite } from './store-behind-suite';
import { storeCasesSuite } from './store-cases-suite';
import { storeClockSuite } from './store-clock-suite';
import { storeConnectionsSuite } from './store-connections-suite';
import { storeDamageSuite } from './store-damage-suite';
import { storeExplainSuite } from './store-explain-suite';
import { storeForgetSuite } from './store-forget-suite';
import type { DamageableStore } from './store-hand';
import { storeHastenSuite } from './store-hasten-suite';
import { storeHeldSuite } from './store-held-suite';
import { storeReplaySuite } from './store-replay-suite';
import { storeRetentionSuite } from './store-retention-suite';
import { storeSuite } from './store-suite';
import { storeSyncSuite } from './store-sync-suite';
import { storeVersionsSuite } from './store-versions-suite';

export type OpenStore = (rules?: Partial<StoreRules>) => Promise<DamageableStore>;

const suites: ((name: string, open: OpenStore) => void)[] = [
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
  storeAheadSuite,
  storeBehindSuite,
  storeDamageSuite,
  storeHeldSuite,
  storeForgetSuite,
  storeHastenSuite,
  storeVersionsSuite,
];

export function storeSuites(name: string, open: OpenStore): void {
  for (const suite of suites) suite(name, open);
}
