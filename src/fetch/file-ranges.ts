/**
 * The bytes of a file, range by range, so that no file is ever in memory whole and a cut costs one range; over a slow line
 * they are small enough to come in time. Each range must
 * be of the same version as the one before, and exactly what was asked for, wherever the file stands by then. Where no answer proves that, the file's
 * record is read again before the last bytes are given: what may be a mix is never given whole.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Answer, NoDocument } from '../model/answer';
import { wordsIn } from '../model/answer-words';
import { Problem } from '../model/problem';
import type { FileContent, RawFault, RawRead } from '../model/provider-data';
import { shownAddress } from '../model/shown-address';
import type { Line } from './ask';
import { Attempt } from './attempt';
import type { Callers } from './caller';
import type { Forbidden } from './classify';
import type { ReceivedHeaders } from './client';
import type { Found } from './files';
import type { Organizations } from './organizations';
import { mediaTypeOf } from './parse-document';
import { answerOf, faultOf } from './reach';

export interface RangeParts {
  line: Line;
  callers: Callers;
  organizations: Organizations;
  timeoutMs: number;
  /** Of one range at most. */
  rangeBytes: number;
  find(id: string): Promise<RawRead<Found>>;
}

function makeRanges(parts: RangeParts) {
  const { line, callers, timeoutMs } = parts;

  async function range(found: Found, from: number, before: Before, bytes: number): Promise<Asked> {
    const { item, reach } = found;
    const url = new URL(item.address);
    const question = { url, operation: 'file', connection: reach.connection } as const;
    const headers = {
      Accept: 'application/octet-stream',
      // The bytes of a range are those of the file, not of a packed form of it.
      'Accept-Encoding': 'identity',
      Range: `bytes=${from}-${from + bytes - 1}`,
    };
    const attempt = new Attempt(timeoutMs);
    try {
      const exchange = await line.exchange({ ...question, headers }, attempt);
      const read =
        exchange.status === null
          ? null
          : rangeOf(exchange.status, exchange.headers, exchange.body, from, stateOf(item.body));
      if (read === null) {
        const verdict = line.verdictOf(exchange, question);
        const caller = callers.within(attempt);
        // Of what has the status of a document something was read.
        const unread = verdict as NoDocument | Forbidden;
        const answer = await answerOf(unread, reach, parts.organizations, caller);
        const fault = faultOf(answer, item.address, null);
        if (exchange.status !== null || exchange.wireBytes === 0 || !isUnfinished(answer)) return { fault };
        const came = exchange.wireBytes;
        const left = (bytesOf(item.body) ?? Number.POSITIVE_INFINITY) - from;
        const detail = unfinished(answer.code, came, Math.min(bytes, left), timeoutMs);
        return { fault: { ...fault, detail }, came };
      }
      if ('fault' in read) return wrong(item.address, read.fault);
      return isOther(read, before) ? wrong(item.address, hasChanged) : { value: read };
    } finally {
      attempt.end();
    }
  }

  /**
   * Of one download. Where one did not come to its end, it is asked for once more, smaller, and so are those that follow
   * until they come quickly: a line has a speed, and a call for each few bytes would use up what a sandbox may ask. The
   * more often one was cut, the more of them come before a larger one is tried: some lines never give one.
   */
  function makeNextRange() {
    let bytes = parts.rangeBytes;
    let cuts = 0;
    let quick = 0;
    return async (found: Found, from: number, before: Before): Promise<RawRead<Range>> => {
      const startedAt = performance.now();
      const read = await range(found, from, before, bytes);
      if ('came' in read && bytes > rangeBytesMin) {
        bytes = Math.max(rangeBytesMin, Math.floor(Math.min(read.came, bytes) / 2));
        cuts += 1;
        quick = 0;
        return range(found, from, before, bytes);
      }
      quick = performance.now() - startedAt < timeoutMs / 4 ? quick + 1 : 0;
      if (quick >= Math.min(2 ** (cuts - 1), quickRangesMax)) {
        bytes = Math.min(parts.rangeBytes, bytes * 2);
        quick = 0;
      }
      return read;
    };
  }

  return makeNextRange;
}

/**
 * Never rejects; `chunks` throws `provider.unavailable`, `provider.refused` or `provider.malformed` where it is cut. Of a
 * status 100 characters are told. After cuts, at most 16 ranges come quickly before a larger one is tried.
 */
