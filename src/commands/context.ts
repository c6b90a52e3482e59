/**
 * What a command gets: its settings, its output, and the API, either of the running service or, where none listens on
 * this machine, on the store itself. A command closes nothing; `withApi` does.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadedSettings, Settings } from '../config';
import { type Api, pageRowsMax } from '../model/api';
import { isProblem, Problem } from '../model/problem';
import type { Clock } from '../tools/clock';
import { makeClient, NobodyListens } from './client';
import type { Output } from './output';

/** The store of this machine, opened by this command. */
export interface OpenedStore {
  api: Api;
  close(): Promise<void>;
}

/**
 * The store that a command opens: one that was kept, for a new one would answer that nothing is to be done; any, which is
 * made and brought to this version where it must, if there are the settings to use it, or, migrated, also without them; or
 * whatever is there, which is only looked at.
 */
export type StoreWish = 'kept' | 'made' | 'migrated' | 'as-is';

export interface TopicLine {
  topic: string;
  state: string;
  partitions: number;
  created: boolean;
  /** How it has fewer copies than declared; null where it does not. */
  below: string | null;
}

/**
 * What became of a move: rows and a hash of each table; where it was stopped, of those that it came to, out of so many, and
 * whether all was copied and only not read back yet.
 */
export interface MoveOutcome {
  outcome: 'moved' | 'already' | 'stopped';
  tables: { name: string; rows: number; hash: string }[];
  of: number;
  isCopied: boolean;
}

export interface MoveWatch {
  /** How many rows of the table are copied, after each page. */
  paged(table: string, rows: number): void;
  /** How many were read back. */
  readBack(table: string, rows: number): void;
  /** What an earlier move copied is copied anew, since another version began it. */
  begunAnew(): void;
  /** Asked for once there is something to go on with; no page is begun once it is aborted. */
  interrupted(): AbortSignal;
}

/** What commands need from the wiring. */
export interface CommandDoors {
  version(): string;
  /** Throws `settings.invalid`. */
  load(): LoadedSettings;
  /**
   * Throws `store.locked`, `store.unavailable`, `settings.invalid`, also where one that is to be kept is not there, and
   * `store.older` where that is not of this version. As it is, only `settings.invalid`, `store.locked` and `store.newer`.
   */
  openStore(loaded: LoadedSettings, wish: StoreWish): Promise<OpenedStore>;
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
  moveStore(from: string, to: string, watch: MoveWatch): Promise<MoveOutcome>;
  clock: Clock;
  /** Aborted by an interrupt, once a command asked for it. */
  interrupted(): AbortSignal;
}

export interface CommandContext extends CommandDoors {
  output: Output;
}

/** Makes commander's action of a command that gets its context, its first argument, its options, and all of a list of arguments. */
export type Action<Options = object> = (
  run: (
    context: CommandContext,
    argument: string | undefined,
    options: Options,
    list: string[],
  ) => Promise<number> | number,
) => (...given: unknown[]) => Promise<void>;

/** Where the API was found. */
export type Via = 'service' | 'store';

/** A store that another process has is asked for again so long, and so often. */
const lockedMsMax = 5000;
const lockedPauseMs = 100;

/** Like `withApi`, for what may begin with a store: a consent, a sync, a call of the provider. Bounds as `withApi` does. */
export function withApiOrNewStore<Result>(context: CommandContext, work: Work<Result>): Promise<Result> {
  return withApi(context, work, 'made');
}

/**
 * Like `withApiOrNewStore`, for what asks for equipment: beside no service it is this process that asks endpoints that end.
 * Bounds as `withApi` does.
 */
export function withEquipment<Result>(context: CommandContext, work: Work<Result>): Promise<Result> {
  return withApiOrNewStore(context, (api, via, loaded) => {
    const said = loaded.warnings.filter(
      (text) => via === 'store' && text.startsWith('PROVIDER_EQUIPMENT_API'),
    );
    for (const text of said) context.output.warn(text);
    return work(api, via, loaded);
  });
}

