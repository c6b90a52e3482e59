/**
 * A file from the provider to this machine: written beside its place as it comes, resumed where it was cut, by this run
 * or by a later one, checked, and only then moved to its place. What was there before stays until that moment. A cut
 * leaves what has come, for the next run; any other failure leaves nothing behind.
 */
import { isProblem, Problem } from '../model/problem';
import type { FileContent, ProviderApi } from '../model/provider-data';
import type { Clock } from '../tools/clock';
import { NobodyListens } from './client';
import type { Output } from './output';
import { type OutputPlace, outputPlace, putInPlace } from './output-place';
import { drop, findLeft, markOf, newPart, type PartFile, takeLeft } from './part-file';
import { untilInterrupt } from './until-interrupt';

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
  /** What it was held against: the provider's digest, else the length in the file's record; null where it names neither. */
  checkedBy: 'digest' | 'length' | null;
}

/** In a row, without a byte between them. */
const failuresMax = 5;
const pauseMs = 500;

/**
 * null when it was interrupted. Throws what the provider throws, `NobodyListens` before the first answer only; `command.usage` where no file can be put; `command.refused` for a file that is too large;
 * `provider.malformed` for one that does not agree with its length or digest; the system's error where nothing can be
 * written. Gives up after 5 failures in a row that brought no byte.
 */
export async function downloadFile(
  wanted: Wanted,
  provider: Pick<ProviderApi, 'fileContent'>,
  output: Output,
  clock: Clock,
): Promise<Downloaded | null> {
  const { id, path, signal } = wanted;
  const place = await outputPlace(path);
  const none = { address: '', mark: null, part: null, bytesRecorded: null, version: null, sha256: null };
  const received: Received = { ...none, bytesTotal: -1 };
  let cut = false;
  try {
    await receive({ ...wanted, place }, received, untilInterrupt(provider, signal), output, clock);
    if (signal.aborted) {
      cut = true;
      return null;
    }
    // A file of no bytes is a file too.
    received.part ??= await newPart(place, null);
    const { part } = received;
    const sha256 = await check(received, part, path);
    await putInPlace(place, part);
    return { id, output: path, bytes: part.bytes, sha256, checkedBy: checkOf(received) };
  } catch (error) {
    cut = isLost(error);
    throw error;
  } finally {
    output.progress(null);
    await end(received.part, cut, output);
  }
}

interface Placed extends Wanted {
  place: OutputPlace;
}

interface Received {
  /** Where the bytes come from. */
  address: string;
  /** What they are known by in a later run; null where they are not. */
  mark: string | null;
  /** Where they go to; null before the first of them. */
  part: PartFile | null;
  /** Negative before the first answer. */
  bytesTotal: number;
  bytesRecorded: number | null;
  version: string | null;
  sha256: string | null;
}

/** What was moved to its place is no longer there to be removed. */
async function end(part: PartFile | null, cut: boolean, output: Output): Promise<void> {
  if (part === null) return;
  await part.file.close().catch(() => {});
  if (!cut || !part.lasts || part.bytes === 0) return drop(part.path);
  output.note(`${part.bytes} bytes are kept beside it: the same command goes on from there.`);
}

/** What told that it is the file, once it agrees with that. */
function checkOf({ sha256, bytesTotal, bytesRecorded }: Received): Downloaded['checkedBy'] {
  if (sha256 !== null) return 'digest';
  return bytesTotal === bytesRecorded ? 'length' : null;
}

/** Resolves to the SHA-256 of a file that is whole, also on disk. */
async function check(
  { address, bytesTotal, sha256: said }: Received,
  part: PartFile,
  path: string,
): Promise<string> {
  const { bytes, file, hash } = part;
  const sha256 = hash.digest('hex');
  if (bytes !== bytesTotal) {
    throw new Problem('provider.malformed', `expected ${bytesTotal} bytes, got ${bytes} (${address})`);
  }
  if (said !== null && said !== sha256) {
    throw new Problem('provider.malformed', `expected the SHA-256 ${said}, got ${sha256} (${address})`);
  }
  await file.sync().catch(notWritten(path));
  const { size } = await file.stat();
  if (size !== bytes)
    throw new Problem('command.refused', `only ${size} of ${bytes} bytes of ${path} are on disk`);
  return sha256;
}

async function receive(
  wanted: Placed,
  received: Received,
  provider: Pick<ProviderApi, 'fileContent'>,
  output: Output,
  clock: Clock,
): Promise<void> {
  const { signal } = wanted;
  let failures = 0;
  while (bytesOf(received) !== received.bytesTotal && !signal.aborted) {
    const before = bytesOf(received);
    try {
      await receiveAnswer(wanted, received, provider, output);
    } catch (error) {
      if (signal.aborted) return;
      // Before the first answer it is for the caller to choose another way to the provider; later that would begin anew.
      const isWaitedFor = received.bytesTotal < 0 ? isProblem(error, 'provider.unavailable') : isLost(error);
      if (!isWaitedFor) throw error;
      failures = bytesOf(received) > before ? 1 : failures + 1;
      if (failures >= failuresMax) throw asProblem(error);
      await clock.wait(pauseMs * 2 ** failures, signal);
    }
  }
}

