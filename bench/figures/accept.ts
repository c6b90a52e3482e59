// Deliveries accepted per second: one element each, 50 connections, every delivery another resource. The measured one is
// `serve` as a receiver, which commits each delivery to disk before it answers; the floor is the same listener without a
// store. Printed beside: the same with a worker in the process that reads what was notified at the same time.
import { type Figure, type Line, line } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import { type Place, providerQuiet, type Receiver } from '../place';

const turnMs = 3000;
const deliveriesMax = 16_000;
const rounds = 5;

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
        const rate = await perSecond(place, all, turn);
        await providerQuiet(place, 200);
        return rate;
      },
    },
    rounds,
  );
  for (const one of [bare, receiver, all]) await one.kill();
  const common = { floor: median(turns.bare), unit: 'deliveries/s', turns };
  return [
    line({
      ...common,
      figure: 'deliveries accepted per second',
      measured: median(turns.receiver),
      judged: medianRatio(turns.receiver, turns.bare),
      bound: { kind: 'at least', value: 0.6, of: '× the floor' },
    }),
    line({
      ...common,
      figure: '… while the process also reads them',
      measured: median(turns.all),
      judged: medianRatio(turns.all, turns.bare),
      bound: null,
    }),
  ];
}

async function perSecond(place: Place, { port }: Receiver, turn: number): Promise<number> {
  const generator = await place.generator();
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
  return (posted * 1000) / tookMs;
}
