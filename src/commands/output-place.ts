/**
 * Where a download goes: a regular file, or a name that nothing has yet. A symbolic link is followed, so that the file it
 * leads to is replaced and the link stays. Whatever else stands at the name, a device or a pipe that others use, is never
 * replaced by a file.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, realpath, rename, stat } from 'node:fs/promises';
import { Problem } from '../model/problem';

export interface OutputPlace {
  path: string;
  /** Whose a file there is, and who may read it; null for a name that nothing has. */
  before: Pick<Stats, 'mode' | 'uid' | 'gid'> | null;
}

/** Throws `command.usage` for what is no file; the system's error where it may not be looked at. */
export async function outputPlace(wanted: string): Promise<OutputPlace> {
  const found = await unlessAbsent(stat(wanted));
  if (found?.isFile()) return { path: await realpath(wanted), before: found };
  const what = found === null ? await unmet(wanted) : kindOf(found);
  if (what === null) return { path: wanted, before: null };
  throw new Problem('command.usage', `--output ${wanted} is ${what}: the name of a file is needed`);
}

/** Puts the written file there, as open to others as the one that it replaces. Throws the system's error. */
export async function putInPlace(
  { path, before }: OutputPlace,
  written: { path: string; file: FileHandle },
): Promise<void> {
  if (before !== null) {
    const { mode, uid, gid } = before;
    // Only root may give a file away; anybody else has the new file, as with any other that is replaced.
    await written.file.chown(uid, gid).catch(() => {});
    await written.file.chmod(mode & 0o7777);
  }
  await written.file.close();
  await rename(written.path, path);
}

/** What keeps a file from being made under a name that leads to nothing; null for nothing. */
async function unmet(wanted: string): Promise<string | null> {
  if (/[/\\]$/.test(wanted)) return 'a folder';
  return (await unlessAbsent(lstat(wanted))) === null ? null : 'a link to nothing';
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

async function unlessAbsent(look: Promise<Stats>): Promise<Stats | null> {
  return look.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}
