/**
 * Makes the provider's client, and joins what people read through it: the service gives its own, a command that finds no
 * service gets one of its own on the store's connections.
 */

import type { Settings } from '../config';
import { type ConnectionBook, makeConnectionBook } from '../connect/connection-book';
import type { ProviderDoors } from '../fetch/options';
import { makeProviderClient, type ProviderClient } from '../fetch/provider-client';
import type { ProviderApi, ProviderData } from '../model/provider-data';
import type { Store } from '../model/store';
import { readFileEntry, readReferenceEntry } from '../normalize/listed-entry';
import { normalizeDocument } from '../normalize/normalize';
import { makeProviderApi } from '../operations/provider-api';
import { draftEvent } from '../publish/draft-event';
import { systemClock } from '../tools/clock';
import { makeSealer } from '../tools/secret';
import { hideCredentials } from './hide-credentials';
import * as options from './options';

/** The provider's client; what it quotes of our credentials is hidden from everybody else. */
export function clientOf(settings: Settings, doors: ProviderDoors): ProviderClient {
  const providerOptions = options.providerOptions(settings);
  const { clientSecret } = providerOptions;
  const { connections } = doors;
  return hideCredentials(makeProviderClient(providerOptions, doors), { clientSecret, connections });
}

/** The provider's data as operators see it; `ready` is awaited before each call. */
export function providerApiOf(
  settings: Settings,
  data: () => ProviderData,
  ready: () => Promise<void>,
): ProviderApi {
  const { includeOperatorNames } = settings;
  return makeProviderApi({
    data,
    ready,
    document(item, kind) {
      const normalized = normalizeDocument(item.body, { includeOperatorNames });
      if (!normalized.ok) return { ok: false, path: normalized.path, detail: normalized.detail };
      if (normalized.document.kind !== kind) {
        return { ok: false, path: '/@type', detail: `expected ${kind}, got ${normalized.document.kind}` };
      }
      const observedAt = new Date(systemClock.nowMs()).toISOString();
      return { ok: true, view: JSON.parse(draftEvent(normalized.document, { ...item, observedAt }).value) };
    },
    file: ({ body, address, mediaType }) => readFileEntry(body, { address, mediaType }),
    reference: readReferenceEntry,
  });
}

/**
 * For a command beside no service: a client on the store's connections, made when it is first needed. What it learns of
 * organizations is kept; their access is the service's to judge. Calls throw `settings.invalid` where settings miss.
 */
export function makeOwnProvider(settings: Settings, store: Store): { api: ProviderApi; close(): void } {
  const clock = systemClock;
  const nothing = async () => {};
  let book: ConnectionBook | null = null;
  let client: ProviderClient | null = null;
  const opened = (): ProviderClient => {
    client ??= clientOf(settings, {
      connections: () => book?.connections() ?? [],
      sees: (connectionId) => book?.sees(connectionId) ?? new Set(),
      clock,
      called: () => {},
    });
    return client;
  };
  let ready: Promise<void> | null = null;
  async function open(): Promise<void> {
    opened();
    book = makeConnectionBook({
      store,
      sealer: makeSealer(settings.encryptionKeys ?? []),
      list: (connectionId) => opened().organizations(connectionId),
      unconnected: nothing,
      refused: nothing,
      wanted: () => {},
      clock,
    });
    if (settings.providerTokens === null) await book.refresh();
    else await book.importTokens([...settings.providerTokens]);
    if (!book.known()) await book.learn();
  }
  const api = providerApiOf(
    settings,
    () => opened().data,
    () => {
      ready ??= open();
      return ready;
    },
  );
  return { api, close: () => client?.close() };
}
