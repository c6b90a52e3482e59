// What was changed since the world was made: per resource its revisions, each from a moment on visible to clients.
// Promises that the truth is the newest revision and that clients see the newest visible one: a read model that lags.
import { type JsonObject, merge } from '../json';
import type { Changes } from './changes';

export interface Revision {
  /** Rises by one with each change of the resource; the untouched resource is number 0. */
  number: number;
  /** All changes so far, laid over the generated content. */
  patch: JsonObject;
  /** Dotted paths that are taken away afterwards. */
  taken: readonly string[];
  removed: boolean;
  /** Removed for good: 410 instead of 404. */
  gone: boolean;
  visibleAtMs: number;
  /** Its place in the order of all changes. */
  sequence: number;
}

export interface Change {
  patch?: JsonObject;
  /** Dotted paths to take away. */
  take?: readonly string[];
  removed?: boolean;
  gone?: boolean;
}

export class Revisions {
  readonly #histories = new Map<string, Revision[]>();

  constructor(readonly changes: Changes) {}

  /** The keys of everything that was ever changed. */
  keys(): Iterable<string> {
    return this.#histories.keys();
  }

  /** The newest revision, undefined while nothing was changed. */
  truth(key: string): Revision | undefined {
    return this.#histories.get(key)?.at(-1);
  }

  /** The newest revision that clients may see at `nowMs`; undefined = the generated content. */
  shown(key: string, nowMs: number): Revision | undefined {
    const history = this.#histories.get(key);
    return history?.findLast((revision) => revision.visibleAtMs <= nowMs);
  }

  /** Adds a change on top of the truth. History is kept only as far back as clients may still be shown it. */
  add(key: string, change: Change, nowMs: number, lagMs: number): Revision {
    const before = this.truth(key);
    const patch = merge(before?.patch ?? {}, change.patch ?? {});
    const revision: Revision = {
      number: (before?.number ?? 0) + 1,
      patch,
      taken: [
        ...(before?.taken ?? []).filter((path) => !reaches(change.patch, path)),
        ...(change.take ?? []),
      ],
      removed: change.removed ?? before?.removed ?? false,
      gone: change.gone ?? false,
      visibleAtMs: nowMs + lagMs,
      sequence: this.changes.next(),
    };
    const shown = this.shown(key, nowMs);
    const history = this.#histories.get(key) ?? [];
    const from = shown === undefined ? 0 : history.indexOf(shown);
    this.#histories.set(key, [...history.slice(from), revision]);
    return revision;
  }
}

/** True where the patch sets what the dotted path names: it is then there again. */
function reaches(patch: JsonObject | undefined, path: string): boolean {
  let at: unknown = patch;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return false;
    at = (at as JsonObject)[part];
  }
  return true;
}