export function makeFileContent(parts: RangeParts) {
  const nextRangeOf = makeRanges(parts);

  async function content(id: string, from: number, version: string | null): Promise<RawRead<FileContent>> {
    const found = await parts.find(id);
    if ('fault' in found) return found;
    let current = found.value;
    const nextRange = nextRangeOf();
    const rangeAt = async (at: number, before: Before): Promise<RawRead<Range>> => {
      const asked = await nextRange(current, at, before);
      if (!('fault' in asked) || asked.fault.answer?.kind !== 'gone') return asked;
      // Addresses may have moved since it was found: it is found again by its id, once.
      const today = await parts.find(id);
      if ('fault' in today) return today;
      const moved = today.value.item.address !== current.item.address;
      current = today.value;
      return moved ? nextRange(current, at, before) : asked;
    };
    const first = await rangeAt(from, { version });
    if ('fault' in first) return { fault: withStatus(first.fault, current) };
    const { bytesTotal, version: read, sha256 } = first.value;
    const { item } = current;
    const inOne = from === 0 && first.value.bytes.length === bytesTotal;
    if (!inOne && read === null && sha256 === null) return wrong(item.address, nothingTells);
    const said = bytesOf(item.body);
    // Nothing else tells the file from whatever else may be answered at its address.
    if (sha256 === null && said !== null && said !== bytesTotal)
      return wrong(item.address, `expected ${said} bytes as its record says, got a file of ${bytesTotal}`);
    const address = shownAddress(item.address) ?? '';
    const next = async (at: number) => {
      const more = await rangeAt(at, first.value);
      if ('fault' in more) throw cut(more.fault, address);
      return more.value;
    };
    const isProven = inOne || sha256 !== null || read?.startsWith(weak) === false;
    const prove = async () => {
      if (isProven) return;
      const again = await parts.find(id);
      if ('fault' in again) throw cut(again.fault, address);
      const same = isDeepStrictEqual(stateOf(again.value.item.body), stateOf(item.body));
      if (!same) throw cut(wrong(item.address, hasChanged).fault, address);
    };
    const chunks = chunksFrom(from, first.value, next, prove);
    return { value: { address, from, bytesTotal, bytesRecorded: said, version: read, sha256, chunks } };
  }

  return content;
}

const statusCharsMax = 100;
/** Who gets less than this in one answer waits in vain. */
const rangeBytesMin = 4 * 1024;
/** In a row, before a larger one is tried. */
const quickRangesMax = 16;

function unfinished(code: string, came: number, asked: number, timeoutMs: number): string {
  const words = `${came} of ${Math.max(came, asked)} bytes came`;
  if (code !== 'deadline') return `the answer was cut: ${words}`;
  return `only ${words} within PROVIDER_TIMEOUT_MS (${timeoutMs}): over a line that slow, raise it`;
}

/** A file that is listed before its bytes came is no absent one: its record says how far it is. */
function withStatus(fault: RawFault, { item, reach }: Found): RawFault {
  const { status } = (item.body ?? {}) as { status?: unknown };
  if (fault.answer?.kind !== 'gone' || typeof status !== 'string' || status === 'READY') return fault;
  const message = `its status is ${status.slice(0, statusCharsMax)}, and the provider has no bytes of it`;
  const { connectionId } = reach.connection;
  return { ...fault, answer: { kind: 'refused-unattributed', connectionId, message }, detail: message };
}

/** What came of a range: all of it, in one piece. */
interface Range {
  bytes: Buffer;
  bytesTotal: number;
  version: string | null;
  sha256: string | null;
}

/** `came`: so many bytes of it, before it was cut or its time was over. */
type Asked = RawRead<Range> | { fault: RawFault; came: number };

/** What was read before of the file; what is left out is not known. */
type Before = Pick<Range, 'version'> & Partial<Range>;

/** What a file's record says of its bytes. */
export interface RecordState {
  modifiedTime: string | null;
  size: string | null;
}

const weak = 'W/';
const hasChanged = 'the file has changed since its first bytes were read';
/** What pages and errors are made of, and a file never comes as, whatever is in it: its bytes are asked for. */
const readable = /^text\/|[/+](?:json|xml)$/;
const nothingTells =
  'it comes in several ranges, and neither an ETag, a digest nor a time tells one version of it from another';

function wrong(address: string, detail: string): { fault: RawFault } {
  return { fault: { answer: null, detail, address, organizationId: null } };
}

function isOther(read: Range, { version, bytesTotal = read.bytesTotal, sha256 = null }: Before): boolean {
  if (version !== null && read.version !== version) return true;
  return bytesTotal !== read.bytesTotal || (sha256 ?? read.sha256) !== (read.sha256 ?? sha256);
}

