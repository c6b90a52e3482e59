/**
 * Where the files of an open store are. SQLite goes on writing to files that were removed, moved or exchanged for others, and
 * says nothing: whoever opens the path next finds nothing of that. Asked before each commit that wrote; some 3 µs.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { Problem } from '../../model/problem';

/** While it lasts the store takes nothing, and what it holds may be read. */
export class Displaced extends Problem {}

/** The log lies beside the file itself, wherever a link to it is. */
export function logOf(file: string): string {
  return `${realpathSync(file)}-wal`;
}

/** To be made when both are open. What it gives throws `Displaced` (`store.unavailable`) unless both are what they were. */
export function makePlace(file: string): () => void {
  const opened = [file, logOf(file)].map((path) => ({ path, id: idOf(path) }));
  return () => {
    for (const { path, id } of opened)
      if (id === null || idOf(path) !== id)
        throw new Displaced(
          'store.unavailable',
          `${path} is not the file that was opened: it was removed, moved or replaced. Put it back as it was before anything is restarted`,
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

/** SQLite would remove a log whose file is away, and begin anew. Throws `settings.invalid` where one is there. */
export function mustHaveFile(file: string): void {
  if (existsSync(file)) return;
  const log = `${file}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw new Problem(
    'settings.invalid',
    `${log} is there and ${file} is not: put the file back beside its log, or move the log away to begin anew without what it holds`,
  );
}
