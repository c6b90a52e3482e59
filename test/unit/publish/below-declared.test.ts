// Whoever counts on three copies must hear that there are two: a topic is held against its declaration in counts.
import { belowDeclared, unlikeDeclared } from '../../../src/publish/topics';

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

test.each([
  [{}, null],
  [{ 'max.message.bytes': '1048588', 'cleanup.policy': 'compact' }, null],
  [{ 'max.message.bytes': '1000000' }, 'max.message.bytes 1000000 of 1048576 declared'],
  [{ 'cleanup.policy': 'delete' }, 'cleanup.policy delete where compact is declared'],
  [
    { 'max.message.bytes': '1', 'cleanup.policy': 'compact,delete' },
    'max.message.bytes 1 of 1048576 declared and cleanup.policy compact,delete where compact is declared',
  ],
  [{ 'unclean.leader.election.enable': 'false' }, null],
  [
    { 'unclean.leader.election.enable': 'true' },
    'unclean.leader.election.enable true where false is declared',
  ],
])('%j is held against a size, a policy and what may be lost', (told, unlike) => {
  const config = {
    'max.message.bytes': '1048576',
    'cleanup.policy': 'compact',
    'unclean.leader.election.enable': 'false',
  };
  expect(unlikeDeclared(new Map(Object.entries(told)), config)).toBe(unlike);
  expect(unlikeDeclared(new Map(Object.entries(told)), {})).toBeNull();
});
