// Goal: a check says which topics may not be read, and nothing else of them.
// Method: a reader that answers as the test says, a clock that is moved by hand.
import type { TopicReader } from '../../../src/publish/read-topics';
import { unreadableTopics } from '../../../src/publish/unreadable-topics';
import { makeHandClock } from '../../support/hand-clock';

const refusal = (type: string) => Object.assign(new Error('no'), { type });

function readerOf(readPage: TopicReader['readPage']) {
  const asked: string[] = [];
  const offsets: TopicReader['offsets'] = async (topics) =>
    topics.flatMap((topic) => [0, 1].map((partition) => ({ topic, partition, nextOffset: '7' })));
  const reader = {
    offsets,
    readPage: (...[from, withinMs]: Parameters<TopicReader['readPage']>) => {
      asked.push(`${from.topic}-${from.partition} ${from.nextOffset} ${withinMs}`);
      return readPage(from, withinMs);
    },
  };
  return { reader, asked };
}

const tell = (reader: Pick<TopicReader, 'offsets' | 'readPage'>) =>
  unreadableTopics(reader, ['t', 'u'], 1_000, makeHandClock(0));

test('one partition of each topic is asked, at its end, and that may not be read is told', async () => {
  const { reader, asked } = readerOf(async (from) => {
    if (from.topic === 'u') throw refusal('TOPIC_AUTHORIZATION_FAILED');
    return { ...from, records: [] };
  });
  expect(await tell(reader)).toEqual(['u may not be read: TOPIC_AUTHORIZATION_FAILED']);
  expect(asked).toEqual(['t-0 7 0', 'u-0 7 0']);
});

test('what else a broker says is none of it, nor that it says nothing of where topics end', async () => {
  const { reader } = readerOf(() => Promise.reject(refusal('NOT_LEADER_FOR_PARTITION')));
  expect(await tell(reader)).toEqual([]);
  expect(await tell({ ...reader, offsets: () => Promise.reject(refusal('REQUEST_TIMED_OUT')) })).toEqual([]);
});

test('what is known when the time is over is told', async () => {
  const clock = makeHandClock(0);
  const { reader } = readerOf((from) =>
    from.topic === 't' ? new Promise(() => {}) : Promise.reject(refusal('TOPIC_AUTHORIZATION_FAILED')),
  );
  const told = unreadableTopics(reader, ['t', 'u'], 1_000, clock);
  await clock.advance(1_000);
  expect(await told).toEqual(['u may not be read: TOPIC_AUTHORIZATION_FAILED']);
});
