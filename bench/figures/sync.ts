// A full sync of 50,000 field operations and 5,000 machines at a provider that answers in 5 ms, against a loop that
// fetches and parses the same pages with as many listings at once. Once into an empty store, once more with nothing
// changed; then both again where the provider gives change tokens, for the bytes. Resident memory is read from outside.
import { join } from 'node:path';
import { until } from '../../test/support/until';
import { type Child, startChild } from '../child';
import { type Figure, type Line, line } from '../figure';
import { median, medianRatio } from '../measure';
import type { Place } from '../place';
import { residentMegabytes } from '../usage';

const rounds = 2;
const organizations = 10;
const equipmentEach = 500;
const operationsEach = 5000;
const latencyMs = 5;
const syncMsMax = 300_000;
const lookMs = 100;
/** A few requests beside the pages are for catalogs, and for what organizations each connection sees. */
const readsMax = 1.001;

interface View {
  state: string;
  listed: number;
  published: number;
  pages: number;
  tookMs: number;
}
interface Turn {
  perSecond: number;
  pages: number;
}

/** What one sync asked for, of a provider whose every document it needs once. */
interface Asked {
  listed: number;
  /** Requests that were no page of a listing: documents by themselves, catalogs. */
  besidePages: number;
}
interface Round {
  bare: Turn;
  first: Turn;
  second: Turn;
  asked: Asked[];
  /** Of both syncs, and of the second alone, from its beginning to its end. */
  megabytes: number[];
  during: number[];
}

export const sync: Figure = { name: 'sync', measure };

async function measure(place: Place): Promise<Line[]> {
  const simulator = await startSimulator(place);
  const taken: Round[] = [];
  await changeTokens(simulator, false);
  for (let round = 0; round < rounds; round += 1) taken.push(await measureRound(place, simulator));
  await changeTokens(simulator, true);
  const bytes = await measureBytes(place, simulator);
  await simulator.kill();
  return linesOf(taken, bytes);
}

async function measureRound(place: Place, simulator: Child): Promise<Round> {
  const bare = await bareTurn(place, simulator);
  const serve = await startServe(place, simulator);
  const megabytes: number[] = [];
  const sampling = setInterval(() => megabytes.push(residentMegabytes(serve.pid)), lookMs);
  const first = await syncCounted(serve, simulator);
  const before = megabytes.length;
  const second = await syncCounted(serve, simulator);
  clearInterval(sampling);
  await serve.kill();
  return {
    bare,
    first: turnOf(first.view),
    second: turnOf(second.view),
    asked: [first.asked, second.asked],
    megabytes,
    during: megabytes.slice(before),
  };
}

async function syncCounted(serve: Child, simulator: Child): Promise<{ view: View; asked: Asked }> {
  const before = await requestsOf(simulator);
  const view = await syncOnce(serve);
  const requests = (await requestsOf(simulator)) - before;
  return { view, asked: { listed: view.listed, besidePages: requests - view.pages } };
}

async function requestsOf(simulator: Child): Promise<number> {
  const { requests } = (await (await fetch(`${controlOf(simulator)}/counts`)).json()) as { requests: number };
  return requests;
}

async function measureBytes(place: Place, simulator: Child): Promise<{ first: number; second: number }> {
  const serve = await startServe(place, simulator);
  const before = await receivedBytes(serve);
  await syncOnce(serve);
  const between = await receivedBytes(serve);
  await syncOnce(serve);
  const after = await receivedBytes(serve);
  await serve.kill();
  return { first: between - before, second: after - between };
}

function turnOf({ listed, pages, tookMs }: View): Turn {
  return { perSecond: (listed * 1000) / tookMs, pages };
}

function startSimulator({ folder }: Place): Promise<Child> {
  const options = {
    organizations,
    equipment: equipmentEach,
    fieldOperations: operationsEach,
    latencyMs,
    heartbeatMs: 0,
  };
  return startChild('bench/programs/simulate', folder, { SIMULATOR_OPTIONS: JSON.stringify(options) });
}

function environmentOf({ ready }: Child): Record<string, string> {
  return ready.environment as Record<string, string>;
}

let stores = 0;

