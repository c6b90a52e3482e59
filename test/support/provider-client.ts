// A provider client with plain settings for suites of the fetch room: a provider that only nock or a loopback
// server stands behind, one connection that sees one organization, a clock that stands still, and every call recorded.
import type { Called, ProviderDoors, ProviderOptions } from '../../src/fetch/options';
import { makeProviderClient, type ProviderClient } from '../../src/fetch/provider-client';
import type { ReadRequest } from '../../src/fetch/read-through';
import type { Connection } from '../../src/model/connection';
import type { EquipmentNames, EquipmentSought } from '../../src/model/equipment-names';
import type { Clock } from '../../src/tools/clock';
import { Secret } from '../../src/tools/secret';

/** 2026-03-01T12:00:00Z. */
export const startMs = Date.UTC(2026, 2, 1, 12);

export interface StillClock extends Clock {
  set(ms: number): void;
}

export function stillClock(ms = startMs): StillClock {
  let nowMs = ms;
  return {
    nowMs: () => nowMs,
    steadyMs: () => nowMs,
    wait: async () => {},
    set: (to) => {
      nowMs = to;
    },
  };
}

export function connectionOf(more: Partial<Connection> = {}): Connection {
  return {
    connectionId: 'c1',
    user: 'ann',
    auth: 'oauth2',
    token: new Secret('canary-token'),
    sealedToken: 'sealed',
    tokenSecret: null,
    refresh: null,
    expiresAt: null,
    status: 'valid',
    ...more,
  };
}

// Loopback literals: nock answers every name from 127.0.0.1, and the client rightly leaves a public name that leads there.
export const origin = 'http://127.0.0.1:9100';
export const equipmentOrigin = 'http://127.0.0.1:9200';

export function optionsOf(more: Partial<ProviderOptions> = {}): ProviderOptions {
  return {
    vendor: 'Acme',
    catalogUrl: `${origin}/platform/`,
    equipmentUrl: `${equipmentOrigin}/isg`,
    equipmentApi: 'new',
    origins: [],
    issuer: null,
    clientKey: 'client-key',
    clientSecret: new Secret('canary-client-secret'),
    timeoutMs: 2000,
    bodyBytesMax: 100_000,
    depthMax: 32,
    pagesMax: 20,
    connectionsMax: 4,
    listsAtOnce: 4,
    unitSystem: null,
    yieldPreference: null,
    probeMs: 15_000,
    probeMsMax: 900_000,
    ...more,
  };
}

export interface Staged {
  client: ProviderClient;
  calls: Called[];
  /** Told of each call as it is answered. */
  heard: (call: Called) => void;
  connections: Connection[];
  sees: Map<string, Set<string>>;
  clock: StillClock;
  /** What was seen of the piece of equipment that is asked for; null: it cannot be told. */
  book: { records: EquipmentNames[] | null; sought: EquipmentSought[] };
}

export function stageClient(
  more: Partial<ProviderOptions> = {},
  connections = [connectionOf()],
  doors: Partial<ProviderDoors> = {},
): Staged {
  const calls: Called[] = [];
  const clock = stillClock();
  const sees = new Map([['c1', new Set(['4711'])]]);
  const book: Staged['book'] = { records: [], sought: [] };
  const client = makeProviderClient(optionsOf(more), {
    async equipmentRecords(sought) {
      book.sought.push(sought);
      if (book.records === null) throw new Error('the store is away');
      return book.records;
    },
    connections: () => connections,
    sees: (connectionId) => sees.get(connectionId) ?? new Set(),
    clock,
    called: (call) => {
      calls.push(call);
      staged.heard(call);
    },
    ...doors,
  });
  const staged: Staged = { client, calls, heard: () => {}, connections, sees, clock, book };
  return staged;
}

export function requestFor(address: string, more: Partial<ReadRequest> = {}): ReadRequest {
  return {
    address,
    resource: null,
    organizationId: null,
    hintedOrganizationId: null,
    hintedUser: 'ann',
    connectionId: null,
    ...more,
  };
}
