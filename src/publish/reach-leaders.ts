/**
 * Whether what is to be written could be: whoever leads a partition is asked where it says that it is, and somebody gives
 * out the producer's epoch. Asks, and changes nothing.
 */
import { type Clock, endsWithin } from '../tools/clock';
import { describeError, idRefused, isOfCoordinator, ofTransactionalId } from './classify-error';
import type { KafkaCluster } from './kafka-cluster';

/** One sentence for each leader of these topics that gives no answer in this time. */
export async function unreachedLeaders(
  cluster: KafkaCluster,
  topics: string[],
  withinMs: number,
  clock: Clock,
): Promise<string[]> {
  const partitions = topics.flatMap((topic) =>
    (cluster.topicState(topic)?.partitions ?? []).map(({ leader }) => ({ topic, leader })),
  );
  const led = Map.groupBy(partitions, ({ leader }) => leader);
  led.delete(-1);
  const faults = await Promise.all(
    [...led].map(async ([node, [first, ...others]]) => {
      const fault = await faultOf(cluster, node, first!.topic, withinMs, clock);
      const count = `${others.length + 1} of ${partitions.length} partitions`;
      return fault === null ? [] : [`the broker that leads ${count} is not reached: ${fault}`];
    }),
  );
  return faults.flat();
}

async function faultOf(
  cluster: KafkaCluster,
  node: number,
  topic: string,
  withinMs: number,
  clock: Clock,
): Promise<string | null> {
  const place = cluster.addressOf(node);
  const where = ` at ${place?.host}:${place?.port}`;
  const heard = cluster.hear(node, topic).then(
    () => null,
    (error: unknown) => describeError(error).detail,
  );
  if (!(await endsWithin(heard, withinMs, clock))) return `no answer${where}`;
  const detail = await heard;
  return detail === null || detail.includes(' at ') ? detail : `${detail}${where}`;
}

const pauseMs = 100;

/**
 * Why nobody gives out epochs of the id, as brokers say all the time; null where somebody does, or they say nothing. On a new
 * cluster that takes a moment. An answer that comes too late leaves what was said before.
 */
export async function epochFault(
  cluster: KafkaCluster,
  transactionalId: string,
  withinMs: number,
  clock: Clock,
): Promise<string | null> {
  const untilMs = clock.steadyMs() + withinMs;
  let heard: string | null = null;
  for (;;) {
    const asked = cluster.coordinatorOf(transactionalId).then(
      () => null,
      (error: unknown) => describeError(error).code,
    );
    const isAnswered = await endsWithin(asked, untilMs - clock.steadyMs(), clock);
    if (isAnswered) heard = await asked;
    if (heard === null || !(heard === idRefused || isOfCoordinator(heard))) return null;
    const isLast = !isAnswered || clock.steadyMs() + pauseMs >= untilMs;
    if (heard === idRefused || isLast)
      return ofTransactionalId(heard, transactionalId, cluster.brokerCount());
    await clock.wait(pauseMs);
  }
}
