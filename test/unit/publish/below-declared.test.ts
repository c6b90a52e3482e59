// Whoever counts on three copies must hear that there are two: a topic is held against its declaration in counts.
import { belowDeclared } from '../../../src/publish/topics';

const declared = { replicationFactor: 3, config: { 'min.insync.replicas': '2' } };

test.each([
  [{ replicas: 3, minInSync: 2, brokers: 3 }, null],
  [{ replicas: 4, minInSync: 3, brokers: 5 }, null],
  [{ replicas: 3, minInSync: null, brokers: 3 }, null],
  [{ replicas: 2, minInSync: 2, brokers: 2 }, '2 replicas of 3 declared: the cluster has 2 brokers'],
  [{ replicas: 2, minInSync: null, brokers: 3 }, '2 replicas of 3 declared'],
  [
    { replicas: 1, minInSync: 1, brokers: 1 },
    '1 replica of 3 declared and min.insync.replicas 1 of 2 declared: the cluster has 1 broker',
  ],
  [{ replicas: 3, minInSync: 1, brokers: 3 }, 'min.insync.replicas 1 of 2 declared'],
])('%j is held against three replicas of which two are in sync', (copies, below) => {
  expect(belowDeclared(copies, declared)).toBe(below);
});

test('a declaration without a least number in sync asks for one', () => {
  expect(
    belowDeclared({ replicas: 1, minInSync: 1, brokers: 1 }, { replicationFactor: 1, config: {} }),
  ).toBeNull();
});
