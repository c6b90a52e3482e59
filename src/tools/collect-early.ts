/**
 * Keeps a thread's garbage small. Where memory is plentiful V8 lets garbage grow to hundreds of megabytes before it
 * collects; here it is asked to when the heap has become twice what lived after the last time. No limit: what lives is
 * never refused memory.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const everyMs = 500;
/** A heap of this size is left alone. */
const heapBytesMin = 56 * 1024 * 1024;

/** Looks at the heap of this thread twice a second until the process ends; keeps no process alive. */
export function collectEarly(): void {
  setFlagsFromString('--expose-gc');
  // What is young keeps the room that it has after the start, of 16 MB: it would grow to 128 MB.
  setFlagsFromString('--semi-space-growth-factor=1');
  const collect = runInNewContext('gc') as () => void;
  let livingBytes = 0;
  setInterval(() => {
    if (getHeapStatistics().total_heap_size < Math.max(heapBytesMin, 2 * livingBytes)) return;
    collect();
    livingBytes = getHeapStatistics().total_heap_size;
  }, everyMs).unref();
}
