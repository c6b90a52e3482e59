// What a process holds, told by itself: every so often one JSON line with its memory, its timers and its open handles, for
// whoever watches whether they grow. Memory is told after a collection; timers are those that are still set, also such as
// keep nothing alive. To be loaded before the program; says nothing unless TELL_RESOURCES_MS is set.
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export type Resources = {
  line: 'resources';
  atMs: number;
  /** Bytes. */
  resident: number;
  /** Bytes of living objects and of buffers beside them. */
  living: number;
  timers: number;
  /** Sockets, servers, watchers, requests to the system: what keeps the process alive, but for timers. */
  handles: number;
  /** Open files, sockets among them. */
  files: number;
};

const everyMs = Number(process.env.TELL_RESOURCES_MS ?? 0);

type Timer = NodeJS.Timeout & { _destroyed?: boolean };

/** Every timer that was set, until it is seen to have ended. */
const timers = new Set<Timer>();

/** Timers say nowhere how many they are: from here on each is noted when it is set. */
function noteTimers(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const set = globalThis[name] as (...given: unknown[]) => Timer;
    const noting = (...given: unknown[]) => {
      const timer = set(...given);
      timers.add(timer);
      return timer;
    };
    Object.defineProperties(noting, Object.getOwnPropertyDescriptors(set));
    Object.assign(globalThis, { [name]: noting });
  }
}

function look(collect: () => void): Resources {
  for (const timer of timers) if (timer._destroyed === true) timers.delete(timer);
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  const active = process
    .getActiveResourcesInfo()
    .filter((kind) => kind !== 'Timeout' && kind !== 'Immediate');
  return {
    line: 'resources',
    atMs: Date.now(),
    resident: rss,
    living: heapUsed + external,
    timers: timers.size,
    handles: active.length,
    files: readdirSync('/proc/self/fd').length,
  };
}

if (everyMs > 0) {
  noteTimers();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const tell = () => process.stdout.write(`${JSON.stringify(look(collect))}\n`);
  setInterval(tell, everyMs).unref();
}
