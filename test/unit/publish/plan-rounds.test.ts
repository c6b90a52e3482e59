import { type OutboxRow, recordBytes, slotOf } from '../../../src/model/event';
import { groupByPartition, planRounds } from '../../../src/publish/plan-rounds';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import fc from '../../support/properties';

function rowsOf(keys: { topic: string; key: string; bytes?: number }[]): OutboxRow[] {
  const outbox = makeMemoryOutbox(makeHandClock(0));
  return keys.map(({ topic, key, bytes }) => outbox.add({ topic, key, value: 'v'.repeat(bytes ?? 10) }));
}

const anyRows = fc
  .array(
    fc.record({
      topic: fc.constantFrom('a', 'b'),
      key: fc.constantFrom('1/equipment/1', '1/equipment/2', '2/equipment/3', '2/equipment/4'),
      bytes: fc.integer({ min: 0, max: 3_000 }),
    }),
    { maxLength: 60 },
  )
  .map(rowsOf);

test('every row is sent once, those of a partition in their order, in its partition, within its bounds', () => {
  const partitionsOf = new Map([
    ['a', 3],
    ['b', 1],
  ]);
  fc.assert(
    fc.property(
      anyRows,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 5_000 }),
      (rows, rowsMax, bytes) => {
        const groups = groupByPartition(rows, partitionsOf);
        const rounds = [...planRounds(groups, { partitionBytesMax: bytes, rowsMax: () => rowsMax })];
        const sent = new Map<string, number[]>();
        for (const batch of rounds.flat()) {
          expect(batch.rows.length).toBeLessThanOrEqual(rowsMax);
          const sum = batch.rows.reduce((total, row) => total + recordBytes(row), 0);
          expect(batch.rows.length === 1 || sum <= bytes).toBe(true);
          for (const row of batch.rows) {
            expect([row.topic, slotOf(row.key) % batch.partitions]).toEqual([batch.topic, batch.partition]);
          }
          const place = `${batch.topic}/${batch.partition}`;
          sent.set(place, [...(sent.get(place) ?? []), ...batch.rows.map(({ row }) => row)]);
        }
        const numbers = [...sent.values()];
        for (const ofPartition of numbers) expect(ofPartition).toEqual(ofPartition.toSorted((x, y) => x - y));
        expect(numbers.flat().toSorted((x, y) => x - y)).toEqual(rows.map(({ row }) => row));
        for (const round of rounds) {
          expect(new Set(round.map(({ topic, partition }) => `${topic}/${partition}`)).size).toBe(
            round.length,
          );
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('500 records of 10 kB go in several sends where one partition takes a megabyte at a time', () => {
  const rows = rowsOf(Array.from({ length: 500 }, () => ({ topic: 'a', key: 'k', bytes: 10_000 })));
  const groups = groupByPartition(rows, new Map([['a', 1]]));
  const rounds = [...planRounds(groups, { partitionBytesMax: 917_504, rowsMax: () => 500 })];
  expect(rounds.map(([batch]) => batch?.rows.length)).toEqual([87, 87, 87, 87, 87, 65]);
});

test('a topic whose partitions are not known is one partition', () => {
  const [group] = groupByPartition(rowsOf([{ topic: 'a', key: 'k' }]), new Map());
  expect(group).toMatchObject({ topic: 'a', partition: 0, partitions: 1 });
});

test('a row that is likely to be refused goes alone, and those beside it as before', () => {
  const sizes = [10, 900, 10, 10, 900, 900, 10];
  const rows = rowsOf(sizes.map((bytes) => ({ topic: 'a', key: '1/equipment/1', bytes })));
  const groups = groupByPartition(rows, new Map([['a', 1]]));
  const aloneBytesMin = recordBytes(rows[1] as OutboxRow);
  const rounds = [...planRounds(groups, { partitionBytesMax: 5_000, rowsMax: () => 9, aloneBytesMin })];
  expect(rounds.map(([batch]) => batch?.rows.length)).toEqual([1, 1, 2, 1, 1, 1]);
});
