/**
 * The table of everything that may page: per cause or condition the alert's name, severity, owner, fixed summary and
 * first step. Each name has a runbook of the same name. A new cause is a new row here; no mechanism changes.
 */
import type { ConditionName, Owner, Severity } from '../model/alert';
import type { Cause } from '../model/organization';

export interface CatalogueRow {
  name: string;
  severity: Severity;
  owner: Owner;
  /** A fixed sentence. */
  summary: string;
  /** What to do first; `{id}` stands for the organization, connection or subscription. */
  firstStep: string;
  /** It asks nobody to act, so what it tells stays true after its end. */
  asksNobody?: true;
}

export interface OrganizationRow extends CatalogueRow {
  /** Completes "… is blocked since T: ", and "… are blocked since T: " of several. */
  because: { one: string; several: string };
  /** Completes "What ends it: ". */
  remedy: string;
}

export interface ConditionRow extends CatalogueRow {
  /**
   * In which time after a start a process surely knows again whether it holds: until then an open alert is not over merely
   * since nobody tells of it. 0: the process knows at once, as from the store.
   */
  relearnedWithinMs: number;
}

export const organizationRows: Record<Cause, OrganizationRow> = {
  terms: {
    name: 'TramlineTermsRequired',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'An organization must accept terms before its data can be read.',
    because: {
      one: 'the provider asks it to accept terms first',
      several: 'the provider asks them to accept terms first',
    },
    remedy: 'someone of the organization who may accept terms does so at the address of this alert',
    firstStep:
      'Send the organization the address where terms are accepted; then `tramline organizations probe {id}`.',
  },
  'required-action': {
    name: 'TramlineRequiredAction',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'An organization must act at the provider before its data can be read.',
    because: {
      one: 'the provider asks it for an action first',
      several: 'the provider asks them for an action first',
    },
    remedy: 'the organization does what the provider asks for',
    firstStep:
      "Tell the organization the provider's message and address; then `tramline organizations probe {id}`.",
  },
  'not-connected': {
    name: 'TramlineOrganizationNotConnected',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'An organization has not connected itself to this client.',
    because: {
      one: 'it is not connected to this client at the provider',
      several: 'they are not connected to this client at the provider',
    },
    remedy: 'someone of the organization connects it at the address of this alert',
    firstStep:
      'Send the organization the address where it is connected; then `tramline organizations probe {id}`.',
  },
  'refused-grant': {
    name: 'TramlineReauthorize',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'A consent was refused by the provider: it expired or was revoked.',
    because: {
      one: 'the provider refuses the consent it was read with',
      several: 'the provider refuses the consent that each was read with',
    },
    remedy: 'the user of the connection gives consent anew',
    firstStep:
      'Find {id} in `tramline connections list`; then send its user the link of `tramline connect --user NAME`.',
  },
};

/** Of the same alert where the connection was revoked here: nobody refused anything, and its row is erased. */
export const revokedRow: OrganizationRow = {
  ...organizationRows['refused-grant'],
  summary: 'A connection was revoked here, and work waits for what only it could read.',
  because: {
    one: 'the connection it was read with was revoked here by an operator',
    several: 'the connection that each was read with was revoked here by an operator',
  },
  remedy: 'somebody who sees it at the provider connects again, or it is forgotten here',
  firstStep: 'Send somebody of the organization the link of `tramline connect`, or forget the organization.',
};

/** An action that is announced for a time: nothing is blocked yet. */
export const announcedRow: CatalogueRow = {
  name: 'TramlineRequiredActionDue',
  severity: 'warning',
  owner: 'customer-success',
  summary: 'An organization must act at the provider before a date, or its data cannot be read from then on.',
  firstStep:
    'Tell the organization until when it must act at the provider: `tramline organizations get {id}` shows the times and its page.',
};

/** The first step of the same alert once the time has passed: from then on the provider's answer says who acted. */
export const announcedPastStep =
  'Run `tramline organizations probe {id}`: where it may still be read, this alert ends.';

/** One incident for many organizations of one cause. */
export const manyOrganizationsRow: CatalogueRow = {
  name: 'TramlineManyOrganizationsBlocked',
  severity: 'critical',
  owner: 'on-call',
  summary: 'Many organizations were blocked for one cause within minutes.',
  firstStep: 'List them with `tramline organizations list`; ask the provider whether something changed.',
};

const minuteMs = 60_000;
const dayMs = 86_400_000;

