/**
 * One call to the provider, whole: headers, signature, exchange, account, classification. Everything in this room that
 * wants an answer asks here. The address was admitted by the gate before.
 */
import type { Connection } from '../model/connection';
import type { Attempt } from './attempt';
import { classify, type Verdict } from './classify';
import type { Exchange, HttpClient, Method, ReceivedHeaders, SentHeaders } from './client';
import { httpDateMs } from './http-date';
import { makeTurns } from './one-at-a-time';
import type { Operation, ProviderDoors, ProviderOptions } from './options';
import type { Signer } from './sign';

export interface Question {
  url: URL;
  operation: Operation;
  /** null: for the application alone, which only OAuth 1 signs for. */
  connection: Connection | null;
  /** Where the document counts as read, when that is not the address asked. */
  address?: string;
}

/** A question that is more than a read of JSON. */
export interface Request extends Question {
  /** GET when left out. */
  method?: Method;
  /** Written as JSON in the media type of the address. */
  body?: unknown;
  /** They replace those of the same name. */
  headers?: SentHeaders;
  /** It asks for what changed since something that is known: only to such a question 304 is an answer. */
  changesOnly?: boolean;
  /** Told the headers of the answer, when there is one. */
  heard?(headers: ReceivedHeaders): void;
}

/** Never rejects; a cut attempt is `aborted` or `transient` with `deadline`. */
export type Ask = (question: Request, attempt: Attempt) => Promise<Verdict>;

/** One exchange with what belongs to every call, and what `classify` makes of it. */
export interface Line {
  exchange(request: Request, attempt: Attempt): Promise<Exchange>;
  verdictOf(exchange: Exchange, question: Request): Verdict;
}

export interface AskParts {
  options: ProviderOptions;
  doors: ProviderDoors;
  client: HttpClient;
  signer: Signer;
  /** True for an address of the equipment API, which has a media type of its own. */
  isEquipment(url: URL): boolean;
}

type AcceptingHeaders = SentHeaders & { Accept: string };

/** Below so many bytes a body is read in no more time than anybody would notice. */
const largeBytesMin = 256 * 1024;

/** Larger bodies are read one at a time: of many that come together each would hold up every delivery for all the others. */
export function makeAsk(line: Line): Ask {
  const turn = makeTurns();
  return async (question, attempt) => {
    const exchange = await line.exchange(question, attempt);
    if (exchange.status === null || exchange.body.length < largeBytesMin)
      return line.verdictOf(exchange, question);
    const mine = turn();
    const cut = await attempt.during(mine);
    const { wireBytes } = exchange;
    if (cut === 'aborted') return line.verdictOf({ status: null, code: cut, wireBytes }, question);
    // The provider has answered in time: that others go first is not its fault.
    if (cut === 'deadline') await mine;
    return line.verdictOf(exchange, question);
  };
}

export function makeLine({ options, doors, client, signer, isEquipment }: AskParts): Line {
  const vendor = options.vendor.toLowerCase();
  const platformType = `application/vnd.${options.vendor}.axiom.v3+json`;
  const platformHeaders: AcceptingHeaders = {
    Accept: platformType,
    'Accept-Encoding': 'gzip',
    ...(options.unitSystem !== null && { 'Accept-UOM-System': options.unitSystem.toUpperCase() }),
    ...(options.yieldPreference !== null && {
      'Accept-Yield-Preference': options.yieldPreference.toUpperCase(),
    }),
  };
  const equipmentHeaders: AcceptingHeaders = { ...platformHeaders, Accept: 'application/json' };
  const elapsedHeader = `x-${vendor}-elapsed-ms`;
  /** Whose token each was asked with: the one that is good by now may be another than the question began with. */
  const shown = new WeakMap<Exchange, Connection>();

  async function exchange(
    { url, operation, connection, method = 'GET', body, headers: own, heard }: Request,
    attempt: Attempt,
  ) {
    await attempt.paid();
    const accepted = isEquipment(url) ? equipmentHeaders : platformHeaders;
    const typed = body === undefined ? accepted : { ...accepted, 'Content-Type': accepted.Accept };
    const fixed = own === undefined ? typed : { ...typed, ...own };
    let isCounted = attempt.cut === null;
    const counted = isCounted ? (doors.sends?.() ?? null) : null;
    if (counted !== null) await attempt.during(counted);
    const headersOf = () => {
      // A repetition is a call of its own.
      if (!isCounted) void doors.sends?.();
      isCounted = false;
      return { ...fixed, Authorization: signer.authorize({ method, url }, connection) };
    };
    const startedAt = performance.now();
    const written = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const received = await client.send({ method, url, body: written }, headersOf, attempt);
    const { status, wireBytes: bytes } = received;
    const headers = status === null ? {} : received.headers;
    if (connection !== null) shown.set(received, connection);
    if (status !== null) heard?.(received.headers);
    doors.called({
      method,
      operation,
      status,
      tookMs: performance.now() - startedAt,
      bytes,
      elapsedMs: durationOrNull(headers[elapsedHeader]),
      serverDateMs: httpDateMs(headers.date),
    });
    // Catalog reads stand outside what a read costs.
    if (operation !== 'catalog') {
      attempt.cost.calls += 1;
      attempt.cost.bytes += bytes;
      attempt.cost.status = status;
    }
    return received;
  }

  return {
    exchange,
    verdictOf(received, { url, connection, address, changesOnly = false }) {
      return classify(received, {
        connectionId: connection?.connectionId ?? '',
        sealedToken: (shown.get(received) ?? connection)?.sealedToken ?? null,
        origin: url.origin,
        address: address ?? url.href,
        vendor,
        changesOnly,
        auth: connection?.auth ?? 'oauth1',
        byClient: connection === null,
        depthMax: options.depthMax,
        nowMs: doors.clock.nowMs(),
      });
    },
  };
}

/** Tells of consents that are refused: once nothing more can be tried for them. */
export function makeHeardLine(line: Line, refused: NonNullable<ProviderDoors['refused']>): Line {
  return {
    exchange: line.exchange,
    verdictOf(received, question) {
      const verdict = line.verdictOf(received, question);
      if (verdict.kind === 'reauthorize' && verdict.sealedToken !== null)
        refused(verdict.connectionId, verdict.message, verdict.sealedToken);
      return verdict;
    },
  };
}

function numberOrNull(value: unknown): number | null {
  const number = value === undefined || value === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A time below zero would take from a sum that only rises. */
function durationOrNull(value: unknown): number | null {
  const number = numberOrNull(value);
  return number === null || number < 0 ? null : number;
}
