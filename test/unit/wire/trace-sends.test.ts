// A send that failed must be seen as one, topic by topic, and the target must be used exactly as without spans.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OutboxRow } from '../../../src/model/event';
import type { FoundPage } from '../../../src/model/topic-end';
import type { Trouble } from '../../../src/observe/lines';
import type { Batch, PublishTarget, SendResult } from '../../../src/publish/target';
import { traceSends } from '../../../src/wire/trace-sends';
import { repositoryRoot } from '../../support/repository';

const rowOf = (topic: string, traceparent: string | null): OutboxRow => ({
  row: 1,
  topic,
  key: 'k',
  sequence: 1,
  eventId: 'e',
  value: '{}',
  acceptedAtMs: null,
  headers: traceparent === null ? [['ce_id', 'e']] : [['traceparent', traceparent]],
});
const batchOf = (topic: string, ...traceparents: (string | null)[]): Batch => ({
  topic,
  partition: 0,
  partitions: 1,
  rows: traceparents.map((traceparent) => rowOf(topic, traceparent)),
});

const broker = { host: 'broker.example', port: 9092 };

function stage(send: () => Promise<SendResult>, pages: FoundPage[] = []) {
  const calls: string[] = [];
  const plain: PublishTarget = {
    name: 'kafka',
    open: async () => void calls.push('open'),
    partitionsOf: async () => 3,
    send: async () => {
      calls.push('send');
      return send();
    },
    readOn: async (_known, heard) => {
      calls.push('readOn');
      for (const page of pages) await heard(page);
      return null;
    },
    leaderOf: ({ partition }) => (partition === 0 ? broker : null),
    discard: async () => void calls.push('discard'),
    close: async () => void calls.push('close'),
  };
  const spans: unknown[] = [];
  const troubles: Trouble[] = [];
  const losses: string[] = [];
  const target = traceSends(
    plain,
    {
      startSend: (to, sent) => ({
        end: ({ errorType, places }) =>
          void spans.push({ ...to, batches: sent, errorType, places: places() }),
      }),
      trouble: (line) => void troubles.push(line),
      topicLostRecords: (topic) => void losses.push(topic),
    },
    'us',
  );
  return { target, calls, spans, troubles, losses };
}

const failure = { sent: false, kind: 'retry', code: 'NOT_LEADER', detail: '' } as const;
const success = { sent: true, firstOffset: '7' } as const;

test('each topic of a send is one span, with its batches, where they went and its first failure', async () => {
  const result: SendResult = { outcomes: [success, success, failure], spent: false };
  const { target, spans } = stage(async () => result);
  const batches = [batchOf('a', 't1', null), batchOf('b', 't2'), { ...batchOf('a', 't3'), partition: 1 }];
  expect(await target.send(batches)).toBe(result);
  const to = { system: 'kafka', clientId: 'us' };
  expect(spans).toEqual([
    {
      ...to,
      topic: 'a',
      batches: [batches[0], batches[2]],
      errorType: 'NOT_LEADER',
      places: [
        { firstOffset: '7', errorType: null, server: broker },
        { firstOffset: null, errorType: 'NOT_LEADER', server: null },
      ],
    },
    {
      ...to,
      topic: 'b',
      batches: [batches[1]],
      errorType: null,
      places: [{ firstOffset: '7', errorType: null, server: broker }],
    },
  ]);
});

test('a batch that the answer does not name, and a send that throws, are failures', async () => {
  const short = stage(async () => ({ outcomes: [success], spent: true }));
  await short.target.send([batchOf('a', 't1'), batchOf('b', 't2')]);
  expect(short.spans).toMatchObject([{ errorType: null }, { errorType: 'unnamed' }]);
  const broken = stage(() => Promise.reject(new Error('broken')));
  await expect(broken.target.send([batchOf('a', 't1')])).rejects.toThrow('broken');
  expect(broken.spans).toMatchObject([{ topic: 'a', errorType: 'unnamed' }]);
});

