/**
 * What a command gets: its settings, its output, and the API, either of the running service or, where none listens on
 * this machine, on the store itself. A command closes nothing; `withApi` does.
 */
import type { LoadedSettings, Settings } from '../config';
import type { Api } from '../model/api';
import { Problem } from '../model/problem';
import type { Clock } from '../tools/clock';
import { makeClient, NobodyListens } from './client';
import type { Output } from './output';

/** The store of this machine, opened by this command. */
export interface OpenedStore {
  api: Api;
  close(): Promise<void>;
}

export interface TopicLine {
  topic: string;
  state: string;
  partitions: number;
  created: boolean;
}

/** What became of a move: rows and a hash of each table. */
export interface MoveOutcome {
  outcome: 'moved' | 'already';
  tables: { name: string; rows: number; hash: string }[];
}

/** What commands need from the wiring. */
export interface CommandDoors {
  version(): string;
  /** Throws `settings.invalid`. */
  load(): LoadedSettings;
  /** Throws `store.locked`, `store.unavailable`, `settings.invalid`. */
  openStore(loaded: LoadedSettings): Promise<OpenedStore>;
  /** Creates what is missing of deploy/topics.json. Throws `publish.unavailable`, `publish.refused`. */
  createTopics(settings: Settings): Promise<TopicLine[]>;
  /** Seals every stored token with the first key; how many were and were already. Throws `store.key-missing`. */
  reencrypt(loaded: LoadedSettings): Promise<{ resealed: number; kept: number }>;
  /** One line from the terminal, or from whoever writes to us. */
  ask(question: string): Promise<string>;
  /**
   * Moves an embedded store into a scaled one, both as in DATABASE_URL. Throws `settings.invalid`, `store.locked`,
   * `store.moved`, `store.refused`, `store.unavailable`.
   */
  moveStore(from: string, to: string, paged: (table: string, rows: number) => void): Promise<MoveOutcome>;
  clock: Clock;
  /** Aborted by an interrupt, once a command asked for it. */
  interrupted(): AbortSignal;
}

export interface CommandContext extends CommandDoors {
  output: Output;
}

/** Makes commander's action of a command that gets its context, its argument and its options. */
export type Action<Options = object> = (
  run: (context: CommandContext, argument: string | undefined, options: Options) => Promise<number> | number,
) => (...given: unknown[]) => Promise<void>;

/** Where the API was found. */
export type Via = 'service' | 'store';

/** Runs `work` with the API and ends what was opened for it, whatever happens. */
export async function withApi<Result>(
  context: CommandContext,
  work: (api: Api, via: Via, loaded: LoadedSettings) => Promise<Result>,
): Promise<Result> {
  const loaded = context.load();
  const url = serviceUrl(loaded);
  const client = makeClient({ url, token: loaded.settings.operationsToken });
  try {
    return await work(client, 'service', loaded);
  } catch (error) {
    if (!(error instanceof NobodyListens)) throw error;
    // Another machine's service cannot be replaced by a store of this one.
    if (!isLoopback(new URL(url).hostname)) throw new Problem('store.unavailable', error.message, error);
    context.output.note(`${error.message}; using the store itself`);
  }
  const { api, close } = await context.openStore(loaded);
  try {
    return await work(api, 'store', loaded);
  } finally {
    await close();
  }
}

/** TRAMLINE_URL; where only the listener's address was set, that one. */
export function serviceUrl({ settings, origins }: LoadedSettings): string {
  const { tramlineUrl, operationsHost, operationsPort } = settings;
  if (origins.TRAMLINE_URL.from !== 'default' || operationsPort === 0) return tramlineUrl;
  if (origins.OPERATIONS_PORT.from === 'default' && origins.OPERATIONS_HOST.from === 'default')
    return tramlineUrl;
  const host = operationsHost === '0.0.0.0' ? '127.0.0.1' : operationsHost === '::' ? '::1' : operationsHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${operationsPort}`;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}

/** All rows of a paged answer, page by page. */
export async function allPages<Row, After>(
  pageRows: number,
  ask: (after: After | null) => Promise<Row[]>,
  placeOf: (row: Row) => After,
): Promise<Row[]> {
  const all: Row[] = [];
  let after: After | null = null;
  for (;;) {
    const page: Row[] = await ask(after);
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return all;
    after = placeOf(last);
  }
}
