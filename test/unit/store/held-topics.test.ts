import { divideHeld } from '../../../src/store/held-topics';

const partitionsOf = (topic: string, partitions: number, held: number[]) =>
  held.map((partition) => ({ topic, partition, partitions }));

test('a topic is held whole where each of its partitions is, or all as one', () => {
  const held = [
    ...partitionsOf('each', 3, [2, 0, 1]),
    ...partitionsOf('some', 3, [0, 2]),
    ...partitionsOf('as one', 1, [0]),
  ];
  expect(divideHeld(held)).toEqual({
    topics: ['each', 'as one'],
    partitions: partitionsOf('some', 3, [0, 2]),
  });
});

test('a partition that is held twice is one, and partitions of another count are others', () => {
  const held = [...partitionsOf('t', 3, [0, 1, 1]), ...partitionsOf('t', 4, [2, 3])];
  expect(divideHeld(held)).toEqual({ topics: [], partitions: held });
});

test('what is held of a topic that is held whole is said once', () => {
  const held = [...partitionsOf('t', 3, [1]), ...partitionsOf('t', 1, [0])];
  expect(divideHeld(held)).toEqual({ topics: ['t'], partitions: [] });
});
