/**
 * Is the store ready for deliveries, or for all of its work? A write that is taken back would prove nothing: this one commits. Nor does it prove that there is room,
 * since it finds its own in place for ever: whoever is refused for want of room notes that, in place as well, for all processes.
 */
import { Problem } from '../../model/problem';
import type { Context } from './context';
import { hintFunctionNames } from './hint-functions';
import { allTables, deliveryTables } from './tables';

/** A delivery that found no room says so much about now; where none comes any more, one has to be let in to find out. */
const noRoomMs = 30_000;
/** A process notes it no more often. */
export const notedEveryMs = 5000;

interface Need {
  table: string;
  right: string;
}

/**
 * What a delivery does there that names a new organization and a new resource. Whoever locks a row needs the right to change it.
 * What few need (to ask for a probe, to set an element aside) is not asked: those are answered 503 without it, and all the others are taken.
 */
const forDeliveries: Need[] = [
  ...deliveryTables.map((table) => ({ table, right: 'INSERT' })),
  ...deliveryTables.filter((table) => table !== 'hints').map((table) => ({ table, right: 'SELECT' })),
  ...['tasks', 'lanes'].map((table) => ({ table, right: 'UPDATE' })),
];

/** What endings, the relay, the alerts and retention do to each table, beside reading it. */
export const writes: Record<string, string> = {
  deliveries: 'INSERT UPDATE DELETE',
  organizations: 'INSERT UPDATE',
  tasks: 'INSERT UPDATE',
  aliases: 'INSERT',
  hints: 'INSERT DELETE',
  lanes: 'INSERT UPDATE',
  meta: 'INSERT UPDATE DELETE',
  reads: 'INSERT UPDATE DELETE',
  sequences: 'INSERT UPDATE',
  outbox: 'INSERT UPDATE DELETE',
  leases: 'INSERT UPDATE',
  quarantine: 'INSERT UPDATE DELETE',
  equipment: 'INSERT UPDATE',
  unclaimed: 'INSERT UPDATE DELETE',
  topic_ends: 'INSERT UPDATE',
  organization_history: 'INSERT DELETE',
  connections: 'INSERT UPDATE',
  sights: 'INSERT UPDATE DELETE',
  consents: 'INSERT UPDATE DELETE',
  webhook_secrets: 'INSERT UPDATE DELETE',
  alerts: 'INSERT UPDATE DELETE',
  conditions: 'INSERT UPDATE DELETE',
  sync_runs: 'INSERT UPDATE DELETE',
  listings: 'INSERT UPDATE',
  provider_calls: 'INSERT UPDATE',
  replays: 'INSERT UPDATE DELETE',
  replayed: 'INSERT UPDATE DELETE',
};
const forWork: Need[] = [
  ...allTables.flatMap((table) =>
    ['SELECT', ...writes[table]!.split(' ')].map((right) => ({ table, right })),
  ),
  { table: 'revision', right: 'SELECT' },
];

/** From these it takes numbers by hand, deliveries from the first alone: whoever grants on tables forgets them. */
const sequences = ['tasks_id_seq', 'revision'];

const asks = {
  deliveries: { tables: deliveryTables, needed: forDeliveries, numbering: sequences.slice(0, 1) },
  all: { tables: allTables, needed: forWork, numbering: sequences },
};

/**
 * Throws `store.unavailable` when nothing can be written, a table of deliveries, or with `all` any table, cannot be written to,
 * or a delivery to any process found no room in the last 30 s.
 */
export async function ready(
  { database, nowMs }: Context,
  of: keyof typeof asks = 'deliveries',
): Promise<void> {
  const { tables, needed, numbering } = asks[of];
  await database.run(`LOCK TABLE ${tables.join()} IN ROW EXCLUSIVE MODE`);
  const row = await database.get(
    `INSERT INTO meta AS m (name, value) VALUES ('heartbeat', 1)
     ON CONFLICT (name) DO UPDATE SET value = m.value + 1
     RETURNING (SELECT value FROM meta WHERE name = 'no-room-at') AS no_room_at,
       ARRAY(SELECT n.need || ' on ' || n.at FROM unnest($1::text[], $2::text[]) AS n (at, need)
         WHERE NOT has_table_privilege(n.at, n.need)
         UNION ALL SELECT 'USAGE on ' || s FROM unnest($3::text[]) AS s WHERE NOT has_sequence_privilege(s, 'USAGE, UPDATE')
         UNION ALL SELECT 'EXECUTE on ' || f FROM unnest($4::text[]) AS f
         WHERE has_function_privilege(to_regproc(f), 'EXECUTE') IS NOT TRUE
         UNION ALL SELECT 'way past the row security of ' || t FROM unnest($5::text[]) AS t WHERE row_security_active(t)) AS forbidden`,
    needed.map(({ table }) => table),
    needed.map(({ right }) => right),
    numbering,
    hintFunctionNames,
    tables,
  );
  const forbidden = row!.forbidden as string[];
  if (forbidden.length > 0)
    throw new Problem('store.unavailable', `the database grants no ${forbidden.join(', no ')}`);
  const at = row!.no_room_at as number | null;
  // A time ahead is one from before the clock was set back.
  if (at !== null && Number(at) <= nowMs() && nowMs() - Number(at) < noRoomMs)
    throw new Problem('store.unavailable', 'the disk of the database is full: a delivery found no room');
}

export async function noteNoRoom({ database, nowMs }: Context): Promise<void> {
  await database.run(
    `INSERT INTO meta (name, value) VALUES ('no-room-at', $1)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    nowMs(),
  );
}

/** A delivery was taken by whoever had noted that. */
export async function noteRoom({ database }: Context): Promise<void> {
  await database.run(`DELETE FROM meta WHERE name = 'no-room-at'`);
}

/** Was it refused for want of room (`disk_full`)? */
export function saysNoRoom(error: unknown): boolean {
  return error instanceof Problem && (error.cause as { code?: unknown } | undefined)?.code === '53100';
}
