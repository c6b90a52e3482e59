// Notification → Kafka with PostgreSQL as the store, which flushes what it commits and has the same processors; the two
// shapes of `drain` and its floor, the bare loop.
import { startPostgres } from '../../test/support/postgres';
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import type { Place } from '../place';
import { drainOnce, type Shape, shapes, type Turn } from './drain';

const rounds = 5;

export const drainPostgres: Figure = { name: 'drain-postgres', measure };

async function measure(place: Place): Promise<Line[]> {
  const server = await startPostgres();
  try {
    for (const prefix of ['bare', 'serve']) await place.createTopics(`postgres-${prefix}`);
    const bare = await place.bareLoop('postgres-bare');
    const database = server.url(await server.createDatabase());
    const serve = await place.serve({ DATABASE_URL: database }, 'postgres-serve');
    const lines: Line[] = [];
    for (const [at, shape] of shapes.entries()) {
      const from = (turn: number) => (at * (rounds + 1) + turn) * shape.notifications;
      const turns = await inTurns(
        {
          bare: (turn) => drainOnce(place, bare, shape, from(turn)),
          serve: (turn) => drainOnce(place, serve, shape, from(turn)),
        },
        rounds,
      );
      lines.push(lineOf(shape, turns));
    }
    for (const one of [bare, serve]) await one.kill();
    return lines;
  } finally {
    await server.stop();
  }
}

function lineOf({ name }: Shape, turns: Record<'bare' | 'serve', Turn[]>): Line {
  const rates = (of: Turn[]) => of.map(({ perSecond }) => perSecond);
  const micros = (of: Turn[]) => medianMicros(of.map((turn) => turn.micros));
  return line({
    figure: `notification → Kafka on PostgreSQL, ${name}`,
    unit: 'records/s',
    turns,
    measured: median(rates(turns.serve)),
    floor: median(rates(turns.bare)),
    judged: medianRatio(rates(turns.serve), rates(turns.bare)),
    bound: { kind: 'at least', value: 0.5, of: '× the floor' },
    processor: { measured: micros(turns.serve), floor: micros(turns.bare) },
  });
}
