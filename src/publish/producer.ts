/**
 * One producer epoch at work: numbers the batches of each partition as an idempotent producer must, sends one request to
 * each leader, and repeats a batch under the same numbers while that can heal in a moment, so that the broker recognises
 * what it has. Every partition has its own outcome; one that fails takes none with it. After any failure the producer is
 * spent: it must not be used again.
 */
import { connectionLost, describeError, healsInAMoment, kindOf, timedOut } from './classify-error';
import type { KafkaCluster, PartitionAnswer, ProducerEpoch } from './kafka-cluster';
import { placeName } from './place-name';
import type { WireBatch } from './produce-body';
import type { Batch, Failure, Outcome, SendResult } from './target';

export interface ProducerOptions {
  /** How long to wait before each repetition inside one send; as many repetitions as there are numbers. */
  repeatAfterMs: number[];
  wait(ms: number): Promise<void>;
}

export interface Producer {
  /** Starts sending; `result()` is what is known at any time, and all that will be known once `ended` resolves. */
  send(batches: Batch[]): { ended: Promise<void>; result(): SendResult };
}

/** One batch on its way. */
interface Sending {
  batch: Batch;
  /** As it left; null as long as no broker may have it. */
  wire: WireBatch | null;
  outcome: Outcome | null;
}

/** What is held back for longer goes on with another client, which no broker holds back yet. */
export const heldBackMsMax = 600_000;

/** Numbers of a partition go round. */
const sequences = 2 ** 31;

/** What it tells of a quota is 10 minutes at most. */
export function makeProducer(
  cluster: KafkaCluster,
  epoch: ProducerEpoch,
  options: ProducerOptions,
): Producer {
  const nextSequences = new Map<string, number>();

  /** Numbers are given when a batch first leaves: a gap would be refused, and so would other numbers for a repetition. */
  function number({ batch: { topic, partition, rows } }: Sending): WireBatch {
    const name = placeName({ topic, partition });
    const firstSequence = nextSequences.get(name) ?? 0;
    nextSequences.set(name, (firstSequence + rows.length) % sequences);
    return { topic, partition, firstSequence, records: rows };
  }

  async function sendToLeader(node: number, sendings: Sending[]): Promise<void> {
    const wires = sendings.map((sending) => {
      sending.wire ??= number(sending);
      return sending.wire;
    });
    const answers = await cluster.produce(node, epoch, wires).catch(describeError);
    for (const sending of sendings) sending.outcome = outcomeOf(sending.batch, answers);
  }

  async function attempt(sendings: Sending[]): Promise<void> {
    const byLeader = new Map<number, Sending[]>();
    for (const sending of sendings) {
      const leader = findLeader(cluster, sending.batch);
      if (typeof leader !== 'number') sending.outcome = leader;
      else byLeader.set(leader, [...(byLeader.get(leader) ?? []), sending]);
    }
    await Promise.all([...byLeader].map(([node, ofLeader]) => sendToLeader(node, ofLeader)));
  }

  async function sendAll(sendings: Sending[]): Promise<void> {
    await attempt(sendings);
    for (const pauseMs of options.repeatAfterMs) {
      const again = sendings.filter(worthRepeating);
      // Repeated behind a quota they would be taken for what nobody answers.
      if (again.length === 0 || cluster.heldBackMs() > 0) return;
      await options.wait(pauseMs);
      // When even the metadata cannot be had, what is known of it is as good as before.
      await cluster.refresh().catch(() => {});
      await attempt(again);
    }
  }

  return {
    send(batches) {
      const sendings = batches.map((batch): Sending => ({ batch, wire: null, outcome: null }));
      return {
        ended: sendAll(sendings),
        result() {
          const outcomes = sendings.map(({ outcome }) => outcome ?? failure(timedOut, 'no answer in time'));
          if (sendings.some(isUnsure)) return { outcomes, spent: true };
          const heldBackMs = cluster.heldBackMs();
          if (heldBackMs === 0) return { outcomes, spent: false };
          const spent = heldBackMs > heldBackMsMax;
          return { outcomes, spent, heldBackMs: Math.min(heldBackMs, heldBackMsMax) };
        },
      };
    },
  };
}

/** A broker may have it, and did not say so. */
function isUnsure({ wire, outcome }: Sending): boolean {
  return wire !== null && outcome?.sent !== true;
}

/** Only what a broker may have is repeated here; what never left this process waits for the next send. */
function worthRepeating({ wire, outcome }: Sending): boolean {
  return wire !== null && outcome !== null && !outcome.sent && healsInAMoment(outcome.code);
}

function failure(code: string, detail: string): Failure {
  return { sent: false, kind: kindOf(code), code, detail };
}

/** The node to send to, or why there is none. */
function findLeader(cluster: KafkaCluster, { topic, partition, partitions }: Batch): number | Failure {
  const state = cluster.topicState(topic);
  if (state === null) return failure('UNKNOWN_TOPIC_OR_PARTITION', `nothing is known of topic ${topic}`);
  if (state.code !== null) return failure(state.code, `${state.code}: topic ${topic}`);
  if (state.partitions.length !== partitions) {
    return failure(
      'PARTITIONS_CHANGED',
      `${topic} has ${state.partitions.length} partitions, not ${partitions}`,
    );
  }
  const leader = state.partitions[partition]?.leader ?? -1;
  return leader >= 0 ? leader : failure('LEADER_NOT_AVAILABLE', `${topic}-${partition} has no leader`);
}

/** What an answer, or the lack of one, says of a batch. */
function outcomeOf(batch: Batch, answers: PartitionAnswer[] | { code: string; detail: string }): Outcome {
  if (!Array.isArray(answers)) return failure(answers.code, answers.detail);
  const named = answers.find(
    ({ topic, partition }) => topic === batch.topic && partition === batch.partition,
  );
  if (named === undefined)
    return failure(connectionLost, `${batch.topic}-${batch.partition} was not answered for`);
  if (named.code === null) return { sent: true, firstOffset: named.firstOffset };
  return failure(named.code, `${named.code}: ${batch.topic}-${batch.partition}`);
}