function bytesOf({ part }: Received): number {
  return part?.bytes ?? 0;
}

/** The next answer, as far as it comes. */
async function receiveAnswer(
  wanted: Placed,
  received: Received,
  provider: Pick<ProviderApi, 'fileContent'>,
  output: Output,
): Promise<void> {
  const { id, bytesMax, signal } = wanted;
  const before = bytesOf(received);
  const content =
    received.bytesTotal < 0
      ? await begin(wanted, received, provider)
      : await provider.fileContent(id, before, received.version);
  hold(received, content, bytesMax);
  await write(wanted, received, content, output);
  // A body that ends before its length was cut, however clean its end looks.
  if (bytesOf(received) === before && before !== received.bytesTotal && !signal.aborted) {
    const { address } = content;
    throw new Problem('provider.unavailable', `expected bytes of the file, got none (${address})`);
  }
}

/** The first answer, and the place for its bytes: on from what a run before left, where that is of the same bytes. */
async function begin(
  { id, place, signal }: Placed,
  received: Received,
  provider: Pick<ProviderApi, 'fileContent'>,
): Promise<FileContent> {
  const left = await findLeft(place.path);
  if (left !== null && left.bytes > 0) {
    const content = await provider.fileContent(id, left.bytes, null).catch((error: unknown) => {
      // What is left may be longer than the file is now: whatever is said of it, the file is asked for from its start.
      if (signal.aborted || isLost(error)) throw error;
      return null;
    });
    const same = content?.from === left.bytes && markOf(id, content) === left.mark;
    received.part = same ? await takeLeft(left, place.path) : null;
    if (content !== null && received.part !== null) return content;
  }
  // Of another version, or of another file that was to go there.
  if (left !== null) await drop(left.path);
  const content = await provider.fileContent(id, 0, null);
  received.mark = markOf(id, content);
  return content;
}

/** Nothing is said of the file: the provider, or the service on the way to it, is away. */
function isLost(error: unknown): boolean {
  const isAway = isProblem(error, 'provider.unavailable') || isProblem(error, 'store.unavailable');
  return isAway || error instanceof NobodyListens;
}

function asProblem(error: unknown): unknown {
  return error instanceof NobodyListens ? new Problem('store.unavailable', error.message, error) : error;
}

/** Takes over what the first answer says, and holds later ones against it. */
function hold(received: Received, content: FileContent, bytesMax: number): void {
  const { address, from, bytesTotal, bytesRecorded, version, sha256 } = content;
  if (bytesTotal > bytesMax) {
    throw new Problem('command.refused', `the file has ${bytesTotal} bytes: see --bytes-max (${address})`);
  }
  const bytes = bytesOf(received);
  if (from !== bytes) {
    const expected = `expected bytes from ${bytes}`;
    throw new Problem('provider.malformed', `${expected}, got them from ${from} (${address})`);
  }
  if (received.bytesTotal >= 0 && bytesTotal !== received.bytesTotal) {
    const expected = `expected a file of ${received.bytesTotal} bytes as before`;
    throw new Problem('provider.malformed', `${expected}, got one of ${bytesTotal} (${address})`);
  }
  const digest = sha256 ?? received.sha256;
  Object.assign(received, { address, bytesTotal, bytesRecorded, version, sha256: digest });
}

async function write(
  { path, place }: Placed,
  received: Received,
  { address, chunks }: FileContent,
  output: Output,
): Promise<void> {
  const { bytesTotal } = received;
  for await (const chunk of chunks) {
    // Not before: what has come is lost when its connection ends while nobody reads it.
    received.part ??= await newPart(place, received.mark);
    const { part } = received;
    if (part.bytes + chunk.byteLength > bytesTotal) {
      throw new Problem('provider.malformed', `expected ${bytesTotal} bytes, got more (${address})`);
    }
    // Unlike `write`, it goes on until all of it is written.
    await part.file.writeFile(chunk).catch(notWritten(path));
    part.hash.update(chunk);
    part.bytes += chunk.byteLength;
    output.progress(progressOf(part.bytes, bytesTotal));
  }
}

/** Of a file that is open the system does not say where it is. */
function notWritten(path: string): (error: Error) => never {
  return (error) => {
    throw new Error(`${path} cannot be written: ${error.message}`, { cause: error });
  };
}

function progressOf(bytes: number, bytesTotal: number): string {
  const share = bytesTotal === 0 ? 100 : Math.floor((bytes / bytesTotal) * 100);
  return `${String(share).padStart(3)} %  ${bytes} of ${bytesTotal} bytes`;
}
