// The service as `serve` builds it, with one more door before each way to the outside: at a named step the process kills
// itself, or stops answering, as the test asked for in FAILPOINT; with FAILPOINT_SIGNAL it sends itself another signal
// there, once: SIGTERM, or SIGSTOP, the latter not before it was sent SIGUSR2, since whoever waits for it to be ready could
// not continue it. Only this program reads those variables, and says `{"failpoint": …}` before it stops.
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { loadSettings } from '../../src/config';
import { serve } from '../../src/main';
import type { OutsideDoors } from '../../src/wire';

/** Where it ends. The names are those of the steps of the path. */
export type Failpoint =
  | 'S1 received'
  | 'S2 verified'
  | 'S3 stored'
  | 'S4 answered'
  | 'S5 claimed'
  | 'S6 renewed'
  | 'S7 fetched'
  | 'S8 decided'
  | 'S9 acknowledged'
  | 'S9 repeated'
  | 'S10 marked'
  | 'A1 alert saved'
  | 'A2 alert posted'
  | 'R1 found'
  | 'R2 read on'
  | 'stray rejection'
  | 'store hangs';

const failpoint = process.env.FAILPOINT;
const signal = process.env.FAILPOINT_SIGNAL ?? 'SIGKILL';
const never = new Promise<never>(() => {});
let reached = false;
let mayStop = signal !== 'SIGSTOP';
process.on('SIGUSR2', () => {
  mayStop = true;
});

/** After kill -9, by ourselves, nothing runs; after any other signal what was under way goes on. */
function die(at: Failpoint): Promise<never> | undefined {
  if (failpoint !== at || reached || !mayStop) return undefined;
  reached = true;
  if (signal === 'SIGSTOP') writeSync(1, `${JSON.stringify({ failpoint: at })}\n`);
  process.kill(process.pid, signal);
  return signal === 'SIGKILL' ? never : undefined;
}

// Nobody has looked at it yet: what node tells of a request comes before its listeners.
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  if (request.method === 'POST' && request.url === '/webhooks') void die('S1 received');
});

type Store = OutsideDoors['store'];

function aroundStore(store: Store): Store {
  const guarded = Object.create(store) as Store;
  return Object.assign(guarded, {
    async put(...given: Parameters<Store['put']>) {
      if (failpoint === 'store hangs') return never;
      await die('S2 verified');
      const accepted = await store.put(...given);
      // Verifications and heartbeats come before what the test sends.
      if (given[0].elements.some(({ line }) => line === 'hint')) await die('S3 stored');
      return accepted;
    },
    async take(limit: number) {
      if (failpoint === 'S4 answered') return signal === 'SIGKILL' ? never : [];
      const taken = await store.take(limit);
      // A claim may be made again: it is written with what comes next.
      if (failpoint === 'S5 claimed' && taken.length > 0) await store.ready();
      if (taken.length > 0) await die('S5 claimed');
      return taken;
    },
    async replaceTokens(...given: Parameters<Store['replaceTokens']>) {
      await die('S6 renewed');
      return store.replaceTokens(...given);
    },
    // What the relay is given is committed.
    async pickUnsent(...given: Parameters<Store['pickUnsent']>) {
      const rows = await store.pickUnsent(...given);
      if (rows.length > 0) await die('S8 decided');
      return rows;
    },
    async markSent(...given: Parameters<Store['markSent']>) {
      await store.markSent(...given);
      // A mark may be made again: it is written with what comes next.
      if (failpoint === 'S10 marked') await store.ready();
      await die('S10 marked');
    },
    // What stands on the topics is noted a page at a time.
    async noteFound(...given: Parameters<Store['noteFound']>) {
      const others = await store.noteFound(...given);
      await die('R1 found');
      return others;
    },
    async allFound() {
      await store.allFound();
      await die('R2 read on');
    },
    async saveAlerts(...given: Parameters<Store['saveAlerts']>) {
      await store.saveAlerts(...given);
      if (given[0].length > 0) await die('A1 alert saved');
    },
  });
}

type Target = OutsideDoors['target'];

type Batches = Parameters<Target['send']>[0];

/**
 * Rows that Kafka has written, of which one answer was lost: the relay cannot know, and sends the same again. Others may come
 * in between, since their partitions do not wait.
 */
const unheard = new Set<number>();

function aroundTarget(target: Target): Target {
  return {
    name: target.name,
    open: () => target.open(),
    partitionsOf: (topic) => target.partitionsOf(topic),
    readOn: (...given) => target.readOn(...given),
    discard: () => target.discard(),
    close: () => target.close(),
    async send(...given: Parameters<Target['send']>) {
      const result = await target.send(...given);
      const written = rowsWritten(given[0], result);
      if (written.some((row) => unheard.has(row))) await die('S9 repeated');
      await die('S9 acknowledged');
      if (failpoint !== 'S9 repeated' || !mayStop || unheard.size > 0) return result;
      for (const row of written) unheard.add(row);
      return { outcomes: [], spent: true };
    },
  };
}

function rowsWritten(batches: Batches, { outcomes }: Awaited<ReturnType<Target['send']>>): number[] {
  const written = batches.filter((_, index) => outcomes[index]?.sent);
  return written.flatMap(({ rows }) => rows.map(({ row }) => row));
}

function around({ store, provider, target, sinks }: OutsideDoors): OutsideDoors {
  return {
    store: aroundStore(store),
    provider: aroundProvider(provider),
    target: aroundTarget(target),
    sinks: sinks.map(aroundSink),
  };
}

function aroundProvider(provider: OutsideDoors['provider']): OutsideDoors['provider'] {
  return {
    probe: (...given) => provider.probe(...given),
    async read(...given) {
      const result = await provider.read(...given);
      await die('S7 fetched');
      if (failpoint === 'stray rejection') void Promise.reject(new Error('nobody waits for this'));
      return result;
    },
  };
}

type Sink = OutsideDoors['sinks'][number];

function aroundSink(sink: Sink): Sink {
  return {
    ...sink,
    async post(...given: Parameters<Sink['post']>) {
      const result = await sink.post(...given);
      await die('A2 alert posted');
      return result;
    },
  };
}

serve(loadSettings('serve'), { worker: around, receiver: aroundStore }).then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  },
);
