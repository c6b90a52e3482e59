/**
 * A file from the provider to this machine: written beside its place as it comes, resumed where it was cut, checked, and
 * only then moved to its place. What was there before stays until that moment; a failure leaves nothing behind.
 */
import { createHash, type Hash, randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { isProblem, Problem } from '../model/problem';
import type { FileContent, ProviderApi } from '../model/provider-data';
import type { Clock } from '../tools/clock';
import type { Output } from './output';

export interface Wanted {
  id: string;
  path: string;
  bytesMax: number;
  signal: AbortSignal;
}

export interface Downloaded {
  id: string;
  output: string;
  bytes: number;
  sha256: string;
  /** What it was held against: the provider's digest, or its length where it names none. */
  checkedBy: 'digest' | 'length';
}

/** In a row, without a byte between them. */
const failuresMax = 5;
const pauseMs = 500;

/**
 * null when it was interrupted. Throws what the provider throws; `command.refused` for a file that is too large;
 * `provider.malformed` for one that does not agree with its length or digest; the system's error where nothing can be
 * written.
 */
export async function downloadFile(
  wanted: Wanted,
  provider: Pick<ProviderApi, 'fileContent'>,
  output: Output,
  clock: Clock,
): Promise<Downloaded | null> {
  const { id, path, signal } = wanted;
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(part, 'wx');
  let complete = false;
  try {
    const received = await receive(wanted, provider, file, output, clock);
    if (signal.aborted) return null;
    const { address, bytes, bytesTotal, hash, sha256: said } = received;
    const sha256 = hash.digest('hex');
    if (bytes !== bytesTotal) {
      throw new Problem('provider.malformed', `expected ${bytesTotal} bytes, got ${bytes} (${address})`);
    }
    if (said !== null && said !== sha256) {
      throw new Problem('provider.malformed', `expected the SHA-256 ${said}, got ${sha256} (${address})`);
    }
    await file.sync();
    const { size } = await file.stat();
    if (size !== bytes) throw new Problem('command.refused', `only ${size} of ${bytes} bytes are on disk`);
    await file.close();
    await rename(part, path);
    complete = true;
    return { id, output: path, bytes, sha256, checkedBy: said === null ? 'length' : 'digest' };
  } finally {
    output.progress(null);
    if (!complete) {
      await file.close().catch(() => {});
      await rm(part, { force: true });
    }
  }
}

interface Received {
  /** Where the bytes come from. */
  address: string;
  bytes: number;
  bytesTotal: number;
  version: string | null;
  sha256: string | null;
  hash: Hash;
}

async function receive(
  { id, bytesMax, signal }: Wanted,
  provider: Pick<ProviderApi, 'fileContent'>,
  file: FileHandle,
  output: Output,
  clock: Clock,
): Promise<Received> {
  const received: Received = {
    ...{ address: '', bytes: 0, bytesTotal: -1, version: null, sha256: null },
    hash: createHash('sha256'),
  };
  let failures = 0;
  while (received.bytes !== received.bytesTotal && !signal.aborted) {
    const before = received.bytes;
    try {
      const content = await provider.fileContent(id, before, received.version);
      begin(received, content, bytesMax);
      for await (const chunk of content.chunks) {
        if (signal.aborted) break;
        if (received.bytes + chunk.byteLength > received.bytesTotal) {
          throw new Problem(
            'provider.malformed',
            `expected ${received.bytesTotal} bytes, got more (${content.address})`,
          );
        }
        // Unlike `write`, it goes on until all of it is written.
        await file.writeFile(chunk);
        received.hash.update(chunk);
        received.bytes += chunk.byteLength;
        output.progress(progressOf(received));
      }
      // A body that ends before its length was cut, however clean its end looks.
      if (received.bytes === before && received.bytes !== received.bytesTotal && !signal.aborted) {
        const { address } = content;
        throw new Problem('provider.unavailable', `expected bytes of the file, got none (${address})`);
      }
    } catch (error) {
      if (!isProblem(error, 'provider.unavailable')) throw error;
      failures = received.bytes > before ? 1 : failures + 1;
      if (failures >= failuresMax) throw error;
      await clock.wait(pauseMs * 2 ** failures, signal);
    }
  }
  return received;
}

/** Takes over what the first answer says, and holds later ones against it. */
function begin(received: Received, content: FileContent, bytesMax: number): void {
  const { address, from, bytesTotal, version, sha256 } = content;
  if (bytesTotal > bytesMax) {
    throw new Problem('command.refused', `the file has ${bytesTotal} bytes: see --bytes-max (${address})`);
  }
  if (from !== received.bytes) {
    const expected = `expected bytes from ${received.bytes}`;
    throw new Problem('provider.malformed', `${expected}, got them from ${from} (${address})`);
  }
  if (received.bytesTotal >= 0 && bytesTotal !== received.bytesTotal) {
    const expected = `expected a file of ${received.bytesTotal} bytes as before`;
    throw new Problem('provider.malformed', `${expected}, got one of ${bytesTotal} (${address})`);
  }
  Object.assign(received, { address, bytesTotal, version, sha256: sha256 ?? received.sha256 });
}

function progressOf({ bytes, bytesTotal }: Received): string {
  const share = bytesTotal === 0 ? 100 : Math.floor((bytes / bytesTotal) * 100);
  return `${String(share).padStart(3)} %  ${bytes} of ${bytesTotal} bytes`;
}
