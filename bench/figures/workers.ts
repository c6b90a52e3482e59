// Two workers against one where the provider's latency is the limit: it answers in 50 ms and each worker has 16 reads in
// flight. Each contestant has a receiver and a database of its own on one PostgreSQL; the floor is the one with one
// worker.
import { type PostgresServer, startPostgres } from '../../test/support/postgres';
import { type Figure, type Line, line } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import type { Place, Receiver } from '../place';
import { drainOnce, type Shape } from './drain';

const rounds = 5;
const latencyMs = 50;
const readsInFlight = 16;
const shape: Shape = { name: 'to workers', connections: 4, elements: 50, notifications: 6000 };

export const workers: Figure = { name: 'workers', world: { latencyMs }, measure };

async function measure(place: Place): Promise<Line[]> {
  const server = await startPostgres();
  try {
    const one = await team(place, server, 'one', 1);
    const two = await team(place, server, 'two', 2);
    const rate = async (of: Team, turn: number) =>
      (await drainOnce(place, of.target, shape, turn * shape.notifications)).perSecond;
    const turns = await inTurns({ one: (turn) => rate(one, turn), two: (turn) => rate(two, turn) }, rounds);
    for (const member of [...one.members, ...two.members]) await member.kill();
    return [
      line({
        figure: `two workers of ${readsInFlight} reads at ${latencyMs} ms`,
        measured: median(turns.two),
        floor: median(turns.one),
        unit: 'records/s',
        judged: medianRatio(turns.two, turns.one),
        bound: { kind: 'at least', value: 1.6, of: '× one' },
        turns,
      }),
    ];
  } finally {
    await server.stop();
  }
}

interface Team {
  /** Where it takes deliveries, and the topic where its records arrive. */
  target: Receiver;
  members: Receiver[];
}

async function team(place: Place, server: PostgresServer, name: string, count: number): Promise<Team> {
  const prefix = `workers-${name}`;
  await place.createTopics(prefix);
  const common = {
    DATABASE_URL: server.url(await server.createDatabase()),
    PROVIDER_CONCURRENCY: String(readsInFlight),
  };
  const receiver = await place.serve({ ...common, ROLE: 'receiver' });
  const members = [receiver];
  for (let made = 0; made < count; made += 1) {
    members.push(await place.serve({ ...common, ROLE: 'worker' }, prefix));
  }
  return { target: { ...receiver, topic: (members[1] as Receiver).topic }, members };
}
