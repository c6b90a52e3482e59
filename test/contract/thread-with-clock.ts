// The store's own thread as `serve` has it, but for the clock: it stands where the test says. Started from dist/.
import { workerData } from 'node:worker_threads';

const nowMs = new BigInt64Array((workerData as { clock: SharedArrayBuffer }).clock);
Date.now = () => Number(Atomics.load(nowMs, 0));

// Only now: the thread opens the store as it is loaded.
require('../../src/store/sqlite/thread');
