/**
 * What the cluster tells of partitions that cannot be written, in words.
 */
import { unwritable } from '../../../src/publish/topics';

const well = { leader: 1, replicas: 3, inSync: 3 };
const alone = { leader: 1, replicas: 3, inSync: 1 };
const unled = { leader: -1, replicas: 3, inSync: 0 };

test.each([
  [[well, { ...well, inSync: 2 }], 2, null],
  [[well, alone], 2, '1 of 2 partitions with 1 in sync, where a write waits for 2'],
  [[unled], null, '1 of 1 partition without a leader'],
  [
    [well, unled, alone, alone],
    2,
    '1 of 4 partitions without a leader and 2 of 4 partitions with 1 in sync, where a write waits for 2',
  ],
  // Whoever may not ask for the setting is told of what it sees.
  [[alone], null, null],
  [[], 2, null],
])('%j with at least %p in sync: %p', (partitions, minInSync, said) => {
  expect(unwritable(partitions, minInSync)).toBe(said);
});
