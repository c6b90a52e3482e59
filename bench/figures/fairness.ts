// What a storm of one organization does to another: 50 notifications a second of the quiet one, from the post until the
// broker appends the record (LogAppendTime), alone and while the other sends 100,000 hints of 20,000 resources as fast as
// they are accepted. Each turn has new resources, and begins when those of the turn before were read. On either store.
import { startPostgres } from '../../test/support/postgres';
import { type Generator, type Resource, startGenerator } from '../deliveries';
import { type Figure, type Line, line } from '../figure';
import { inTurns, median, percentile } from '../measure';
import { equipmentOf, type Place, providerQuiet, type Receiver } from '../place';
import { appendTimes } from './freshness';

const rounds = 5;
const perSecond = 50;
const seconds = 8;
const hints = 100_000;
const stormResources = 20_000;
const elements = 50;
const quietMs = 1500;
/** As it ships: more in flight at a provider that answers in 5 ms would only wait for each other. */
const concurrency = '32';
/** What a storm may add, unless the quiet value itself is more. */
const addedMsMax = 50;

export const fairness: Figure = {
  name: 'fairness',
  world: { organizations: 2, equipment: (rounds + 1) * stormResources },
  measure,
};

interface Stage {
  place: Place;
  serve: Receiver;
  quiet: Generator;
  storm: Generator;
  authorization: string;
}

async function measure(place: Place): Promise<Line[]> {
  const server = await startPostgres();
  try {
    const scaled = { DATABASE_URL: server.url(await server.createDatabase()) };
    return [
      await measureOn(place, 'fair', '', {}),
      await measureOn(place, 'fair-scaled', ' on PostgreSQL', scaled),
    ];
  } finally {
    await server.stop();
  }
}

async function measureOn(
  place: Place,
  prefix: string,
  store: string,
  settings: Record<string, string>,
): Promise<Line> {
  await place.createTopics(prefix, { 'message.timestamp.type': 'LogAppendTime' });
  const resources = await equipmentOf(await place.simulator());
  const of = (who: number): Resource[] => resources.filter((_, index) => index % 2 === who);
  const quiet = await startGenerator(of(0), place.folder);
  const storm = await startGenerator(of(1), place.folder);
  try {
    const shipped = { PROVIDER_CONCURRENCY: concurrency, SYNC_INTERVAL_SECONDS: '0' };
    const serve = await place.serve({ ...shipped, ...settings }, prefix);
    const stage = { place, serve, quiet, storm, authorization: await place.authorization() };
    const turns = await inTurns(
      {
        alone: (turn) => quietOnce(stage, 2 * turn),
        stormed: async (turn) => {
          const over = stormOnce(stage, turn);
          const p99Ms = await quietOnce(stage, 2 * turn + 1);
          await over;
          return p99Ms;
        },
      },
      rounds,
    );
    await serve.kill();
    const alone = median(turns.alone);
    const stormed = median(turns.stormed);
    return line({
      figure: `accept → record in Kafka of another during a storm${store}, p99`,
      measured: stormed,
      floor: alone,
      unit: 'ms',
      judged: stormed - alone,
      turns,
      bound: { kind: 'at most', value: Math.round(Math.max(addedMsMax, alone)), of: 'ms above quiet' },
    });
  } finally {
    await quiet.stop();
    await storm.stop();
  }
}

/** The p99 of one paced run, in milliseconds. */
async function quietOnce({ place, serve, quiet, authorization }: Stage, turn: number): Promise<number> {
  const topic = serve.topic as string;
  const since = await place.offsets(topic);
  const { times } = await quiet.paced({
    port: serve.port,
    authorization,
    connections: 16,
    perSecond,
    seconds,
    from: turn * perSecond * seconds,
  });
  const appended = await appendTimes(await place.kafka(), topic, times, since);
  const took = times.map(({ id, postedAtMs }) => (appended.get(id) as number) - postedAtMs);
  return percentile(took, 0.99);
}

async function stormOnce({ place, serve, storm, authorization }: Stage, turn: number): Promise<void> {
  await storm.burst({
    port: serve.port,
    authorization,
    connections: 4,
    elements,
    deliveries: hints / elements,
    from: turn * stormResources,
    distinct: stormResources,
  });
  await providerQuiet(place, quietMs);
}
