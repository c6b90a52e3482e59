// Accept → record in Kafka at 100 notifications a second: from the moment the generator posts a delivery until the broker
// appends its record, which the broker stamps itself (LogAppendTime, the same clock on one machine). The floor is the
// provider's 5 ms and one send of kafkajs for each notification, in the bare loop, stamped in the same way.
import type { Kafka } from 'kafkajs';
import type { Answer } from '../deliveries';
import { type Figure, type Line, line } from '../figure';
import { inTurns, median, percentile } from '../measure';
import type { Place, Receiver } from '../place';

const rounds = 5;
const perSecond = 100;
const seconds = 6;
const readMsMax = 20_000;

interface Turn {
  p50Ms: number;
  p99Ms: number;
  /** Counted from the 204 instead of from the post. */
  afterAcceptP50Ms: number;
}

export const freshness: Figure = { name: 'freshness', measure };

async function measure(place: Place): Promise<Line[]> {
  for (const prefix of ['bare', 'serve']) {
    await place.createTopics(`fresh-${prefix}`, { 'message.timestamp.type': 'LogAppendTime' });
  }
  const bare = await place.bareLoop('fresh-bare', { BATCH: 'each' });
  const serve = await place.serve({}, 'fresh-serve');
  const turns = await inTurns(
    { bare: (turn) => freshOnce(place, bare, turn), serve: (turn) => freshOnce(place, serve, turn) },
    rounds,
  );
  for (const one of [bare, serve]) await one.kill();
  const of = (who: 'bare' | 'serve', what: keyof Turn) => median(turns[who].map((turn) => turn[what]));
  const figure = 'accept → record in Kafka at 100/s';
  return (
    [
      ['p50', 'p50Ms', 15],
      ['p99', 'p99Ms', 60],
    ] as const
  ).map(([name, what, value]) =>
    line({
      figure: `${figure}, ${name}`,
      measured: of('serve', what),
      floor: of('bare', what),
      unit: 'ms',
      judged: of('serve', what) - of('bare', what),
      bound: { kind: 'at most', value, of: 'ms above the floor' },
      turns: name === 'p50' ? turns : {},
    }),
  );
}

async function freshOnce(place: Place, { port, topic }: Receiver, turn: number): Promise<Turn> {
  const generator = await place.generator();
  const { times } = await generator.paced({
    port,
    authorization: await place.authorization(),
    connections: 16,
    perSecond,
    seconds,
    from: turn * perSecond * seconds,
  });
  const appended = await appendTimes(await place.kafka(), topic as string, times);
  const since = (from: 'postedAtMs' | 'acceptedAtMs') =>
    times.map((time) => (appended.get(time.id) as number) - time[from]);
  return {
    p50Ms: percentile(since('postedAtMs'), 0.5),
    p99Ms: percentile(since('postedAtMs'), 0.99),
    afterAcceptP50Ms: percentile(since('acceptedAtMs'), 0.5),
  };
}

/**
 * When the broker appended the first record of each resource from these offsets on; read after the run, so that reading
 * disturbs nothing.
 */
export async function appendTimes(
  kafka: Kafka,
  topic: string,
  times: Answer['times'],
  since: { partition: number; offset: string }[] = [],
): Promise<Map<string, number>> {
  const wanted = new Set(times.map(({ id }) => id));
  const appended = new Map<string, number>();
  const consumer = kafka.consumer({ groupId: `bench-${topic}-${process.hrtime.bigint()}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const all = new Promise<void>((resolve, reject) => {
    const overdue = setTimeout(() => reject(new Error(`${wanted.size} records are missing`)), readMsMax);
    const eachMessage = async ({ message }: { message: { key: Buffer | null; timestamp: string } }) => {
      const key = message.key?.toString() ?? '';
      const id = key.slice(key.lastIndexOf('/') + 1);
      if (!wanted.delete(id)) return;
      appended.set(id, Number(message.timestamp));
      if (wanted.size > 0) return;
      clearTimeout(overdue);
      resolve();
    };
    void consumer.run({ eachMessage });
    for (const { partition, offset } of since) consumer.seek({ topic, partition, offset });
  });
  await all.finally(() => consumer.disconnect());
  return appended;
}