/** What ships, with as many listings at once as the floor has. */
async function startServe({ folder }: Place, simulator: Child): Promise<Child> {
  stores += 1;
  return startChild('bench/programs/serve', folder, {
    ...environmentOf(simulator),
    HOST: '127.0.0.1',
    PORT: '0',
    OPERATIONS_PORT: '0',
    PROVIDER_CONCURRENCY: '50',
    DATABASE_URL: `sqlite:${join(folder, `sync-${stores}`, 'tramline.db')}`,
    ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 1).toString('base64')}`,
    SYNC_INTERVAL_SECONDS: '0',
  });
}

async function syncOnce({ ready }: Child): Promise<View> {
  const address = `${String(ready.operations)}/api/sync`;
  await fetch(address, { method: 'POST' });
  const view = await until(
    async () => {
      const now = (await (await fetch(address)).json()) as View;
      return now.state === 'running' ? null : now;
    },
    { withinMs: syncMsMax, everyMs: lookMs, what: 'the sync to end' },
  );
  if (view.state !== 'ended') throw new Error(`the sync ${view.state}`);
  return view;
}

async function receivedBytes({ ready }: Child): Promise<number> {
  const text = await (await fetch(`${String(ready.operations)}/metrics`)).text();
  const value = /^tramline_provider_received_bytes_total\S* (\S+)/m.exec(text)?.[1];
  return Number(value ?? 0);
}

async function bareTurn({ folder }: Place, simulator: Child): Promise<Turn> {
  const environment = environmentOf(simulator);
  const [connection] = JSON.parse(environment.PROVIDER_TOKENS as string) as { token: string }[];
  const { ready } = await startChild('bench/programs/bare-listing', folder, {
    CATALOG: environment.PROVIDER_URL as string,
    EQUIPMENT: environment.PROVIDER_EQUIPMENT_URL as string,
    VENDOR: environment.PROVIDER_VENDOR as string,
    TOKEN: connection?.token as string,
  });
  const { items, pages, tookMs } = ready as Record<string, number>;
  return { perSecond: ((items as number) * 1000) / (tookMs as number), pages: pages as number };
}

function controlOf({ ready }: Child): string {
  return String(ready.control).replace(/\/$/, '');
}

async function changeTokens(simulator: Child, given: boolean): Promise<void> {
  const answer = await fetch(`${controlOf(simulator)}/settings`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ changeTokens: given }),
  });
  if (!answer.ok) throw new Error(`change tokens: ${answer.status}`);
}

function linesOf(taken: Round[], bytes: { first: number; second: number }): Line[] {
  const rates = (of: 'bare' | 'first' | 'second') => taken.map((round) => round[of].perSecond);
  const floor = median(rates('bare'));
  const most = Math.max(...taken.flatMap(({ megabytes }) => megabytes));
  const ratio = (of: 'first' | 'second', figure: string, value: number) =>
    line({
      figure,
      measured: median(rates(of)),
      floor,
      unit: 'resources/s',
      judged: medianRatio(rates(of), rates('bare')),
      bound: { kind: 'at least', value, of: '× the floor' },
      turns: { [of]: taken.map((round) => round[of]), bare: taken.map(({ bare }) => bare) },
    });
  const share = bytes.second / bytes.first;
  const resources = organizations * (equipmentEach + operationsEach);
  const reads = Math.max(
    ...taken.flatMap(({ asked }) =>
      asked.map(({ listed, besidePages }) => (listed + besidePages) / resources),
    ),
  );
  const growth = Math.max(...taken.map(({ during }) => growthOf(during)));
  return [
    ratio('first', 'full sync of 55,000 resources into an empty store', 0.35),
    ratio('second', '… once more, nothing changed', 0.7),
    line({
      figure: '… with change tokens, bytes of the second',
      measured: bytes.second / 1e6,
      floor: bytes.first / 1e6,
      unit: 'MB',
      judged: share,
      bound: { kind: 'at most', value: 0.05, of: '× the first' },
      turns: bytes,
    }),
    line({
      figure: '… memory during both, most',
      measured: most,
      floor: null,
      unit: 'MB',
      judged: most,
      bound: { kind: 'at most', value: 220, of: 'MB' },
      turns: { megabytes: taken.map(({ megabytes }) => megabytes) },
    }),
    line({
      figure: '… from the first third of the second sync to its last, most',
      measured: growth,
      floor: null,
      unit: '×',
      judged: growth,
      bound: { kind: 'at most', value: 1.1, of: '× (memory is flat)' },
      turns: { megabytes: taken.map(({ during }) => during) },
    }),
    line({
      figure: '… reads of a document in one sync, catalogs included, most',
      measured: reads,
      floor: null,
      unit: 'reads',
      judged: reads,
      bound: { kind: 'at most', value: readsMax, of: '(none is read twice)' },
      turns: { asked: taken.map(({ asked }) => asked) },
    }),
  ];
}

/** The median of the last third over that of the first. */
function growthOf(megabytes: number[]): number {
  const third = Math.max(1, Math.floor(megabytes.length / 3));
  return median(megabytes.slice(-third)) / median(megabytes.slice(0, third));
}
