// Goal: every partition has an outcome of its own, and what is repeated inside one send carries the same numbers.
// Method: a cluster that answers as the test says; each request is kept.
import { describeError } from '../../../src/publish/classify-error';
import type { KafkaCluster, PartitionAnswer, TopicState } from '../../../src/publish/kafka-cluster';
import type { WireBatch } from '../../../src/publish/produce-body';
import { makeProducer } from '../../../src/publish/producer';
import type { Batch } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';

const { KafkaJSConnectionError, KafkaJSRequestTimeoutError } = require('kafkajs/src/errors');

const epoch = { producerId: '7', producerEpoch: 3 };

type Request = { node: number; batches: { place: string; firstSequence: number; rows: number }[] };
type Reply = (batches: WireBatch[]) => PartitionAnswer[];

class ScriptedCluster {
  requests: Request[] = [];
  replies: Reply[] = [];
  refreshes = 0;
  topics = new Map<string, TopicState>();
  onRefresh = () => {};
  heldBackForMs = 0;

  constructor() {
    this.lead('t', [1, 2, 1]);
  }

  lead(topic: string, leaders: number[]): void {
    this.topics.set(topic, {
      code: null,
      partitions: leaders.map((leader) => ({ leader, replicas: 2, inSync: 2 })),
    });
  }

  topicState(topic: string): TopicState | null {
    return this.topics.get(topic) ?? null;
  }

  heldBackMs(): number {
    return this.heldBackForMs;
  }

  async refresh(): Promise<void> {
    this.refreshes += 1;
    this.onRefresh();
  }

  async produce(node: number, given: unknown, batches: WireBatch[]): Promise<PartitionAnswer[]> {
    expect(given).toBe(epoch);
    this.requests.push({
      node,
      batches: batches.map(({ topic, partition, firstSequence, records }) => ({
        place: `${topic}-${partition}`,
        firstSequence,
        rows: records.length,
      })),
    });
    return (this.replies.shift() ?? written)(batches);
  }
}

const written: Reply = (batches) =>
  batches.map(({ topic, partition }) => ({ topic, partition, code: null, firstOffset: '40' }));

function answering(codes: Record<number, string | null>): Reply {
  return (batches) =>
    batches.flatMap(({ topic, partition }) => {
      const code = codes[partition];
      return code === undefined ? [] : [{ topic, partition, code, firstOffset: code === null ? '40' : '-1' }];
    });
}

function throwing(error: Error): Reply {
  return () => {
    throw error;
  };
}

const outbox = makeMemoryOutbox(makeHandClock(0));

function batch(partition: number, rows = 2, topic = 't', partitions = 3): Batch {
  const added = Array.from({ length: rows }, () => outbox.add({ topic, key: `k${partition}` }));
  return { topic, partition, partitions, rows: added };
}

function producerOn(cluster: ScriptedCluster, repeatAfterMs = [10, 20]) {
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  const producer = makeProducer(cluster as unknown as KafkaCluster, epoch, { repeatAfterMs, wait });
  const send = async (batches: Batch[]) => {
    const { ended, result } = producer.send(batches);
    await ended;
    return result();
  };
  return { producer, send, waits };
}

test('each leader gets one request with all its partitions', async () => {
  const cluster = new ScriptedCluster();
  const { send } = producerOn(cluster);
  const result = await send([batch(0), batch(1, 1), batch(2, 3)]);
  expect(result).toEqual({ outcomes: Array(3).fill({ sent: true, firstOffset: '40' }), spent: false });
  expect(cluster.requests).toEqual([
    {
      node: 1,
      batches: [
        { place: 't-0', firstSequence: 0, rows: 2 },
        { place: 't-2', firstSequence: 0, rows: 3 },
      ],
    },
    { node: 2, batches: [{ place: 't-1', firstSequence: 0, rows: 1 }] },
  ]);
});

test('records of a partition are numbered on from send to send', async () => {
  const cluster = new ScriptedCluster();
  const { send } = producerOn(cluster);
  await send([batch(0, 5)]);
  await send([batch(0, 2), batch(1, 1)]);
  await send([batch(0, 1)]);
  const numbers = cluster.requests.flatMap(({ batches }) => batches);
  expect(numbers.map(({ place, firstSequence }) => [place, firstSequence])).toEqual([
    ['t-0', 0],
    ['t-0', 5],
    ['t-1', 0],
    ['t-0', 7],
  ]);
});

