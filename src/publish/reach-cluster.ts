/**
 * The way to a cluster by brokers that are named: which of them is asked first, and how long it may say nothing. What is
 * said once one answers is in kafka-cluster.ts.
 */
import type { Clock } from '../tools/clock';
import type { ClusterTimes, KafkaSettings } from './client-config';
import { type KafkaCluster, makeCluster } from './kafka-cluster';

export interface Reaching {
  /** A cluster that is connected by the named broker that answers first. Throws what kafkajs throws. */
  connect(): Promise<KafkaCluster>;
  /** Named brokers that had their time and said nothing before another answered. */
  silent(): string[];
  /** Ends at once what is connected or connecting. */
  destroy(): void;
}

/**
 * Asks the named brokers in turn, the next one as well where those before said nothing for a third of `connectTimeoutMs`: a
 * connection to a mute broker is made, and what is asked in it is not answered. Who is slow may still be the first to answer.
 */
export function reachCluster(settings: KafkaSettings, times: ClusterTimes & { clock: Clock }): Reaching {
  const tried: { address: string; cluster: KafkaCluster }[] = [];
  let reached: KafkaCluster | null = null;

  async function firstOf(signal: AbortSignal): Promise<KafkaCluster> {
    const answers: Promise<KafkaCluster>[] = [];
    for (const [by, address] of settings.brokers.entries()) {
      const cluster = makeCluster({ ...settings, brokers: rotate(settings.brokers, by) }, times);
      tried.push({ address, cluster });
      answers.push(cluster.connect().then(() => cluster));
      const patience = times.clock.wait(times.connectTimeoutMs / 3, signal).then(() => null);
      const first = await Promise.race([...answers, patience]);
      if (first !== null) return first;
    }
    return Promise.race(answers);
  }
  return {
    async connect() {
      const heard = new AbortController();
      try {
        reached = await firstOf(heard.signal);
      } finally {
        heard.abort('over');
        for (const { cluster } of tried) if (cluster !== reached) cluster.destroy();
      }
      return reached;
    },
    silent: () =>
      tried.flatMap(({ address, cluster }, at) =>
        cluster === reached || at === tried.length - 1 ? [] : [address],
      ),
    destroy() {
      for (const { cluster } of tried) cluster.destroy();
    },
  };
}

/** The same brokers, another one first. */
export function rotate(brokers: string[], by: number): string[] {
  const at = by % brokers.length;
  return [...brokers.slice(at), ...brokers.slice(0, at)];
}
