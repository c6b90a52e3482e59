// The invented files of the organizations: a few each, from two kilobytes to sixty megabytes, and one still uploading.
// Promises bytes that can be made from any offset on, so that no file is ever held whole. Bytes change by version.
import { createHash } from 'node:crypto';
import type { Changes } from './changes';
import type { Organization, Organizations } from './organizations';
import { randomFor } from './random';

export interface WorldFile {
  readonly id: string;
  readonly index: number;
  readonly organization: Organization;
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly status: 'READY' | 'UPLOAD_PENDING';
  readonly archived: boolean;
  readonly removed: boolean;
  readonly createdTime: string;
  readonly modifiedTime: string;
  /** Rises with new content. */
  readonly version: number;
  /** The place of its last change in the order of all changes; 0 = as made. */
  readonly changed: number;
}

export type FileChange = Partial<Pick<WorldFile, 'name' | 'archived' | 'removed' | 'bytes'>> & {
  newContent?: boolean;
};

const FIRST_FILE_ID = 577_001;
const MADE: readonly (readonly [name: string, type: string, bytes: number])[] = [
  ['Setup spring.zip', 'SETUP', 2_048],
  ['Prescription north.zip', 'PRESCRIPTION', 72_946],
  ['Boundaries.zip', 'BOUNDARY', 300_001],
  ['Harvest 2025.zip', 'DOCUMENTATION', 1_048_576],
  ['Setup 2025 büro.zip', 'SETUP', 5_000_003],
  ['Season archive.zip', 'DOCUMENTATION', 60_000_000],
  ['Incoming.zip', 'SETUP', 0],
];
const BLOCK_BYTES = 65_536;
const DIGESTS_MAX = 10_000;
/** The largest file a control may ask for. */
export const FILE_BYTES_MAX = 200_000_000;

export class Files {
  readonly #changedFiles = new Map<number, WorldFile>();
  readonly #digests = new Map<string, string>();
  readonly #blocks = new Map<number, Buffer>();

  constructor(
    readonly seed: number,
    readonly organizations: Organizations,
    readonly changes: Changes,
  ) {}

  /** Undefined for an id that never was; a removed file is still found. */
  find(id: string): WorldFile | undefined {
    if (!/^\d{1,12}$/.test(id)) return undefined;
    const index = Number(id) - FIRST_FILE_ID;
    if (index < 0 || index >= this.organizations.list.length * MADE.length || String(Number(id)) !== id)
      return undefined;
    return this.#changedFiles.get(index) ?? this.#made(index);
  }

  /** In the order of their ids, removed ones included. */
  ofOrganization({ index }: Organization): WorldFile[] {
    return MADE.map((_, at) => this.find(String(FIRST_FILE_ID + index * MADE.length + at))!);
  }

  change(file: WorldFile, { newContent, ...change }: FileChange, nowMs: number): WorldFile {
    const changed: WorldFile = {
      ...file,
      ...change,
      version: file.version + (newContent || change.bytes !== undefined ? 1 : 0),
      modifiedTime: new Date(Math.max(nowMs, Date.parse(file.modifiedTime) + 1)).toISOString(),
      changed: this.changes.next(),
    };
    this.#changedFiles.set(file.index, changed);
    return changed;
  }

  /** The bytes from `from` up to `to`, block by block. */
  *bytes(file: WorldFile, from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to; ) {
      const number = Math.floor(at / BLOCK_BYTES);
      const begin = at % BLOCK_BYTES;
      const end = Math.min(BLOCK_BYTES, begin + to - at);
      yield this.#block(file, number).subarray(begin, end);
      at += end - begin;
    }
  }

  /** SHA-256 of the whole file, base64; some 50 ms for the largest, then kept. */
  digest(file: WorldFile): string {
    const key = `${file.id} ${file.version}`;
    const kept = this.#digests.get(key);
    if (kept !== undefined) return kept;
    const hash = createHash('sha256');
    for (const part of this.bytes(file, 0, file.bytes)) hash.update(part);
    const digest = hash.digest('base64');
    if (this.#digests.size >= DIGESTS_MAX) this.#digests.clear();
    this.#digests.set(key, digest);
    return digest;
  }

  /** Every block is the file's own noise with its number in front, so that blocks cannot be mistaken for each other. */
  #block(file: WorldFile, number: number): Buffer {
    const key = file.index * 1_000 + (file.version % 1_000);
    let noise = this.#blocks.get(key);
    if (!noise) {
      if (this.#blocks.size >= 64) this.#blocks.clear();
      noise = Buffer.alloc(BLOCK_BYTES);
      const random = randomFor(this.seed, 61, file.index, file.version);
      for (let at = 0; at < BLOCK_BYTES; at += 2) noise.writeUInt16LE(random.integer(0, 0xffff), at);
      this.#blocks.set(key, noise);
    }
    const block = Buffer.from(noise);
    block.writeUInt32BE(number, 0);
    return block;
  }

  #made(index: number): WorldFile {
    const [name, type, bytes] = MADE[index % MADE.length]!;
    const day = 1 + (index % 28);
    return {
      id: String(FIRST_FILE_ID + index),
      index,
      organization: this.organizations.at(Math.floor(index / MADE.length)),
      name,
      type,
      bytes,
      status: bytes === 0 ? 'UPLOAD_PENDING' : 'READY',
      archived: false,
      removed: false,
      createdTime: new Date(Date.UTC(2025, 1, day, 8)).toISOString(),
      modifiedTime: new Date(Date.UTC(2025, 1, day, 9)).toISOString(),
      version: 1,
      changed: 0,
    };
  }
}
