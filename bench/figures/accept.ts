// Deliveries accepted per second: one element each, 50 connections, every delivery another resource. The measured one is
// `serve` as a receiver, which commits each delivery to disk before it answers; the floor is the same listener without a
// store. Printed beside: the same with a worker in the process that reads what was notified at the same time.
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import { type Place, providerQuiet, type Receiver } from '../place';
import { type MicrosEach, microsEach, processorTime } from '../usage';

const turnMs = 3000;
const deliveriesMax = 16_000;
const rounds = 5;

export interface Turn {
  perSecond: number;
  /** Of the measured process, for one delivery. */
  micros: MicrosEach;
}

export const accept: Figure = { name: 'accept', measure };

async function measure(place: Place): Promise<Line[]> {
  const bare = await place.bareReceiver();
  const receiver = await place.serve({ ROLE: 'receiver' });
  const all = await place.serve();
  const turns = await inTurns(
    {
      bare: (turn) => perSecond(place, bare, turn),
      receiver: (turn) => perSecond(place, receiver, turn),
      all: async (turn) => {
        const measured = await perSecond(place, all, turn);
        await providerQuiet(place, 200);
        return measured;
      },
    },
    rounds,
  );
  for (const one of [bare, receiver, all]) await one.kill();
  const rates = (of: Turn[]) => of.map((turn) => turn.perSecond);
  const common = { floor: median(rates(turns.bare)), unit: 'deliveries/s', turns };
  const processor = (of: Turn[]) => ({
    measured: medianMicros(of.map(({ micros }) => micros)),
    floor: medianMicros(turns.bare.map(({ micros }) => micros)),
  });
  return [
    line({
      ...common,
      figure: 'deliveries accepted per second',
      measured: median(rates(turns.receiver)),
      judged: medianRatio(rates(turns.receiver), rates(turns.bare)),
      processor: processor(turns.receiver),
      bound: { kind: 'at least', value: 0.6, of: '× the floor' },
    }),
    line({
      ...common,
      figure: '… while the process also reads them',
      measured: median(rates(turns.all)),
      judged: medianRatio(rates(turns.all), rates(turns.bare)),
      processor: processor(turns.all),
      bound: null,
    }),
  ];
}

export async function perSecond(place: Place, { port, pid }: Receiver, turn: number): Promise<Turn> {
  const generator = await place.generator();
  const before = processorTime(pid);
  const { posted, tookMs } = await generator.burst({
    port,
    authorization: await place.authorization(),
    connections: 50,
    elements: 1,
    deliveries: deliveriesMax,
    untilMs: turnMs,
    from: turn * deliveriesMax,
    distinct: deliveriesMax,
  });
  return { perSecond: (posted * 1000) / tookMs, micros: microsEach(before, processorTime(pid), posted) };
}
