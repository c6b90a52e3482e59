/**
 * A fault that nobody caught ends the process, and with it the counters that would tell. So the store keeps when that
 * happened last, for whichever process is scraped next. An end that was asked for, and a kill, leave nothing there.
 */
import type { Store } from '../model/store';
import type { Observer } from '../observe/observer';
import { endsWithin, systemClock } from '../tools/clock';

/** A lease that is held for no time: since when it is free is what is kept. */
const mark = 'ended-by-fault';
/** A store that does not answer has an alert of its own. */
const patienceMs = 1000;

/** From now on such a fault is told, noted in the store within a second, and ends the process with exit code 1. */
export function endOnFault(observer: Observer, store: Pick<Store, 'holdLease'>): void {
  let isEnding = false;
  const fatal = async (error: unknown): Promise<void> => {
    // What follows from it is no news.
    if (isEnding) return;
    isEnding = true;
    try {
      observer.fault('process', error);
      observer.log.flush();
      await endsWithin(store.holdLease(mark, String(process.pid), 0), patienceMs, systemClock);
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);
}

/** How long ago a process that shares the store ended so; null where none did. */
export function endedByFaultMs(store: Pick<Store, 'leaseFreeMs'>): Promise<number | null> {
  return store.leaseFreeMs(mark);
}
