// How many calls to the provider a hundred hints of each resource cost: all hints of 50 resources come round and round as
// fast as 4 connections with 50 elements go. The floor makes one read for each hint; both are counted by the provider.
import { type Figure, type Line, line } from '../figure';
import { inTurns, median } from '../measure';
import { type Place, providerQuiet, type Receiver } from '../place';

const rounds = 5;
const resources = 50;
const hintsEach = 100;
const elements = 50;
/** Longer than READ_GAP_MS: a read that waits for the gap still comes. */
const quietMs = 1500;

export const merge: Figure = { name: 'merge', measure };

async function measure(place: Place): Promise<Line[]> {
  for (const prefix of ['bare', 'serve']) await place.createTopics(`merge-${prefix}`);
  const bare = await place.bareLoop('merge-bare');
  const serve = await place.serve({}, 'merge-serve');
  const turns = await inTurns(
    {
      bare: (turn) => callsOf(place, bare, turn),
      serve: (turn) => callsOf(place, serve, turn),
    },
    rounds,
  );
  for (const one of [bare, serve]) await one.kill();
  const fewer = turns.bare.map((calls, round) => calls / (turns.serve[round] as number));
  return [
    line({
      figure: `provider calls for ${hintsEach} hints of a resource`,
      measured: median(turns.serve) / resources,
      floor: median(turns.bare) / resources,
      unit: 'calls/resource',
      judged: median(fewer),
      bound: { kind: 'at least', value: 30, of: '× fewer' },
      turns,
    }),
  ];
}

async function callsOf(place: Place, { port }: Receiver, turn: number): Promise<number> {
  const generator = await place.generator();
  const before = await providerQuiet(place, quietMs);
  await generator.burst({
    port,
    authorization: await place.authorization(),
    connections: 4,
    elements,
    deliveries: (resources * hintsEach) / elements,
    from: turn * resources,
    distinct: resources,
  });
  return (await providerQuiet(place, quietMs)) - before;
}
