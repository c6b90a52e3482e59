// Deliveries accepted per second by a receiver whose store is PostgreSQL, which flushes what it commits; against the same
// floor as the embedded store, with the server on the same processors.
import { startPostgres } from '../../test/support/postgres';
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import type { Place } from '../place';
import { perSecond, type Turn } from './accept';

const rounds = 5;

export const acceptPostgres: Figure = { name: 'accept-postgres', measure };

async function measure(place: Place): Promise<Line[]> {
  const server = await startPostgres();
  try {
    const bare = await place.bareReceiver();
    const database = server.url(await server.createDatabase());
    const receiver = await place.serve({ ROLE: 'receiver', DATABASE_URL: database });
    const turns = await inTurns(
      {
        bare: (turn) => perSecond(place, bare, turn),
        receiver: (turn) => perSecond(place, receiver, turn),
      },
      rounds,
    );
    for (const one of [bare, receiver]) await one.kill();
    const rates = (of: Turn[]) => of.map((turn) => turn.perSecond);
    return [
      line({
        figure: 'deliveries accepted per second on PostgreSQL',
        unit: 'deliveries/s',
        turns,
        measured: median(rates(turns.receiver)),
        floor: median(rates(turns.bare)),
        judged: medianRatio(rates(turns.receiver), rates(turns.bare)),
        processor: {
          measured: medianMicros(turns.receiver.map(({ micros }) => micros)),
          floor: medianMicros(turns.bare.map(({ micros }) => micros)),
        },
        bound: { kind: 'at least', value: 0.45, of: '× the floor' },
      }),
    ];
  } finally {
    await server.stop();
  }
}
