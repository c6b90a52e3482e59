/**
 * What operators can ask and order, on the doors of the store: the routes serve it, and a command that finds no service
 * uses it directly. What is not there is an error. No HTTP here.
 */
import type { Alert } from '../model/alert';
import type {
  AlertTestLine,
  AlertView,
  Api,
  CheckLine,
  ConfigView,
  DecidedEntry,
  LedgerView,
} from '../model/api';
import type { ConnectionsApi } from '../model/consent';
import type { Ledger } from '../model/ledger';
import { noConsent } from '../model/missing-consents';
import type { Element } from '../model/notification';
import { type Forgotten, type ForgottenView, historyMax, type OrganizationView } from '../model/organization';
import { isProblem, Problem } from '../model/problem';
import type { ProviderApi } from '../model/provider-data';
import type { ReplayView, ReplayWanted } from '../model/replay';
import type { SandboxView } from '../model/sandbox';
import { shellWord } from '../model/shell-word';
import type { Store } from '../model/store';
import type { SubscriptionsApi } from '../model/subscription';
import type { SyncView, SyncWanted } from '../model/sync';
import { structuredEvent } from './structured-event';

/** What is shown of an alert. */
export interface ShownAlert
  extends Pick<
    Alert,
    'name' | 'severity' | 'state' | 'startsAtMs' | 'resolvedAtMs' | 'labels' | 'annotations'
  > {
  /** The sinks that have not taken it as it is; none where nobody here knows. */
  notTold: string[];
}

export interface ApiDoors {
  store: Pick<
    Store,
    | 'listOrganizations'
    | 'findOrganization'
    | 'listConnections'
    | 'accessHistory'
    | 'listTasks'
    | 'listQuarantine'
    | 'showQuarantine'
    | 'releaseQuarantine'
    | 'rejudge'
    | 'discardQuarantine'
    | 'listEvents'
    | 'explain'
    | 'ledger'
  >;
  /** A quarantined notification judged again from its kept bytes; null when they are not whole. */
  rejudge(raw: string): Element | null;
  /** Something was released: it may be due. */
  released(): void;
  /** What the probe found; null when nobody here makes it, or it took too long. False when the organization is unknown. */
  probeNow(organizationId: string): Promise<string | null | false>;
  /** Where its connection is looked after at the provider; null where nobody here knows. */
  manageUrl(organizationId: string): string | null;
  /** Ends its connection at the provider; false when that could not be done. */
  endConnection(organizationId: string): Promise<boolean>;
  /** null when the organization is unknown. */
  forget(organizationId: string): Promise<Forgotten | null>;
  check(): Promise<CheckLine[]>;
  /** All that is known, also while the store is away. */
  listAlerts(): Promise<ShownAlert[]>;
  /** Throws `command.refused` in a receiver that knows no sink. */
  testAlerts(): Promise<AlertTestLine[]>;
  config(): ConfigView;
  provider: ProviderApi;
  /** null in a receiver, which asks the provider nothing. Throws `command.refused` while another is under way. */
  sync: {
    begin(wanted: SyncWanted): SyncView | Promise<SyncView>;
    view(startedAt: string | null): SyncView;
  } | null;
  /** null in a receiver, which sends nothing. Throws `command.usage`, `command.refused`. */
  replay: {
    begin(wanted: ReplayWanted): Promise<ReplayView>;
    view(startedAt: string | null): ReplayView;
  } | null;
  sandbox(): Promise<SandboxView>;
  connections: ConnectionsApi;
  subscriptions: SubscriptionsApi;
}

/**
 * What the routes under `/api` ask. Rejects with coded problems (`not-found`, and those of its doors), and as the
 * store does; every list is bounded. Of an id that is not there 200 characters are repeated.
 */
export function makeApi(doors: ApiDoors): Api {
  const { store, rejudge, released, probeNow, check, config, testAlerts } = doors;
  const { provider, connections, subscriptions, sync, replay, sandbox } = doors;
  const organization = async (id: string): Promise<OrganizationView> => {
    const found = await store.findOrganization(id);
    if (found === null) return notFound('organization', id);
    const history = await store.accessHistory(id, historyMax);
    return { ...found, manageUrl: doors.manageUrl(id), history };
  };
  const release = async (id: string): Promise<'released' | 'refused' | 'not-found'> => {
    const entry = await store.showQuarantine(id);
    if (entry?.what !== 'notification') return store.releaseQuarantine(id);
    if (entry.state !== 'waiting') return 'not-found';
    const element = rejudge(entry.raw ?? '');
    return element === null ? 'refused' : store.rejudge(id, element);
  };
  return {
    organizations: (page) => store.listOrganizations(page),
    organization,
    forget: (id) => forget(doors, id),
    async probe(id) {
      const probed = await probeNow(id);
      if (probed === false || probed === 'no-connection') await expectConsent(connections);
      return probed === false ? notFound('organization', id) : { ...(await organization(id)), probed };
    },
    tasks: ({ limit, after, state }) => store.listTasks({ limit, after: after ?? 0, state }),
    quarantine: (page) => store.listQuarantine(page),
    quarantined: async (id) => (await store.showQuarantine(id)) ?? notFound('quarantine entry', id),
    release: async (id) => {
      const outcome = await release(id);
      if (outcome === 'not-found') return notFound('waiting quarantine entry', id);
      if (outcome === 'refused')
        throw new Problem(
          'command.refused',
          `${cut(id)} cannot be released, only discarded: tramline quarantine discard ${shellWord(cut(id))}`,
        );
      released();
      return { id, state: outcome };
    },
    discard: async (id) => {
      const outcome = await store.discardQuarantine(id);
      return outcome === 'not-found' ? notFound('waiting quarantine entry', id) : { id, state: outcome };
    },
    releaseEach: async (ids) => {
      const decided = await decideEach(ids, release);
      if (decided.some(({ state }) => state === 'released')) released();
      return decided;
    },
    discardEach: (ids) => decideEach(ids, store.discardQuarantine),
    events: makeEvents(store),
    alerts: async () => (await doors.listAlerts()).map(alertView),
    testAlerts,
    explain: async (of) =>
      (await store.explain(of)) ??
      notFound('delivery (d12), event id, resource address or key of a record', of),
    ledger: async () => ledgerView(await store.ledger()),
    check,
    config: async () => config(),
    connections,
    subscriptions,
    provider,
    startSync: async (wanted) => (sync ?? noSyncs()).begin(wanted),
    sync: async (startedAt) => (sync ?? noSyncs()).view(startedAt),
    startReplay: async (wanted) => (replay ?? noReplays()).begin(wanted),
    replay: async (startedAt) => (replay ?? noReplays()).view(startedAt),
    sandbox,
  };
}