function stateOf(record: unknown): RecordState {
  const { modifiedTime, nativeSize } = Object(record) as { modifiedTime?: unknown; nativeSize?: unknown };
  return { modifiedTime: textOf(modifiedTime), size: textOf(nativeSize) };
}

/** null where the record names no whole number. */
function bytesOf(record: unknown): number | null {
  const { size } = stateOf(record);
  return size !== null && /^\d{1,15}$/.test(size) ? Number(size) : null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** `prove` is awaited before the last bytes are given. */
async function* chunksFrom(
  from: number,
  first: Range,
  next: (at: number) => Promise<Range>,
  prove: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let at = from;
  let range = first;
  for (;;) {
    at += range.bytes.length;
    const isLast = at >= first.bytesTotal || range.bytes.length === 0;
    if (isLast) await prove();
    if (range.bytes.length > 0) yield range.bytes;
    if (isLast) return;
    range = await next(at);
  }
}

/** null for an answer that is no range and no file; a fault for one that is not what was asked for. */
export function rangeOf(
  status: number,
  headers: ReceivedHeaders,
  body: Buffer,
  from: number,
  record: RecordState,
): Range | { fault: string } | null {
  const version = versionOf(headers, record);
  const sha256 = sha256Of(headers);
  const mediaType = mediaTypeOf(headers['content-type']);
  if ((status === 200 || status === 206) && readable.test(mediaType))
    return { fault: `expected application/octet-stream, got ${mediaType}, ${body.length} bytes` };
  if (status === 200) {
    // The provider does not know ranges: all of it came, within the bound of an answer.
    const bytesTotal = body.length;
    if (from > bytesTotal) return { fault: `expected more than ${from} bytes, got ${bytesTotal}` };
    return { bytes: body.subarray(from), bytesTotal, version, sha256 };
  }
  const [, unsatisfied] = /^bytes \*\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  if (status === 416 && Number(unsatisfied) === from) {
    return { bytes: Buffer.alloc(0), bytesTotal: from, version, sha256 };
  }
  if (status !== 206) return null;
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  if (Number(first) !== from || Number(last) < from || Number(total) < Number(last) + 1) {
    return { fault: `expected bytes from ${from}, got ${body.length} bytes as another range` };
  }
  const bytes = Number(last) - from + 1;
  if (bytes !== body.length)
    return { fault: `expected ${bytes} bytes as its range says, got ${body.length}` };
  return { bytes: body, bytesTotal: Number(total), version, sha256 };
}

/**
 * A strong ETag (RFC 9110 section 8.8.3). Without one what the answer and the record say together, in the form of a weak
 * ETag: of two equal ones the bytes may still differ. null where neither names a time.
 */
function versionOf(headers: ReceivedHeaders, { modifiedTime, size }: RecordState): string | null {
  const { etag = '', 'last-modified': lastModified = null } = headers;
  if (etag !== '' && !etag.startsWith(weak)) return etag;
  if (lastModified === null && modifiedTime === null) return null;
  const said = JSON.stringify([etag, lastModified, modifiedTime, size]);
  return `${weak}"${createHash('sha256').update(said).digest('hex').slice(0, 32)}"`;
}

/** `Repr-Digest` (RFC 9530), or `Digest` before it; lower-case hex. */
function sha256Of(headers: ReceivedHeaders): string | null {
  for (const name of ['repr-digest', 'digest']) {
    const said = headers[name];
    const value = /(?:^|[,\s])sha-256=:?([A-Za-z0-9+/]{43}=?)/i.exec(String(said ?? ''))?.[1];
    if (value !== undefined) return Buffer.from(value, 'base64').toString('hex');
  }
  return null;
}

/** Without the provider's words: they are for faults, whose words are looked through. Until when it wants a pause are ours. */
function cut({ answer, detail }: RawFault, address: string): Problem {
  if (answer === null) return new Problem('provider.malformed', `${detail} (${address})`);
  const until = answer.kind === 'rate-limited' ? `: ${wordsIn(answer)}` : '';
  const code = 'code' in answer ? answer.code : answer.kind;
  const said = isUnfinished(answer) ? detail : code;
  const problem = passes(answer) ? 'provider.unavailable' : 'provider.refused';
  return new Problem(problem, `the file was cut: ${said}${until} (${address})`);
}

/** What says so is ours. */
function isUnfinished(answer: Answer): answer is Extract<Answer, { kind: 'transient' }> {
  return answer.kind === 'transient' && (answer.code === 'deadline' || answer.code === 'body-cut');
}

function passes({ kind }: Answer): boolean {
  return kind === 'transient' || kind === 'rate-limited' || kind === 'aborted';
}
