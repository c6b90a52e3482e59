/**
 * Joins the sync: listings through the provider's client, heard like every other answer; items judged by the rooms that
 * know documents; runs in the store.
 */
import type { Settings } from '../config';
import type { ConnectionBook } from '../connect/connection-book';
import { chooseConnection } from '../fetch/choose-connection';
import type { ProviderClient } from '../fetch/provider-client';
import { makeSandboxMeter, productionMeter, type SandboxMeter } from '../fetch/sandbox-meter';
import { type HearingDoors, hearListing, ofNobody } from '../inbox/hear-listing';
import { pageRowsMax } from '../model/api';
import type { OrganizationView } from '../model/organization';
import type { Store } from '../model/store';
import type { SyncStanding } from '../model/sync';
import type { Gauges } from '../observe/lines';
import type { Observer } from '../observe/observer';
import type { Pipeline } from '../pipeline';
import type { SyncProvider } from '../sync/doors';
import { makeSync, type Sync } from '../sync/sync';
import type { Clock } from '../tools/clock';
import type { NameEquipment } from './equipment-names';
import { hearingDoors } from './hearing-doors';
import { makeItemJudge } from './judge-item';
import { catalogOriginOf, syncOptions } from './options';

export interface SyncParts {
  store: Store;
  client: ProviderClient;
  pipeline: Pipeline;
  book: ConnectionBook;
  meter: SandboxMeter;
  nameEquipment: NameEquipment;
  clock: Clock;
  /** Of this process, for the lease. */
  holder: string;
  observer: Pick<Observer, 'syncEnded' | 'listingRefused'>;
  /** Events were decided. */
  decided(): void;
  failed(error: unknown): void;
}

/** What a sync finds is sent in batches: nobody waits for it as for what was notified. */
const tellEveryMs = 500;

/** Sync, joined to provider, access, sandbox budget and telemetry; nothing runs yet. */
export function syncOf(settings: Settings, parts: SyncParts): Sync {
  const { store, pipeline, book, meter, nameEquipment, clock } = parts;
  const { access, health } = pipeline;
  const hearing = hearingDoors(store, pipeline, parts.failed, clock);
  let toldMs = Number.NEGATIVE_INFINITY;
  return makeSync(
    {
      store,
      provider: heardProvider(settings, parts, hearing),
      nameEquipment,
      judge: makeItemJudge({
        includeOperatorNames: settings.includeOperatorNames,
        sees: (connectionId, organizationId) => book.sees(connectionId).has(organizationId),
      }),
      connections: () =>
        book.connections().flatMap(({ connectionId, status }) => (status === 'valid' ? [connectionId] : [])),
      connectionsOf(organizationId, keptWith) {
        const sees = (connectionId: string) => book.sees(connectionId);
        const claim = {
          connectionId: keptWith,
          organizationId,
          hintedUser: null,
          hintedOrganizationId: null,
        };
        const chosen = chooseConnection(claim, book.connections(), sees);
        const others = book
          .connections()
          .filter(({ connectionId, status }) => status === 'valid' && sees(connectionId).has(organizationId));
        return [...new Set([...(chosen === null ? [] : [chosen]), ...others])].map(
          ({ connectionId }) => connectionId,
        );
      },
      organizationsSeen: (connectionId) => [...book.sees(connectionId)],
      closedOrganizations() {
        const of = (wanted: 'valid' | 'refused') =>
          book.connections().flatMap(({ connectionId, status }) => {
            return status === wanted ? [...book.sees(connectionId)] : [];
          });
        const open = new Set(of('valid'));
        return [...new Set(of('refused'))].filter((id) => !open.has(id));
      },
      unconnected: access.unconnected,
      learned: () => book.refresh(),
      refused: access.refuseGrant,
      coolDownMs: () => health.coolDownMs(clock.nowMs()),
      forbidden: () => meter.forbidden(),
      decided() {
        const nowMs = clock.nowMs();
        if (nowMs - toldMs < tellEveryMs) return;
        toldMs = nowMs;
        parts.decided();
      },
      ended: parts.observer.syncEnded,
      clientServed: hearing.clientServed,
      due() {
        pipeline.work.wake();
        pipeline.probes.wake();
      },
      clock,
    },
    { ...syncOptions(settings), holder: parts.holder },
    parts.failed,
  );
}

/** How syncs stand, as gauges show it. Pure. */
export function gaugesOf(standing: SyncStanding | null, nowMs: number): Awaited<ReturnType<Gauges['syncs']>> {
  const wholeAtMs = standing?.wholeAtMs ?? null;
  return {
    wholeAgeMs: wholeAtMs === null ? null : Math.max(0, nowMs - wholeAtMs),
    unread: standing?.unread.length ?? 0,
  };
}

/** An address that is not the provider's is counted, wherever it was named. */
async function* countRefused<Page extends { partial: false } | { partial: true; reason: string }>(
  pages: AsyncIterable<Page>,
  { listingRefused }: Pick<Observer, 'listingRefused'>,
): AsyncGenerator<Page, void> {
  for await (const page of pages) {
    if (page.partial && page.reason === 'address-refused') listingRefused();
    yield page;
  }
}

function heardProvider(
  settings: Settings,
  { client, observer }: SyncParts,
  hearing: HearingDoors,
): SyncProvider {
  const platform = catalogOriginOf(settings);
  const equipment = settings.providerEquipmentUrl;
  return {
    organizations: (connectionId, signal) =>
      hearListing(
        countRefused(client.organizations(connectionId, signal), observer),
        { origin: platform, connectionId, ...ofNobody },
        hearing,
      ),
    listing(ask, signal) {
      const { connectionId, of } = ask;
      const isEquipment = of.what === 'equipment';
      const origin = isEquipment && equipment !== null ? new URL(equipment).origin : platform;
      const organizationId = isEquipment ? of.organizationId : null;
      const address = isEquipment ? `the equipment of ${organizationId}` : of.address;
      const reading = { origin, connectionId, organizationId, address, lastAttemptMs: null };
      return hearListing(countRefused(client.listing(ask, signal), observer), reading, hearing);
    },
    organization: (organizationId, connectionId, signal) =>
      client.readOrganization(organizationId, connectionId, signal),
  };
}

/** Counts only where there is something to count against. */
export function meterOf(
  settings: Settings,
  store: Store,
  failed: (error: unknown) => void,
  clock: Clock,
): SandboxMeter {
  if (settings.providerPlan !== 'sandbox') return productionMeter;
  // Only who was seen: a notification may name a stranger.
  const named = new Set(settings.providerSandboxTestOrganizations ?? []);
  const connected = async () => {
    const seen = new Set((await store.listConnections()).flatMap(({ organizations }) => organizations));
    const count = { all: 0, test: 0 };
    let after: string | null = null;
    do {
      const page: OrganizationView[] = await store.listOrganizations({ limit: pageRowsMax, after });
      for (const { id, access } of page) {
        if (!seen.has(id) || access === 'not-connected') continue;
        count.all += 1;
        if (named.has(id)) count.test += 1;
      }
      after = page.length < pageRowsMax ? null : page.at(-1)!.id;
    } while (after !== null);
    return count;
  };
  const { providerSandboxSince: since } = settings;
  return makeSandboxMeter({ store, connected, failed, clock }, since === null ? null : Date.parse(since));
}
