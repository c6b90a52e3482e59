// What a claim of 100 tasks costs the scaled store while 1,000, 100,000 and 1,000,000 tasks of 100 organizations wait: the
// time that PostgreSQL spends in its statements, as pg_stat_statements counts it (its commit is the disk's affair). What
// was taken is given back after each turn.

import type { Store } from '../../src/model/store';
import { openPostgres } from '../../src/store/postgres/open-postgres';
import { heldBy } from '../../test/contract/store-hand';
import { type PostgresServer, startPostgres } from '../../test/support/postgres';
import { type Figure, type Line, line } from '../figure';
import { inTurns, median } from '../measure';

const rounds = 30;
const batch = 100;
const organizations = 100;

export const claim: Figure = { name: 'claim', measure };

async function measure(): Promise<Line[]> {
  const server = await startPostgres({
    settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_utility': 'off' },
  });
  const opened: Opened[] = [];
  try {
    for (const tasks of [1000, 100_000, 1_000_000]) opened.push(await fill(server, tasks));
    const [few, many, most] = opened as [Opened, Opened, Opened];
    const turns = await inTurns(
      {
        few: () => claimOnce(server, few),
        many: () => claimOnce(server, many),
        most: () => claimOnce(server, most),
      },
      rounds,
    );
    const medians = [turns.few, turns.many, turns.most].map(median);
    const cost = line({
      figure: `statements of a claim of ${batch}, 1,000,000 tasks waiting`,
      measured: median(turns.most),
      floor: null,
      unit: 'ms',
      judged: median(turns.most),
      bound: { kind: 'at most', value: 5, of: 'ms' },
      turns,
    });
    const growth = line({
      figure: 'the same at 1,000, 100,000 and 1,000,000: dearest to cheapest',
      measured: Math.max(...medians),
      floor: Math.min(...medians),
      unit: 'ms',
      judged: Math.max(...medians) / Math.min(...medians),
      bound: { kind: 'at most', value: 2, of: '×' },
      turns: { medians },
    });
    return [cost, growth];
  } finally {
    for (const { store } of opened) await store.close();
    await server.stop();
  }
}

interface Opened {
  store: Store;
  database: string;
}

async function fill(server: PostgresServer, tasks: number): Promise<Opened> {
  const database = await server.createDatabase();
  const store = await openPostgres({
    url: server.url(database),
    connections: 2,
    envelope: { source: 'bench', topicPrefix: 'bench', recordBytesMax: 1_000_000 },
    catalogAddress: '',
    catalogMediaType: '',
    leaseMs: 60_000,
    readGapMs: 1000,
    probeMs: 15_000,
    probeMsMax: 900_000,
    probesPerMinute: 3000,
    journalMs: 86_400_000,
    eventMs: 86_400_000,
    eventBytesMax: 1e9,
    normalizerVersion: 1,
  });
  await server.query(
    `CREATE EXTENSION pg_stat_statements;
     INSERT INTO organizations (id) SELECT 'o' || n FROM generate_series(1, ${organizations}) n;
     INSERT INTO lanes (id, next_due_at) SELECT 'o' || n, 1 FROM generate_series(1, ${organizations}) n;
     INSERT INTO tasks (address, lane, state, generation, due_at)
     SELECT 'https://provider.example/equipment/' || n, 'o' || (n % ${organizations} + 1), 'due', 1, n
     FROM generate_series(1, ${tasks}) n`,
    database,
  );
  await server.query('VACUUM ANALYZE', database);
  // What filling left to be written must not be written while it is measured.
  await server.query('CHECKPOINT', database);
  return { store, database };
}

/** Milliseconds that the statements took. */
async function claimOnce(server: PostgresServer, { store, database }: Opened): Promise<number> {
  await server.query('SELECT pg_stat_statements_reset()', database);
  const taken = await store.take(batch);
  if (taken.length !== batch) throw new Error(`${taken.length} of ${batch} tasks were taken`);
  const [spent] = await server.query(
    `SELECT sum(s.total_exec_time) AS ms FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
     WHERE d.datname = current_database() AND s.query NOT LIKE '%pg_stat_statements%'`,
    database,
  );
  await store.releaseLeases(taken.map(heldBy));
  return Number(spent!.ms);
}