/** Whoever names a position expects every event after it, unless he says that he does not. */
function makeEvents(store: ApiDoors['store']): Api['events'] {
  return async ({ kept, ...filter }) => {
    const after = filter.after ?? 0;
    const { events, floor, last } = await store.listEvents({ ...filter, after });
    // A store that was restored, or failed over, gives positions again that somebody has read.
    if (after > last) {
      const detail = `the log ends at position ${last}, so ${after} was read in another: use --after ${last}`;
      throw new Problem('command.expired', detail);
    }
    if (!kept && filter.after !== null && after < floor) {
      const detail = `events up to position ${floor} are no longer kept: use --after ${floor}`;
      throw new Problem('command.expired', detail);
    }
    return events.map(structuredEvent);
  };
}

/** The store carries out together what comes together. */
function decideEach(
  ids: string[],
  decide: (id: string) => Promise<DecidedEntry['state']>,
): Promise<DecidedEntry[]> {
  return Promise.all(ids.map(async (id) => ({ id, state: await decide(id) })));
}

/**
 * First at the provider; then connections that saw nobody else: when it is broken off between, it is done again.
 */
async function forget(
  { store, connections, endConnection, forget }: ApiDoors,
  id: string,
): Promise<ForgottenView> {
  if ((await store.findOrganization(id)) === null) return notFound('organization', id);
  const seeing = (await store.listConnections()).filter(({ organizations }) => organizations.includes(id));
  const ended = await endConnection(id);
  const alone = seeing.filter(({ organizations }) => organizations.length === 1);
  const revoked: ForgottenView['revoked'] = [];
  for (const { connectionId } of alone) {
    const { id: connection, state: _, ...left } = await connections.revoke(connectionId);
    revoked.push({ connection, ...left });
  }
  const forgotten = await forget(id);
  if (forgotten === null) return notFound('organization', id);
  const seenBy = seeing.filter((one) => !alone.includes(one)).map(({ connectionId }) => connectionId);
  return { id, state: 'forgotten', discarded: forgotten.discarded, ended, revoked, seenBy };
}

function noSyncs(): never {
  throw new Problem(
    'command.refused',
    'a receiver asks the provider nothing: TRAMLINE_URL must name a worker',
  );
}

function noReplays(): never {
  throw new Problem('command.refused', 'a receiver sends nothing: TRAMLINE_URL must name a worker');
}

function alertView(alert: ShownAlert): AlertView {
  const { name, severity, state, startsAtMs, resolvedAtMs, labels, annotations, notTold } = alert;
  const resolvedAt = resolvedAtMs === null ? null : new Date(resolvedAtMs).toISOString();
  return {
    name,
    severity,
    state,
    since: new Date(startsAtMs).toISOString(),
    resolvedAt,
    labels,
    annotations,
    ...(notTold.length === 0 ? {} : { notTold }),
  };
}

function ledgerView(ledger: Ledger): LedgerView {
  const { accepted, ...lines } = ledger;
  const accounted = Object.values(lines).reduce((sum, count) => sum + count, 0);
  return { ...ledger, lost: accepted - accounted };
}

/** Where nobody consented, that is why nothing is known. Throws `provider.action-required`; not where consents are unknown. */
async function expectConsent(connections: ConnectionsApi): Promise<void> {
  const some = await connections.list({ limit: 1, after: null }).catch((error: unknown) => {
    // A process without what consents take, such as a receiver without keys, knows nothing of them.
    if (isProblem(error, 'settings.invalid')) return undefined;
    throw error;
  });
  if (some?.length === 0) throw new Problem('provider.action-required', noConsent);
}

/** Of what was asked for, in the answer that it is not there. */
const shownCharsMax = 200;

function notFound(what: string, id: string): never {
  throw new Problem('command.not-found', `there is no ${what} ${JSON.stringify(cut(id))}`);
}

function cut(text: string): string {
  return text.slice(0, shownCharsMax);
}
