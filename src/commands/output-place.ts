/**
 * Where a download goes: a regular file, or a name that nothing has yet. A symbolic link is followed, so that the file it
 * leads to is replaced and the link stays. Whatever else stands at the name, a device or a pipe that others use, is never
 * replaced by a file.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, realpath, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../model/problem';
import { shellValue } from '../model/shell-word';

export interface OutputPlace {
  path: string;
  /** Whose a file there is, and who may read it; null for a name that nothing has. */
  before: Pick<Stats, 'mode' | 'uid' | 'gid'> | null;
}

const noNames = new Map([
  ['', 'empty'],
  ['-', 'standard output, which cannot be checked before it is given'],
]);

/** Throws `command.usage` where no file can be put; the system's error where that cannot be looked at. */
export async function outputPlace(wanted: string): Promise<OutputPlace> {
  const found = noNames.get(wanted) ?? (await lookAt(stat(wanted)));
  if (found !== null && typeof found !== 'string' && found.isFile())
    return { path: await realpath(wanted), before: found };
  const what = found === null ? await unmet(wanted) : kindOf(found);
  if (what === null) return { path: wanted, before: null };
  throw new Problem(
    'command.usage',
    `--output ${shellValue(wanted)} is ${what}: the name of a file is needed`,
  );
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
  if ((await lookAt(lstat(wanted))) !== null) return 'a link to nothing';
  return (await lookAt(stat(dirname(wanted)))) === null ? 'in a folder that there is not' : null;
}

function kindOf(found: Stats | string): string {
  if (typeof found === 'string') return found;
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

/** null for what is absent; in words where a name can lead to no file. */
async function lookAt(look: Promise<Stats>): Promise<Stats | string | null> {
  return look.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    if (error.code === 'ELOOP') return 'a link that leads back to itself';
    if (error.code === 'ENOTDIR') return 'below what is no folder';
    if (error.code === 'EACCES') return 'in a folder that this user may not enter';
    throw error;
  });
}
