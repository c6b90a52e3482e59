// Goal: what was acknowledged is told to the store once, with its places, or again until that has it.
// Method: a store that keeps what it is told, and fails when the test says so.
import type { Acknowledgement } from '../../../src/model/event';
import { makeMarks } from '../../../src/publish/marks';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';

const leader = { name: 'relay-0', holder: 'me', ends: [] };

function setUp() {
  const outbox = makeMemoryOutbox(makeHandClock(0));
  const told: [rows: string[], again: boolean | undefined, ...passed: number[]][] = [];
  const state = { away: false };
  let nth = 0;
  outbox.markSent = async (acknowledgements, lease, again, passed = []) => {
    expect(lease).toBe(leader);
    told.push([acknowledgements.map(placeOf), again, ...passed]);
    if (state.away) throw new Error('away');
  };
  const marks = makeMarks(outbox);
  const acknowledge = (firstOffset: string | null, rows: number, keys: string[] = []) => {
    const batch = { topic: 't', partition: 2, partitions: 3 };
    const added = Array.from({ length: rows }, () =>
      outbox.add({ topic: 't', key: keys.shift() ?? `k${nth++}` }),
    );
    marks.acknowledged({ ...batch, rows: added }, { sent: true, firstOffset });
  };
  return { marks, told, state, acknowledge };
}

const placeOf = ({ row, partition, offset }: Acknowledgement) => `${row} at ${partition}/${offset}`;
const endAt = (nextOffset: string) => ({ topic: 't', partition: 2, nextOffset });

test('rows of a batch stand one behind the other, and the topic goes on behind the last', async () => {
  const { marks, told, acknowledge } = setUp();
  acknowledge('9007199254740993', 2);
  expect(await marks.write(leader)).toEqual([endAt('9007199254740995')]);
  acknowledge('9007199254740995', 1);
  expect(await marks.write(leader)).toEqual([endAt('9007199254740996')]);
  expect(await marks.write(leader)).toEqual([]);
  expect(told).toEqual([
    [['1 at 2/9007199254740993', '2 at 2/9007199254740994'], false],
    [['3 at 2/9007199254740995'], false],
  ]);
});

test('what has no place in Kafka takes no topic further', async () => {
  const { marks, told, acknowledge } = setUp();
  acknowledge(null, 1);
  expect(await marks.write(leader)).toEqual([]);
  expect(told).toEqual([[['1 at null/null'], false]]);
});

test('what the store did not take is told again, as that, and what comes after is told as new', async () => {
  const { marks, told, state, acknowledge } = setUp();
  acknowledge('4', 1);
  state.away = true;
  await expect(marks.write(leader)).rejects.toThrow('away');
  state.away = false;
  expect(await marks.write(leader)).toEqual([endAt('5')]);
  acknowledge('5', 1);
  await marks.write(leader);
  expect(told).toEqual([
    [['1 at 2/4'], false],
    [['1 at 2/4'], true],
    [['2 at 2/5'], false],
  ]);
});

test('whoever does not lead any more tells nothing of it, and how far the topic went is forgotten with it', async () => {
  const { marks, told, state, acknowledge } = setUp();
  acknowledge('4', 1);
  state.away = true;
  await expect(marks.write(leader)).rejects.toThrow('away');
  marks.forget();
  state.away = false;
  expect(await marks.write(leader)).toEqual([]);
  acknowledge('0', 1);
  expect(await marks.write(leader)).toEqual([endAt('1')]);
  expect(told.at(-1)).toEqual([['2 at 2/0'], false]);
});

test('what was told and not answered stays apart from what was acknowledged since', async () => {
  const { marks, told, state, acknowledge } = setUp();
  acknowledge('4', 1);
  state.away = true;
  const first = marks.write(leader);
  acknowledge('5', 1);
  await expect(first).rejects.toThrow('away');
  state.away = false;
  expect(await marks.write(leader)).toEqual([endAt('5'), endAt('6')]);
  expect(told).toEqual([
    [['1 at 2/4'], false],
    [['1 at 2/4'], true],
    [['2 at 2/5'], false],
  ]);
});

test('it is said which rows something newer of their key has passed: left unsent they would go out behind that', async () => {
  const { marks, told, state, acknowledge } = setUp();
  acknowledge('4', 3, ['a', 'b', 'c']);
  state.away = true;
  const first = marks.write(leader);
  acknowledge('7', 2, ['b', 'd']);
  await expect(first).rejects.toThrow('away');
  state.away = false;
  expect(await marks.write(leader)).toEqual([endAt('7'), endAt('9')]);
  expect(told.slice(1)).toEqual([
    [['1 at 2/4', '2 at 2/5', '3 at 2/6'], true, 2],
    [['4 at 2/7', '5 at 2/8'], false],
  ]);
});

test('who ceases to lead while the store is told hears of no end, and keeps what is acknowledged after that', async () => {
  const { marks, told, acknowledge } = setUp();
  acknowledge('4', 1);
  const first = marks.write(leader);
  marks.forget();
  acknowledge('0', 1);
  expect(await first).toEqual([]);
  expect(await marks.write(leader)).toEqual([endAt('1')]);
  expect(told.at(-1)).toEqual([['2 at 2/0'], false]);
});
