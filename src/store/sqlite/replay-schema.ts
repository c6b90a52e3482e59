/**
 * The tables of replays, as one step of the schema: what was asked for, what was sent again, and where each partition
 * went on after what was acknowledged last. In `replayed`, a time without a partition says that it did not go: replay-rows.ts.
 */
export const replays = `
-- 'asked' is what was asked for, as text; rows in (after_id, until_id] of the outbox are still to be looked at.
CREATE TABLE replays (
  id INTEGER PRIMARY KEY,
  asked TEXT NOT NULL,
  after_id INTEGER NOT NULL,
  until_id INTEGER NOT NULL,
  counts TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

-- One row a record that was sent again, or a resource that was made due: then topic is null. sent_at is null on the way.
CREATE TABLE replayed (
  id INTEGER PRIMARY KEY,
  replay INTEGER NOT NULL,
  outbox_id INTEGER NOT NULL,
  task_id INTEGER,
  at INTEGER NOT NULL,
  topic TEXT,
  partition INTEGER,
  log_offset TEXT,
  sent_at INTEGER
) STRICT;
CREATE INDEX replayed_outbox ON replayed (outbox_id);
CREATE INDEX replayed_task ON replayed (task_id) WHERE task_id IS NOT NULL;

-- Where each partition went on after what was acknowledged last.
CREATE TABLE topic_ends (
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  next_offset TEXT NOT NULL,
  PRIMARY KEY (topic, partition)
) STRICT, WITHOUT ROWID;
INSERT INTO topic_ends SELECT topic, partition, CAST(max(CAST(log_offset AS INTEGER)) + 1 AS TEXT)
  FROM outbox WHERE log_offset IS NOT NULL AND partition IS NOT NULL GROUP BY topic, partition;
`;
