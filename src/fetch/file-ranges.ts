/**
 * The bytes of a file, range by range, so that no file is ever in memory whole and a cut costs one range. Each range must
 * be of the same version as the one before, and exactly what was asked for.
 */
import type { Answer } from '../model/answer';
import { Problem } from '../model/problem';
import type { FileContent, RawFault, RawRead } from '../model/provider-data';
import { shownAddress } from '../model/shown-address';
import type { Line } from './ask';
import { Attempt } from './attempt';
import type { Callers } from './caller';
import type { ReceivedHeaders } from './client';
import type { Found } from './files';
import type { Organizations } from './organizations';
import { answerOf, faultOf } from './reach';

export interface RangeParts {
  line: Line;
  callers: Callers;
  organizations: Organizations;
  timeoutMs: number;
  /** Of one range. */
  rangeBytes: number;
  find(id: string): Promise<RawRead<Found>>;
}

/** Never rejects; `chunks` throws `provider.unavailable`, `provider.refused` or `provider.malformed` where it is cut. */
export function makeFileContent(parts: RangeParts) {
  const { line, callers, timeoutMs } = parts;

  async function range(found: Found, from: number, version: string | null): Promise<RawRead<Range>> {
    const { item, reach } = found;
    const url = new URL(item.address);
    const question = { url, operation: 'file', connection: reach.connection } as const;
    const headers = {
      Accept: 'application/octet-stream',
      // The bytes of a range are those of the file, not of a packed form of it.
      'Accept-Encoding': 'identity',
      Range: `bytes=${from}-${from + parts.rangeBytes - 1}`,
    };
    const attempt = new Attempt(timeoutMs);
    try {
      const exchange = await line.exchange({ ...question, headers }, attempt);
      const read =
        exchange.status === null ? null : rangeOf(exchange.status, exchange.headers, exchange.body, from);
      if (read === null) {
        const verdict = line.verdictOf(exchange, question);
        const caller = callers.within(attempt);
        const answer = await answerOf(verdict as never, reach, parts.organizations, caller);
        return { fault: faultOf(answer, item.address, null) };
      }
      const changed = version !== null && 'bytes' in read && read.version !== version;
      const detail = changed
        ? 'the file has changed since its first bytes were read'
        : 'fault' in read && read.fault;
      if (typeof detail === 'string')
        return { fault: { answer: null, detail, address: item.address, organizationId: null } };
      return { value: read as Range };
    } finally {
      attempt.end();
    }
  }

  async function content(id: string, from: number, version: string | null): Promise<RawRead<FileContent>> {
    const found = await parts.find(id);
    if ('fault' in found) return found;
    const first = await range(found.value, from, version);
    if ('fault' in first) return first;
    const { bytesTotal, version: read, sha256 } = first.value;
    const address = shownAddress(found.value.item.address) ?? '';
    const next = async (at: number) => {
      const more = await range(found.value, at, read);
      if ('fault' in more) throw cut(more.fault, address);
      return more.value;
    };
    const chunks = chunksFrom(from, first.value, next);
    return { value: { address, from, bytesTotal, version: read, sha256, chunks } };
  }

  return content;
}

/** What came of a range: all of it, in one piece. */
interface Range {
  bytes: Buffer;
  bytesTotal: number;
  version: string | null;
  sha256: string | null;
}

async function* chunksFrom(
  from: number,
  first: Range,
  next: (at: number) => Promise<Range>,
): AsyncGenerator<Uint8Array> {
  let at = from;
  let range = first;
  for (;;) {
    if (range.bytes.length > 0) yield range.bytes;
    at += range.bytes.length;
    if (at >= first.bytesTotal || range.bytes.length === 0) return;
    range = await next(at);
  }
}

/** null for an answer that is no range and no file; a fault for one that is not what was asked for. */
export function rangeOf(
  status: number,
  headers: ReceivedHeaders,
  body: Buffer,
  from: number,
): Range | { fault: string } | null {
  const version = headers.etag ?? null;
  const sha256 = sha256Of(headers);
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
  if (Number(first) !== from || Number(last) - from + 1 !== body.length || Number(total) < Number(last) + 1) {
    return { fault: `expected bytes from ${from}, got ${body.length} bytes as another range` };
  }
  return { bytes: body, bytesTotal: Number(total), version, sha256 };
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

/** Without the provider's words: they are for faults, whose words are looked through. */
function cut({ answer, detail }: RawFault, address: string): Problem {
  if (answer === null) return new Problem('provider.malformed', `${detail} (${address})`);
  const code = passes(answer) ? 'provider.unavailable' : 'provider.refused';
  return new Problem(code, `the file was cut: ${'code' in answer ? answer.code : answer.kind} (${address})`);
}

function passes({ kind }: Answer): boolean {
  return kind === 'transient' || kind === 'rate-limited' || kind === 'aborted';
}