test('after two billion records the numbers of a partition begin anew', async () => {
  const cluster = new ScriptedCluster();
  const { send } = producerOn(cluster);
  const many: Batch['rows'] = [];
  many.length = 2 ** 31 - 1;
  await send([{ ...batch(0), rows: many }]);
  await send([batch(0, 3)]);
  await send([batch(0, 1)]);
  expect(cluster.requests.map(({ batches }) => batches[0]?.firstSequence)).toEqual([0, 2 ** 31 - 1, 2]);
});

test('rows that never left leave no gap in the numbers', async () => {
  const cluster = new ScriptedCluster();
  cluster.lead('t', [-1, 2, 1]);
  const { send } = producerOn(cluster);
  expect((await send([batch(0, 5), batch(1)])).spent).toBe(false);
  cluster.lead('t', [1, 2, 1]);
  await send([batch(0, 5)]);
  expect(cluster.requests.at(-1)?.batches).toEqual([{ place: 't-0', firstSequence: 0, rows: 5 }]);
});

test('one partition that is refused takes none of the same answer with it', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: null, 2: 'MESSAGE_TOO_LARGE' })];
  const { outcomes, spent } = await producerOn(cluster).send([batch(0), batch(2)]);
  expect(outcomes).toEqual([
    { sent: true, firstOffset: '40' },
    { sent: false, kind: 'too-large', code: 'MESSAGE_TOO_LARGE', detail: 'MESSAGE_TOO_LARGE: t-2' },
  ]);
  expect(spent).toBe(true);
});

test('an answer is of its own topic: what is refused of one says nothing of the same partition of another', async () => {
  const cluster = new ScriptedCluster();
  cluster.lead('u', [1]);
  cluster.replies = [
    (batches) =>
      batches.map(({ topic, partition }) =>
        topic === 't'
          ? { topic, partition, code: null, firstOffset: '40' }
          : { topic, partition, code: 'TOPIC_AUTHORIZATION_FAILED', firstOffset: '-1' },
      ),
  ];
  const { outcomes } = await producerOn(cluster).send([batch(0), batch(0, 1, 'u', 1)]);
  expect(outcomes).toMatchObject([{ sent: true }, { sent: false, code: 'TOPIC_AUTHORIZATION_FAILED' }]);
});

test('a broker whose id is 0 leads as any other', async () => {
  const cluster = new ScriptedCluster();
  cluster.lead('t', [0, 2, 1]);
  expect(await producerOn(cluster).send([batch(0)])).toMatchObject({ outcomes: [{ sent: true }] });
  expect(cluster.requests.map(({ node }) => node)).toEqual([0]);
});

test('one broker that is gone takes nothing of another with it', async () => {
  const cluster = new ScriptedCluster();
  const gone = new KafkaJSConnectionError('…', { broker: 'b1:9092', code: 'ECONNREFUSED' });
  cluster.replies = [throwing(gone), written, throwing(gone), throwing(gone)];
  const { outcomes } = await producerOn(cluster).send([batch(0), batch(1)]);
  expect(outcomes).toEqual([
    { sent: false, kind: 'retry', code: 'CONNECTION', detail: describeError(gone).detail },
    { sent: true, firstOffset: '40' },
  ]);
});

test('for how long a quota holds back what is sent next is told with what was written', async () => {
  const cluster = new ScriptedCluster();
  const { send } = producerOn(cluster);
  expect(await send([batch(0)])).not.toHaveProperty('heldBackMs');
  cluster.heldBackForMs = 40_000;
  expect(await send([batch(0)])).toMatchObject({
    outcomes: [{ sent: true }],
    spent: false,
    heldBackMs: 40_000,
  });
});

test('held back for longer than ten minutes, another producer is to go on after those', async () => {
  const cluster = new ScriptedCluster();
  const { send } = producerOn(cluster);
  cluster.heldBackForMs = 600_000;
  expect(await send([batch(0)])).toMatchObject({ spent: false, heldBackMs: 600_000 });
  cluster.heldBackForMs = 600_001;
  expect(await send([batch(0)])).toMatchObject({ spent: true, heldBackMs: 600_000 });
});

test('nothing is repeated inside a send behind a quota, and a producer that is spent waits for none', async () => {
  const cluster = new ScriptedCluster();
  const { send, waits } = producerOn(cluster);
  cluster.heldBackForMs = 40_000;
  cluster.replies = [answering({ 0: 'NOT_LEADER_FOR_PARTITION' })];
  const result = await send([batch(0)]);
  expect(result).toMatchObject({ outcomes: [{ code: 'NOT_LEADER_FOR_PARTITION' }], spent: true });
  expect(result).not.toHaveProperty('heldBackMs');
  expect([cluster.requests.length, waits]).toEqual([1, []]);
});

