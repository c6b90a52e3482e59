/**
 * One call to the provider, whole: headers, signature, exchange, account, classification. Everything in this room that
 * wants an answer asks here. The address was admitted by the gate before.
 */
import type { Connection } from '../model/connection';
import type { Attempt } from './attempt';
import { classify, type Verdict } from './classify';
import type { HttpClient, SentHeaders } from './client';
import type { Operation, ProviderDoors, ProviderOptions } from './options';
import type { Signer } from './sign';

export interface Question {
  url: URL;
  operation: Operation;
  /** null: for the application alone. */
  connection: Connection | null;
  /** Where the document counts as read, when that is not the address asked. */
  address?: string;
}

/** Never rejects; a cut attempt is `aborted` or `transient` with `deadline`. */
export type Ask = (question: Question, attempt: Attempt) => Promise<Verdict>;

export interface AskParts {
  options: ProviderOptions;
  doors: ProviderDoors;
  client: HttpClient;
  signer: Signer;
  /** True for an address of the equipment API, which has a media type of its own. */
  isEquipment(url: URL): boolean;
}

export function makeAsk({ options, doors, client, signer, isEquipment }: AskParts): Ask {
  const vendor = options.vendor.toLowerCase();
  const platformHeaders: SentHeaders = {
    Accept: `application/vnd.${options.vendor}.axiom.v3+json`,
    'Accept-Encoding': 'gzip',
    ...(options.unitSystem !== null && { 'Accept-UOM-System': options.unitSystem }),
  };
  const equipmentHeaders: SentHeaders = { ...platformHeaders, Accept: 'application/json' };
  const elapsedHeader = `x-${vendor}-elapsed-ms`;

  return async ({ url, operation, connection, address }, attempt) => {
    const fixed = isEquipment(url) ? equipmentHeaders : platformHeaders;
    const headersOf = () => {
      const authorization = signer.authorize({ method: 'GET', url }, connection);
      return authorization === null ? fixed : { ...fixed, Authorization: authorization };
    };
    const startedAt = performance.now();
    const exchange = await client.get(url, headersOf, attempt);
    const { status, wireBytes: bytes } = exchange;
    const headers = status === null ? {} : exchange.headers;
    doors.called({
      operation,
      status,
      tookMs: performance.now() - startedAt,
      bytes,
      elapsedMs: numberOrNull(headers[elapsedHeader]),
      serverDateMs: headers.date === undefined ? null : numberOrNull(Date.parse(headers.date)),
    });
    // Catalog reads stand outside what a read costs.
    if (operation !== 'catalog') {
      attempt.cost.calls += 1;
      attempt.cost.bytes += bytes;
      attempt.cost.status = status;
    }
    return classify(exchange, {
      connectionId: connection?.connectionId ?? '',
      origin: url.origin,
      address: address ?? url.href,
      vendor,
      depthMax: options.depthMax,
      nowMs: doors.clock.nowMs(),
    });
  };
}

function numberOrNull(value: unknown): number | null {
  const number = value === undefined || value === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}
