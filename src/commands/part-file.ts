/**
 * The file beside a download's target that holds what has come so far. Its name says which bytes it holds and which
 * process writes it, so that a later run goes on with what a dead one left, and never with bytes of another file, of
 * another version, or of a process that still writes.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../model/problem';
import type { FileContent } from '../model/provider-data';
import { shellValue } from '../model/shell-word';
import type { OutputPlace } from './output-place';

export interface Left {
  path: string;
  mark: string;
  bytes: number;
}

export interface PartFile {
  path: string;
  /** Writes go to its end. */
  file: FileHandle;
  bytes: number;
  /** SHA-256 of what it holds. */
  hash: Hash;
  /** True when a later run can know what it holds. */
  lasts: boolean;
}

/** What dead processes left for this target, the longest; the rest of it is removed. null when there is nothing. */
export async function findLeft(target: string): Promise<Left | null> {
  const folder = dirname(target);
  const name = basename(target);
  const left: Left[] = [];
  for (const entry of await readdir(folder).catch(() => [])) {
    if (!entry.startsWith(`${name}.`)) continue;
    const [, mark, pid] = /^\.([0-9a-f]{16})\.(\d+)\.part$/.exec(entry.slice(name.length)) ?? [];
    if (mark === undefined || isAlive(Number(pid))) continue;
    const path = join(folder, entry);
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    left.push({ path, mark, bytes: size });
  }
  const [longest, ...others] = left.toSorted((one, other) => other.bytes - one.bytes);
  for (const { path } of others) await drop(path);
  return longest ?? null;
}

/**
 * A mark of the bytes that the provider answers for this id: by its digest, or by a strong ETag and the length. null
 * where it names neither, so that two answers cannot be known to be of one file.
 */
export function markOf(id: string, { version, sha256, bytesTotal }: FileContent): string | null {
  const validator = sha256 ?? (version?.startsWith('W/') ? null : version);
  if (validator === null) return null;
  const facts = JSON.stringify([id, validator, bytesTotal]);
  return createHash('sha256').update(facts).digest('hex').slice(0, 16);
}

/** Takes over what was left; null when another process did so first. */
export async function takeLeft({ path, mark, bytes }: Left, target: string): Promise<PartFile | null> {
  const own = nameOf(target, mark);
  try {
    await rename(path, own);
  } catch {
    return null;
  }
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(own, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return { path: own, file: await open(own, 'a'), bytes, hash, lasts: true };
}

/** What a folder answers that is not this user's to write in, or nobody's. */
const closedFolder = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * An empty one, never open to more readers than what it will replace. Throws `command.usage` where its folder takes no files; the
 * system's error where it cannot be written otherwise.
 */
export async function newPart({ path: target, before }: OutputPlace, mark: string | null): Promise<PartFile> {
  const path = nameOf(target, mark ?? 'unmarked');
  await drop(path);
  // A later run of the same user goes on writing it, whatever the mode of what stands there.
  const mode = before === null ? 0o666 : (before.mode & 0o777) | 0o600;
  const file = await open(path, 'ax', mode).catch((error: NodeJS.ErrnoException) => {
    if (!closedFolder.has(error.code ?? '')) throw error;
    const folder = shellValue(dirname(target));
    throw new Problem(
      'command.usage',
      `--output leads to ${folder}, which takes no files (${error.code})`,
      error,
    );
  });
  return { path, file, bytes: 0, hash: createHash('sha256'), lasts: mark !== null };
}

export async function drop(path: string): Promise<void> {
  await rm(path, { force: true });
}

function nameOf(target: string, mark: string): string {
  return `${target}.${mark}.${process.pid}.part`;
}

/** This process itself has none from before. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