test('what heals in a moment is repeated under the same numbers, at the leader of then', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: 'NOT_LEADER_FOR_PARTITION', 2: null }), written];
  cluster.onRefresh = () => cluster.lead('t', [9, 2, 1]);
  const { send, waits } = producerOn(cluster);
  expect(await send([batch(0), batch(2)])).toMatchObject({
    outcomes: [{ sent: true }, { sent: true }],
    spent: false,
  });
  expect(cluster.requests.map(({ node, batches }) => [node, batches.map(({ place }) => place)])).toEqual([
    [1, ['t-0', 't-2']],
    [9, ['t-0']],
  ]);
  expect(cluster.requests.map(({ batches }) => batches[0]?.firstSequence)).toEqual([0, 0]);
  expect(waits).toEqual([10]);
});

test('a partition that the answer does not name is not sent, and asked for again', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: null }), answering({}), answering({})];
  const { outcomes, spent } = await producerOn(cluster).send([batch(0), batch(2)]);
  expect(outcomes[0]).toMatchObject({ sent: true });
  expect(outcomes[1]).toMatchObject({ sent: false, kind: 'retry', detail: 't-2 was not answered for' });
  expect(spent).toBe(true);
  expect(cluster.requests).toHaveLength(3);
});

test('what takes longer to heal is not waited for', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: 'NOT_ENOUGH_REPLICAS' }), throwing(new KafkaJSRequestTimeoutError('…'))];
  const { send, waits } = producerOn(cluster);
  const { outcomes } = await send([batch(0), batch(1)]);
  expect(outcomes).toMatchObject([
    { sent: false, code: 'NOT_ENOUGH_REPLICAS', kind: 'retry' },
    { sent: false, code: 'TIMED_OUT', kind: 'retry' },
  ]);
  expect(waits).toEqual([]);
});

test.each([
  ['a topic that is not known', 'u', 1, 'UNKNOWN_TOPIC_OR_PARTITION', 'missing'],
  ['a topic that is denied', 'denied', 1, 'TOPIC_AUTHORIZATION_FAILED', 'denied'],
  ['a partition without a leader', 'headless', 1, 'LEADER_NOT_AVAILABLE', 'retry'],
  ['a topic that has grown', 't', 1, 'PARTITIONS_CHANGED', 'retry'],
])('%s fails alone, and the producer stays sound', async (_, topic, partitions, code, kind) => {
  const cluster = new ScriptedCluster();
  cluster.lead('headless', [-1]);
  cluster.topics.set('denied', { code: 'TOPIC_AUTHORIZATION_FAILED', partitions: [] });
  const { send, waits } = producerOn(cluster);
  const { outcomes, spent } = await send([batch(0, 1, topic, partitions), batch(1)]);
  expect(outcomes).toMatchObject([{ sent: false, code, kind }, { sent: true }]);
  expect(spent).toBe(false);
  expect(waits).toEqual([]);
});

test('a partition that nobody leads any more keeps its numbers while it may heal', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: 'NOT_LEADER_FOR_PARTITION' }), written];
  const states = [
    [-1, 2, 1],
    [5, 2, 1],
  ];
  cluster.onRefresh = () => cluster.lead('t', states.shift() as number[]);
  const { outcomes } = await producerOn(cluster).send([batch(0)]);
  expect(outcomes).toMatchObject([{ sent: true }]);
  expect(cluster.requests.map(({ node }) => node)).toEqual([1, 5]);
});

test('when metadata cannot be had, the last known leader is tried again', async () => {
  const cluster = new ScriptedCluster();
  cluster.replies = [answering({ 0: 'NETWORK_EXCEPTION' }), written];
  cluster.onRefresh = () => {
    throw new Error('no metadata');
  };
  expect((await producerOn(cluster).send([batch(0)])).outcomes).toMatchObject([{ sent: true }]);
});

test('what is not answered when time is up has failed, and what was acknowledged stays so', async () => {
  const cluster = new ScriptedCluster();
  let release = () => {};
  const never = new Promise<void>((resolve) => {
    release = resolve;
  });
  cluster.produce = async (node, _, batches) => {
    if (node === 1) await never;
    return written(batches);
  };
  const { producer } = producerOn(cluster);
  const { ended, result } = producer.send([batch(0), batch(1)]);
  await new Promise(setImmediate);
  expect(result()).toEqual({
    outcomes: [
      { sent: false, kind: 'retry', code: 'TIMED_OUT', detail: 'no answer in time' },
      { sent: true, firstOffset: '40' },
    ],
    spent: true,
  });
  release();
  await ended;
});
