/**
 * The embedded store's schema, as a list of steps that are applied in order and recorded. A step that has landed is
 * never edited; a later one changes what it made. Times are milliseconds since the epoch.
 */

import { equipment, equipmentRows } from './equipment-schema';
import { replays } from './replay-schema';

export interface Migration {
  name: string;
  sql: string;
}

export const migrations: Migration[] = [
  {
    name: '0001-path',
    sql: `
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('revision', 0), ('position', 0);

-- One row a POST. 'elements' tells each notification for people; the counts feed the ledger.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  received_at INTEGER NOT NULL,
  message_id TEXT,
  body_hash TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  traceparent TEXT,
  notifications INTEGER NOT NULL,
  acted INTEGER NOT NULL,
  ignored INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  elements TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX deliveries_message_id ON deliveries (message_id) WHERE message_id IS NOT NULL;

-- One row a resource: the work to do and what was published last. kind and resource_id are null while provisional.
-- due_at is null unless the task waits, so that the index holds waiting tasks only.
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  kind TEXT,
  resource_id TEXT,
  address TEXT NOT NULL,
  organization_id TEXT,
  lane TEXT NOT NULL,
  hinted_organization_id TEXT,
  hinted_user TEXT,
  connection_id TEXT,
  state TEXT NOT NULL,
  joined_to INTEGER,
  generation INTEGER NOT NULL,
  due_at INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  read_at INTEGER,
  settling INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  aged_ms INTEGER NOT NULL DEFAULT 0,
  failed_at INTEGER,
  own INTEGER NOT NULL DEFAULT 0,
  absent_since INTEGER,
  code TEXT,
  detail TEXT,
  first_hint_at INTEGER,
  covered_hint_at INTEGER,
  traceparent TEXT,
  reconciled INTEGER NOT NULL DEFAULT 0,
  accepted_revision INTEGER NOT NULL DEFAULT 0,
  published INTEGER NOT NULL DEFAULT 0,
  deleted INTEGER NOT NULL DEFAULT 0,
  archived INTEGER NOT NULL DEFAULT 0,
  content_hash TEXT,
  wire_hash TEXT,
  normalizer_version INTEGER,
  modified_time TEXT
) STRICT;
CREATE UNIQUE INDEX tasks_resource ON tasks (kind, resource_id) WHERE kind IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (lane, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE aliases (address TEXT PRIMARY KEY, task_id INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- A hint is a notification that made a task due: one generation each.
CREATE TABLE hints (
  task_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  delivery_id INTEGER NOT NULL,
  element INTEGER NOT NULL,
  PRIMARY KEY (task_id, generation)
) STRICT, WITHOUT ROWID;

-- What each decided read said about the generations that it covers.
CREATE TABLE reads (
  task_id INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT,
  event_id TEXT,
  connection_id TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (task_id, fence)
) STRICT, WITHOUT ROWID;

CREATE TABLE sequences (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- state: 0 unsent, 1 in the embedded log only, 2 in Kafka, 3 quarantined.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL,
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  slot INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  headers TEXT NOT NULL,
  value TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  position INTEGER,
  partition INTEGER,
  log_offset TEXT,
  task_id INTEGER,
  cause TEXT NOT NULL,
  accepted_at INTEGER,
  decided_at INTEGER NOT NULL,
  sent_at INTEGER
) STRICT;
CREATE INDEX outbox_unsent ON outbox (id) WHERE state = 0;
CREATE UNIQUE INDEX outbox_position ON outbox (position) WHERE position IS NOT NULL;
CREATE INDEX outbox_event_id ON outbox (event_id);

CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT,
  causes TEXT NOT NULL DEFAULT '{}',
  access TEXT NOT NULL DEFAULT 'active',
  epoch INTEGER NOT NULL DEFAULT 1,
  since INTEGER,
  was_read INTEGER NOT NULL DEFAULT 0,
  probe_at INTEGER,
  probe_interval_ms INTEGER,
  probed_at INTEGER,
  refused_address TEXT,
  connection_id TEXT,
  action_due_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE organization_history (
  organization_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,
  access TEXT NOT NULL,
  previous TEXT NOT NULL,
  cause TEXT,
  said_by TEXT NOT NULL,
  action_url TEXT,
  message TEXT,
  PRIMARY KEY (organization_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE connections (
  id TEXT PRIMARY KEY,
  user TEXT NOT NULL,
  auth TEXT NOT NULL,
  sealed_token TEXT NOT NULL,
  sealed_token_secret TEXT,
  sealed_refresh TEXT,
  expires_at TEXT,
  status TEXT NOT NULL,
  import_hash TEXT NOT NULL,
  refused_message TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE sights (
  connection_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (connection_id, organization_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  what TEXT NOT NULL,
  reason TEXT NOT NULL,
  path TEXT NOT NULL,
  detail TEXT,
  organization_id TEXT,
  address TEXT,
  delivery_id INTEGER,
  element INTEGER,
  task_id INTEGER,
  outbox_id INTEGER,
  sample_hash TEXT,
  raw TEXT,
  at INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting'
) STRICT;
CREATE INDEX quarantine_waiting ON quarantine (reason, at) WHERE state = 'waiting';
CREATE INDEX quarantine_task ON quarantine (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX quarantine_sample ON quarantine (sample_hash) WHERE sample_hash IS NOT NULL;

CREATE TABLE alerts (fingerprint TEXT PRIMARY KEY, alert TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: '0002-hard-cases',
    sql: `
-- An operator said that this one of many may be gone.
ALTER TABLE tasks ADD COLUMN gone_allowed INTEGER NOT NULL DEFAULT 0;
-- Hints older than the journal, of a task that still waits: how many, the first and the last.
ALTER TABLE tasks ADD COLUMN folded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN folded_first_at INTEGER;
ALTER TABLE tasks ADD COLUMN folded_last_at INTEGER;
-- The first resource of it that was read: something that a probe can ask for.
ALTER TABLE organizations ADD COLUMN known_address TEXT;
CREATE INDEX quarantine_record ON quarantine (outbox_id) WHERE outbox_id IS NOT NULL;
CREATE INDEX quarantine_delivery ON quarantine (delivery_id) WHERE delivery_id IS NOT NULL;
-- The highest position that retention has taken from the log.
INSERT INTO meta (name, value) VALUES ('floor', 0);
`,
  },
  {
    name: '0003-sync',
    sql: `
CREATE TABLE sync_runs (
  id INTEGER PRIMARY KEY,
  organization_id TEXT,
  whole INTEGER NOT NULL,
  -- The store's, before anything was listed.
  revision INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  ended_at INTEGER,
  counts TEXT
) STRICT;

-- One row a listing: how far the run has come with it. begun, ended and whole are the last runs that began it, read it to
-- its end, and read all of it rather than its changes.
CREATE TABLE listings (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL,
  begun INTEGER NOT NULL,
  next_address TEXT,
  ended INTEGER NOT NULL DEFAULT 0,
  whole INTEGER NOT NULL DEFAULT 0,
  token TEXT,
  token_asked TEXT
) STRICT;

-- The listing that held the resource last, and in which run.
ALTER TABLE tasks ADD COLUMN listed_in INTEGER;
ALTER TABLE tasks ADD COLUMN listed_run INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_listed ON tasks (listed_in) WHERE listed_in IS NOT NULL;
CREATE INDEX tasks_unlisted ON tasks (organization_id) WHERE listed_in IS NULL AND published = 1 AND deleted = 0;

CREATE TABLE provider_calls (month TEXT PRIMARY KEY, calls INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: '0004-consents',
    sql: `
-- A consent on its way; 'key' is the hash of the one thing that opens its next step.
CREATE TABLE consents (
  id TEXT PRIMARY KEY,
  key TEXT,
  expires_at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX consents_key ON consents (key) WHERE key IS NOT NULL;
`,
  },
  {
    name: '0005-crowded',
    sql: `
-- True when more than one hint came since the resource was last at rest.
ALTER TABLE tasks ADD COLUMN crowded INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: '0006-subscriptions',
    sql: `
-- Tokens of subscriptions and values of the Authorization header that we made, sealed; 'beat' is the time between
-- heartbeats as learned.
CREATE TABLE webhook_secrets (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  sealed TEXT NOT NULL,
  user_name TEXT,
  connection_id TEXT,
  subscription_id TEXT,
  made_at INTEGER NOT NULL,
  heard_at INTEGER,
  beat INTEGER
) STRICT, WITHOUT ROWID;
`,
  },
  { name: '0007-replay', sql: replays },
  {
    name: '0008-asked',
    sql: `
-- The announced time by which the customer has acted: the same one, announced again, is over.
ALTER TABLE organizations ADD COLUMN action_met TEXT;
-- What asked for the probe that is due or under way, and for the one that led to a change.
ALTER TABLE organizations ADD COLUMN probe_asked_by TEXT;
ALTER TABLE organization_history ADD COLUMN asked_by TEXT;
`,
  },
  {
    name: '0009-beats',
    sql: `
-- How many gaps between heartbeats in a row spoke for 'beat'; what was learned before this was counted is learned anew.
ALTER TABLE webhook_secrets ADD COLUMN beat_agreed INTEGER NOT NULL DEFAULT 0;
`,
  },
  { name: '0010-equipment', sql: equipment },
  {
    name: '0011-swept',
    sql: `
-- Retention has taken the event of this read. marked: the floor when that was last noted. unmarked: the floor until which
-- it was not.
ALTER TABLE reads ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
INSERT INTO meta (name, value) VALUES ('marked', 0), ('unmarked', 0);
`,
  },
  { name: '0012-equipment-rows', sql: equipmentRows },
  {
    name: '0013-refused',
    sql: `
-- refused: the highest number whose record Kafka refused. below_refused: the highest below it that it did not refuse.
ALTER TABLE sequences ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sequences ADD COLUMN below_refused INTEGER NOT NULL DEFAULT 0;
UPDATE sequences SET refused = r.number, below_refused = r.number - 1
  FROM (SELECT key, max(sequence) AS number FROM outbox WHERE state = 3 AND position IS NULL GROUP BY key) r
  WHERE sequences.key = r.key;
CREATE INDEX outbox_unsent_key ON outbox (key) WHERE state = 0;
CREATE INDEX outbox_aside ON outbox (id) WHERE state > 2;
`,
  },
  {
    name: '0014-announced',
    sql: `
-- All announced times by which the customer is to act, as JSON. action_due_at and action_met are what versions before it
-- know of them: the nearest that is due, and the nearest that is met.
ALTER TABLE organizations ADD COLUMN announced TEXT;
`,
  },
  {
    name: '0015-journeys',
    sql: `
-- What a resource's journey begins from: its events, whatever decided them, and the tasks of its other addresses.
CREATE INDEX outbox_task ON outbox (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX tasks_joined ON tasks (joined_to) WHERE joined_to IS NOT NULL;
`,
  },
  // What is left of an event that retention has taken, as long as its read is kept.
  { name: '0016-expired', sql: 'CREATE INDEX reads_swept ON reads (event_id) WHERE swept = 1' },
  {
    name: '0017-half-open',
    sql: `
-- Lanes that are half-open after a block: at most so many of each in flight.
CREATE TABLE lanes (id TEXT PRIMARY KEY, width INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: '0018-pending',
    sql: `
-- What a replay has still to send, however much else is unsent.
CREATE INDEX replayed_pending ON replayed (replay) WHERE sent_at IS NULL AND topic IS NOT NULL;
`,
  },
  {
    name: '0019-final',
    sql: `
-- Of the line of what the read covers: 0 a settling read may tell it anew, or it is not known, 1 it is final, 2 it was before.
ALTER TABLE reads ADD COLUMN finality INTEGER NOT NULL DEFAULT 0;
`,
  },
  {
    name: '0020-last-event',
    sql: `
-- The last event that is known to stand before the end, and where; NULL when none is. A version before this leaves them as
-- they are, and they stay true.
ALTER TABLE topic_ends ADD COLUMN last_offset TEXT;
ALTER TABLE topic_ends ADD COLUMN last_event TEXT;
`,
  },
  {
    name: '0021-unclaimed',
    sql: `
-- Where the topics show a resource that another life of the store published, and of which this one holds nothing.
CREATE TABLE unclaimed (
  kind TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  PRIMARY KEY (kind, resource_id, organization_id)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    name: '0022-switched-from',
    sql: `
-- The connection that the resource was kept with until this read, where that is another. NULL as well in rows of versions
-- before this, whose journeys tell of no switch.
ALTER TABLE reads ADD COLUMN switched_from TEXT;
`,
  },
  {
    name: '0023-gone-lately',
    sql: `
-- When resources of it went lately, as JSON, and how many it had before so many did; NULL while few do.
ALTER TABLE organizations ADD COLUMN gone_at TEXT NOT NULL DEFAULT '[]';
ALTER TABLE organizations ADD COLUMN present_before INTEGER;
`,
  },
  {
    name: '0024-shown-by',
    sql: `
-- The connection whose listing has shown the resource since it was last read; NULL when none has. Also in rows of versions
-- before this, until the next listing, and left as it is where one of them reads.
ALTER TABLE tasks ADD COLUMN shown_by TEXT;
`,
  },
  {
    name: '0025-unsent-by-topic',
    sql: `
-- What the relay picks while a topic is left alone, however many rows wait there.
CREATE INDEX outbox_unsent_by_topic ON outbox (topic, id) WHERE state = 0;
`,
  },
  {
    name: '0026-logged',
    sql: `
-- What only the embedded log has: whoever begins to lead to Kafka looks for it, and not at all that Kafka has.
CREATE INDEX outbox_logged ON outbox (id) WHERE state = 1;
`,
  },
  {
    name: '0027-waiting-counted',
    sql: `
-- What is counted of all that waits stands in the index beside its order, so that nobody reads the tasks themselves for it.
DROP INDEX tasks_waiting;
CREATE INDEX tasks_waiting ON tasks (lane, due_at, first_hint_at, covered_hint_at, state) WHERE due_at IS NOT NULL;
`,
  },
  {
    name: '0028-large-stores',
    sql: `
-- By which an organization's connections, listings and resources are found, however many there are of others.
CREATE INDEX sights_organization ON sights (organization_id);
CREATE INDEX listings_organization ON listings (organization_id);
CREATE INDEX tasks_present ON tasks (organization_id, kind) WHERE published = 1 AND deleted = 0;
-- What goes out of what is set aside once it is old, and what is hastened when an outage or a refusal of the client ends.
CREATE INDEX quarantine_told ON quarantine (at) WHERE state <> 'waiting' AND what <> 'notification';
CREATE INDEX tasks_postponed ON tasks (due_at) WHERE state = 'postponed' AND NOT own;
CREATE INDEX tasks_refused ON tasks (due_at) WHERE state = 'postponed' AND code = 'client-refused';
`,
  },
  {
    name: '0029-access-keys',
    sql: `
-- What the journey of an organization's access begins from: its events, which are of no task.
CREATE INDEX outbox_access ON outbox (key) WHERE task_id IS NULL;
`,
  },
  {
    name: '0030-listed-unsought',
    sql: `
-- What a list misses is sought among what its organization has: each page of a listing wrote to these, and nobody asks them.
DROP INDEX tasks_listed;
DROP INDEX tasks_unlisted;
`,
  },
  {
    name: '0031-joined-before',
    sql: `
-- What a task was joined to before it came to be a resource's own, or was joined to another; where the hints of its address
-- that came meanwhile are. NULL as well where a version before this has left it.
ALTER TABLE tasks ADD COLUMN joined_before INTEGER;
`,
  },
];