test('everything else is the target’s own', async () => {
  const { target, calls, spans } = stage(async () => ({ outcomes: [], spent: false }));
  await target.open();
  expect(await target.partitionsOf('a')).toBe(3);
  expect(await target.readOn([], async () => true)).toBeNull();
  await target.discard();
  await target.close();
  expect([target.name, calls, spans]).toEqual(['kafka', ['open', 'readOn', 'discard', 'close'], []]);
});

test('topics under whose names another log stands are told and counted, once and with what to do', async () => {
  const page = (topic: string, extra = {}): FoundPage => ({
    ...{ topic, partition: 0, from: null, nextOffset: '0', records: [], ...extra },
  });
  const another = { anotherLog: true };
  const pages = [page('a', another), page('a', { ...another, partition: 1 }), page('b'), page('c', another)];
  const { target, troubles, losses } = stage(async () => ({ outcomes: [], spent: false }), pages);
  const heard: string[] = [];
  await target.readOn([], async ({ topic }) => heard.push(topic) > 0);
  expect(heard).toEqual(['a', 'a', 'b', 'c']);
  expect(troubles).toEqual([
    {
      place: 'kafka',
      code: 'publish.another-log',
      detail: expect.stringMatching(/^a, c: made anew, .*tramline replay --kind/),
    },
  ]);
  expect(losses).toEqual(['a', 'c']);
});

const pageOf = (name: string) =>
  readFileSync(join(repositoryRoot(), 'deploy/runbooks', `Tramline${name}.md`), 'utf8');

test.each(['KafkaUnavailable', 'StoreBehindTopics', 'TopicDenied'])(
  'whoever is paged by %s is led to what sends again what Kafka lost',
  (name) => {
    expect(pageOf(name)).toContain('(TramlineTopicLostRecords.md)');
    const page = pageOf('TopicLostRecords');
    expect(page).toContain('publish.another-log');
    expect(page).toMatch(/^tramline replay --kind KIND$/m);
  },
);

test('a topic that takes records before the last that were acknowledged there is told and counted once, and one that goes on is not', async () => {
  const offsets = ['7', '0', '8', '1', '0', '2'];
  const pages: FoundPage[] = [];
  const { target, troubles, losses } = stage(
    async () => ({
      outcomes: [0, 0].map(() => ({ sent: true, firstOffset: offsets.shift()! })),
      spent: false,
    }),
    pages,
  );
  const both = [batchOf('a', 't1'), batchOf('b', 't2')];
  await target.send(both);
  await target.send(both);
  expect(troubles).toEqual([]);
  await target.send(both);
  const told = { code: 'publish.another-log', detail: expect.stringMatching(/^a: made anew, /) };
  expect(troubles).toMatchObject([told]);
  expect(losses).toEqual(['a']);
  // What was found by reading on is not told again by what is sent then.
  pages.push({ topic: 'b', partition: 0, from: null, nextOffset: '0', records: [], anotherLog: true });
  await target.readOn([], async () => true);
  offsets.push('1', '0');
  await target.send(both);
  expect(troubles).toHaveLength(2);
  expect(losses).toEqual(['a', 'b']);
});

test('a topic that was made anew while nothing was sent there since the start is told: the store knows how far it went', async () => {
  const known = ['a', 'b', 'c'].map((topic) => ({ topic, partition: 0, nextOffset: '8', last: null }));
  const pages: FoundPage[] = [
    { topic: 'b', partition: 0, from: null, nextOffset: '10', records: [] },
    { topic: 'c', partition: 0, from: null, nextOffset: '0', records: [], anotherLog: true },
  ];
  const outcomes = ['0', '9', '0'].map((firstOffset) => ({ sent: true, firstOffset }) as const);
  const { target, troubles } = stage(async () => ({ outcomes, spent: false }), pages);
  await target.readOn(known, async () => true);
  await target.send(['a', 'b', 'c'].map((topic) => batchOf(topic, 't1')));
  expect(troubles.map(({ detail }) => detail?.replace(/:.*/s, ''))).toEqual(['c', 'a, b']);
});
