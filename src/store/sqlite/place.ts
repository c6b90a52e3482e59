/**
 * Where the files of an open store are. SQLite goes on writing to files that were removed, moved or exchanged for others, and
 * says nothing: whoever opens the path next finds nothing of that. Asked before each commit that wrote; some 3 µs.
 */
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Problem } from '../../model/problem';

/** While it lasts the store takes nothing, and what it holds may be read. */
export class Displaced extends Problem {}

/** The log lies beside the file itself, wherever a link to it is, and whether the file is there or not. */
export function logOf(file: string): string {
  return `${targetOf(file)}-wal`;
}

/** Where it is once all links are followed, or would be made. */
export function targetOf(path: string): string {
  if (sizeOf(path) !== null) return realpathSync(path);
  // A link to what is away has no real path.
  const link = linkOf(path);
  return link === null ? join(folderOf(path), basename(path)) : targetOf(resolve(folderOf(path), link));
}

/** Where a link in it leads from. */
function folderOf(path: string): string {
  try {
    return realpathSync(dirname(path));
  } catch {
    return dirname(path);
  }
}

/** null where it leads nowhere, or cannot be asked for: whoever opens it hears why. */
function sizeOf(path: string): number | null {
  try {
    return statSync(path).size;
  } catch {
    return null;
  }
}

/** null where it is no link. Links that go round are none: they cannot be opened. */
function linkOf(path: string): string | null {
  try {
    statSync(path, { throwIfNoEntry: false });
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** To be made when both are open. What it gives throws `Displaced` (`store.unavailable`) unless both are what they were. */
export function makePlace(file: string): () => void {
  const opened = [
    { path: file, next: 'Put it back as it was before anything is restarted' },
    // What it holds is moved into the file all the same.
    { path: logOf(file), next: 'Put it back, or end this process by SIGTERM, which keeps what it holds' },
  ].map((one) => ({ ...one, id: idOf(one.path) }));
  return () => {
    for (const { path, id, next } of opened)
      if (id === null || idOf(path) !== id)
        throw new Displaced(
          'store.unavailable',
          `${path} is not the file that was opened: it was removed, moved or replaced. ${next}`,
        );
  };
}

/** The file and its file system: copies of those keep the numbers of files. */
function idOf(path: string): string | null {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? null : `${found.dev}/${found.ino}`;
  } catch (error) {
    throw new Displaced(
      'store.unavailable',
      `${path} cannot be asked for: ${(error as Error).message}`,
      error,
    );
  }
}

/** SQLite would remove a log whose file is away or empty, and begin anew. Throws `settings.invalid` where one is there. */
export function mustHaveFile(file: string): void {
  const size = sizeOf(file);
  if (size !== null && size > 0) return;
  const log = logOf(file);
  if ((sizeOf(log) ?? 0) === 0) return;
  throw new Problem(
    'settings.invalid',
    `${log} is there and ${file} is ${size === 0 ? 'empty' : 'not'}: put the file back beside its log, or move the log away to begin anew without what it holds`,
  );
}
