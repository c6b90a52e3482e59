/**
 * The embedded store's own thread: a stalled disk stops this thread, never the event loop that answers probes. Groups
 * of calls come in as messages; checkpoints happen between groups, when none waits.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { isProblem } from '../../model/problem';
import type { StoreSettings } from './context';
import { type Call, type Engine, openEngine } from './engine';

/** Idle, the log is moved into the file beyond this size; busy, beyond the second. */
const idleBytes = 4_194_304;
const busyBytes = 134_217_728;

const port = parentPort!;
let engine: Engine | null = null;
let idle: NodeJS.Immediate | undefined;

try {
  engine = openEngine(workerData as StoreSettings, Date.now);
  port.postMessage({ opened: true });
} catch (error) {
  port.postMessage({
    opened: false,
    code: isProblem(error) ? error.code : 'store.unavailable',
    message: (error as Error).message,
  });
}

port.on('message', (message: { calls: Call[] } | 'close') => {
  if (idle !== undefined) clearImmediate(idle);
  if (message === 'close') {
    engine?.checkpoint(0);
    engine?.close();
    port.close();
    return;
  }
  const results = engine!
    .execute(message.calls)
    .map((result) =>
      'problem' in result
        ? { code: result.problem.code, message: result.problem.message }
        : { value: result.value },
    );
  port.postMessage(results);
  engine!.checkpoint(busyBytes);
  idle = setImmediate(() => engine!.checkpoint(idleBytes));
});