export const conditionRows: Record<ConditionName, ConditionRow> = {
  'client-refused': {
    name: 'TramlineClientRefused',
    severity: 'critical',
    owner: 'platform',
    summary: 'The provider refuses the client key: a scope, a licence or its right secret is missing.',
    firstStep:
      "Compare PROVIDER_CLIENT_SECRET, PROVIDER_SCOPES and the client's licence with the provider's developer console.",
    // As long as a refused read is remembered without another.
    relearnedWithinMs: 15 * minuteMs,
  },
  'clock-off': {
    name: 'TramlineClockOff',
    severity: 'critical',
    owner: 'platform',
    summary: "A host's clock differs from the provider's or the senders'.",
    firstStep: 'Compare `date -u` on the host with a time server and repair its time synchronization.',
    // As long as it is remembered without another answer.
    relearnedWithinMs: 15 * minuteMs,
  },
  'decryption-failed': {
    name: 'TramlineDecryptionFailed',
    severity: 'critical',
    owner: 'platform',
    summary: 'Stored tokens cannot be opened with the configured encryption keys.',
    firstStep: 'Put the former key back into ENCRYPTION_KEYS, behind the current one, and restart.',
    // Each process reads what is sealed when it is started, and again within seconds.
    relearnedWithinMs: minuteMs,
  },
  'delivery-secret-unopened': {
    name: 'TramlineDeliverySecretUnopened',
    severity: 'critical',
    owner: 'platform',
    summary: 'What deliveries are known by cannot be opened with the configured encryption keys.',
    firstStep:
      'Give each process the same ENCRYPTION_KEYS, a former key behind the current one, and restart it.',
    // Each process reads what is sealed when it is started, and again within seconds.
    relearnedWithinMs: minuteMs,
  },
  'kafka-unavailable': {
    name: 'TramlineKafkaUnavailable',
    severity: 'critical',
    owner: 'on-call',
    summary: 'Events cannot be published: Kafka does not answer, refuses writes, or is named to no worker.',
    firstStep: 'Run `tramline check`: it names the brokers, and the settings to look at.',
    // A record may have to come first.
    relearnedWithinMs: 15 * minuteMs,
  },
  'listings-unread': {
    name: 'TramlineListingsUnread',
    severity: 'warning',
    owner: 'platform',
    summary: 'Lists of the provider were not read to their end by several syncs in a row.',
    firstStep: 'Run `tramline sync`: it names each list that it could not read to its end, where, and why.',
    // It is read from the store in a moment.
    relearnedWithinMs: minuteMs,
  },
  'organizations-unlisted': {
    name: 'TramlineOrganizationsUnlisted',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'The list of organizations of a connection is refused, or misses some that nobody else sees.',
    firstStep:
      'Find {id} in `tramline connections list` and ask its user; another user of the organization may consent.',
    // Listings are hours apart at the most; a whole one says it before.
    relearnedWithinMs: dayMs,
  },
  'organization-unread': {
    name: 'TramlineOrganizationUnread',
    severity: 'warning',
    owner: 'platform',
    summary: 'Nothing of an organization was answered for more than an hour.',
    firstStep:
      'Run `tramline explain ADDRESS` with the address that is named: it shows what the provider answered.',
    // A sync within the hour fails first, and then it has to last.
    relearnedWithinMs: 150 * minuteMs,
  },
  'provider-unavailable': {
    name: 'TramlineProviderUnavailable',
    severity: 'critical',
    owner: 'on-call',
    summary: 'The provider does not answer reads.',
    firstStep: "Run `tramline check` and look at the provider's status page.",
    // Five minutes until the next try at the most, and as long until a failure counts.
    relearnedWithinMs: 10 * minuteMs,
  },
  'rate-limited': {
    name: 'TramlineRateLimited',
    severity: 'warning',
    owner: 'platform',
    summary: 'The provider limits the rate of the client key.',
    firstStep: 'Lower PROVIDER_CONCURRENCY, or ask the provider for a higher limit.',
    // The pause is in the store.
    relearnedWithinMs: 0,
  },
  'sandbox-limit': {
    name: 'TramlineSandboxLimit',
    severity: 'critical',
    owner: 'platform',
    summary: "A limit of the provider's sandbox is reached, or as good as.",
    firstStep: 'Request the move to production from the provider; `tramline config` says what is left.',
    // What was used is in the store.
    relearnedWithinMs: 0,
  },
  'sandbox-near': {
    name: 'TramlineSandboxNear',
    severity: 'warning',
    owner: 'platform',
    summary: "Most of a limit of the provider's sandbox is used.",
    firstStep: 'See what is left with `tramline config`, and prepare the request for production.',
    // What was used is in the store.
    relearnedWithinMs: 0,
  },
  'store-behind-topics': {
    name: 'TramlineStoreBehindTopics',
    severity: 'warning',
    owner: 'platform',
    summary: 'The topics held events that the store does not know of: it was restored, or is new.',
    firstStep: 'Let the full sync end: `tramline sync --full` shows how far it is.',
    // It is read from the store in a moment.
    relearnedWithinMs: minuteMs,
  },
  'store-log-stuck': {
    name: 'TramlineStoreLogStuck',
    severity: 'critical',
    owner: 'on-call',
    summary: 'The store cannot write its file: its log grows, and fills the disk if that lasts.',
    firstStep:
      'Look at free disk space and at the errors of the disk under the file that DATABASE_URL names.',
    // The store's thread tries once a second or two, and is believed after half a minute.
    relearnedWithinMs: minuteMs,
  },
  'store-unavailable': {
    name: 'TramlineStoreUnavailable',
    severity: 'critical',
    owner: 'on-call',
    summary: 'The store cannot be written, or does not answer: what cannot be kept is answered 503.',
    firstStep: 'Run `tramline check`; look at what it names: credentials, free disk space, the database.',
    // Each process sees it at once.
    relearnedWithinMs: 0,
  },
  'subscription-ended': {
    name: 'TramlineSubscriptionEnded',
    severity: 'critical',
    owner: 'platform',
    summary: 'A webhook subscription was ended at the provider: what changes is not announced any more.',
    firstStep:
      'Find out who ended it; `tramline subscriptions create` makes another, `subscriptions end {id}` ends this alert.',
    // A whole look says it before; the provider may be away meanwhile.
    relearnedWithinMs: 60 * minuteMs,
  },
  'subscription-expired': {
    name: 'TramlineSubscriptionExpired',
    severity: 'critical',
    owner: 'platform',
    summary: 'A webhook subscription has expired and could not be renewed.',
    firstStep: 'Run `tramline subscriptions renew {id}`, and mend what the provider says.',
    // A whole look says it before; the provider may be away meanwhile.
    relearnedWithinMs: 60 * minuteMs,
  },
  'subscription-silent': {
    name: 'TramlineSubscriptionSilent',
    severity: 'warning',
    owner: 'on-call',
    summary: 'A webhook subscription sends no heartbeats any more.',
    firstStep:
      'Run `tramline subscriptions list` and `tramline delivery get`; then see whether the provider reaches PUBLIC_URL.',
    // No subscription may be silent for longer; its next heartbeat says it before.
    relearnedWithinMs: dayMs,
  },
  'token-expiring': {
    name: 'TramlineTokenExpiring',
    severity: 'warning',
    owner: 'customer-success',
    summary: 'A consent runs out soon and cannot be renewed.',
    firstStep:
      'Find {id} in `tramline connections list`; `tramline connect --user NAME` makes the link for its user.',
    // Connections are in the store.
    relearnedWithinMs: 0,
  },
  'topic-denied': {
    name: 'TramlineTopicDenied',
    severity: 'critical',
    owner: 'platform',
    summary: 'A topic does not exist, or may not be written or read.',
    firstStep:
      'Create the topics with `tramline migrate`, grant the client Read and Write on them, or correct the setting of the topic that it is refused for.',
    // A record of the topic may have to come first; one that is acknowledged says before that it is over.
    relearnedWithinMs: 15 * minuteMs,
  },
};

export const quarantineRow: CatalogueRow = {
  name: 'TramlineQuarantineNotEmpty',
  severity: 'warning',
  owner: 'platform',
  summary: 'Something was set aside and waits for an operator.',
  firstStep: 'Look at it: `tramline quarantine list`, then `tramline quarantine show ID`.',
};

/** The page of `tramline alerts test`. */
export const testRow: CatalogueRow = {
  name: 'TramlineTest',
  severity: 'critical',
  owner: 'on-call',
  summary: 'A test of the way to whoever is on call.',
  firstStep: 'None: it ends by itself.',
  asksNobody: true,
};

/** Of the alerts for states of the platform, which a process knows without the store. */
export const platformNames: ReadonlySet<string> = new Set(
  Object.values(conditionRows).map(({ name }) => name),
);

/** The runbook of a row, as a file of `deploy/runbooks`. */
export function runbookFileOf(row: CatalogueRow): string {
  return `${row.name}.md`;
}

/** Every row, once for each alert name. */
export const catalogue: CatalogueRow[] = [
  ...Object.values(organizationRows),
  announcedRow,
  manyOrganizationsRow,
  ...Object.values(conditionRows),
  quarantineRow,
  testRow,
];