/**
 * Like `withApi`, for what needs no store: nothing is made or changed where there is none, or an older one. Bounds as
 * `withApi` does.
 */
export function withApiAsIs<Result>(context: CommandContext, work: Work<Result>): Promise<Result> {
  return withApi(context, work, 'as-is');
}

type Work<Result> = (api: Api, via: Via, loaded: LoadedSettings) => Promise<Result>;

/**
 * Runs `work` with the API and ends what was opened for it, whatever happens. While it works on an embedded store no service
 * can start there: a sync, a replay or a download that writes may take as long as it needs, since two that write are what
 * the lock is against; whoever only waits, for a person or for what comes, does that outside. Throws what `work` throws,
 * `settings.invalid` where neither a service listens nor a store is there, and `store.unavailable` where nobody listens at
 * another machine's address. An embedded store that another process has is waited for, at most 5 s.
 */
export async function withApi<Result>(
  context: CommandContext,
  work: Work<Result>,
  wish: StoreWish = 'kept',
): Promise<Result> {
  const loaded = context.load();
  const url = serviceUrl(loaded);
  try {
    return await work(serviceOf(loaded), 'service', loaded);
  } catch (error) {
    if (!(error instanceof NobodyListens)) throw error;
    // Another machine's service cannot be replaced by a store of this one.
    if (!isLoopback(new URL(url).hostname)) throw new Problem('store.unavailable', error.message, error);
    context.output.note(`${error.message}; using the store itself: ${placeOfStore(loaded, wish)}`);
  }
  const { api, close } = await opened(context, loaded, wish).catch((error: unknown) => {
    throw orStarting(wish === 'kept' ? orElsewhere(error) : error);
  });
  try {
    return await work(api, 'store', loaded);
  } finally {
    await close();
  }
}

/** Another command has it for a moment, a sync or a service for longer. Throws as `openStore` does, `store.locked` after 5 s. */
async function opened(context: CommandContext, loaded: LoadedSettings, wish: StoreWish) {
  const { clock } = context;
  const untilMs = clock.steadyMs() + lockedMsMax;
  for (;;) {
    try {
      return await context.openStore(loaded, wish);
    } catch (error) {
      if (!isProblem(error, 'store.locked') || clock.steadyMs() >= untilMs) throw error;
    }
    await clock.wait(lockedPauseMs);
  }
}

/** Who finds no store here that can be used may have asked on the wrong machine. */
function orElsewhere(error: unknown): unknown {
  if (!isProblem(error, 'settings.invalid')) return error;
  const step = 'TRAMLINE_URL names a service that runs elsewhere; what is missing here: tramline check';
  return new Problem(error.code, `${error.message}; ${step}`, error);
}

/** Nobody listens, and yet somebody has the store: so it is with a service until it is ready. */
function orStarting(error: unknown): unknown {
  if (!isProblem(error, 'store.locked')) return error;
  return new Problem(
    error.code,
    `${error.message}; one that is still starting answers there in a moment`,
    error,
  );
}

/** The running service's API, whether one runs or not. */
export function serviceOf(loaded: LoadedSettings): Api {
  return makeClient({ url: serviceUrl(loaded), token: loaded.settings.operationsToken });
}

/** Where commands find it, whatever folder they are run in. */
function placeOfStore({ settings: { databaseUrl }, origins }: LoadedSettings, wish: StoreWish): string {
  if (databaseUrl.kind !== 'sqlite') return String(origins.DATABASE_URL.shown);
  const path = resolve(databaseUrl.path);
  if (wish === 'kept' || existsSync(path)) return path;
  return `${path}, which is ${wish === 'made' ? 'made now' : 'not there'}`;
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
export async function allPages<Row extends { id: string | number }>(
  ask: (page: { limit: number; after: Row['id'] | null }) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  let after: Row['id'] | null = null;
  for (;;) {
    const page: Row[] = await ask({ limit: pageRowsMax, after });
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < pageRowsMax) return all;
    after = last.id;
  }
}
