// Goal: store, publisher and every other Kafka client put a key into the same partition. kafkajs's default partitioner,
// which agrees with the Java client, is the oracle.
import { Partitioners } from 'kafkajs';
import { slotOf } from '../../../src/model/event';
import fc from '../../support/properties';

function partitionByKafkajs(key: string, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 1,
    replicas: [1],
    isr: [1],
  }));
  const partition = Partitioners.DefaultPartitioner();
  return partition({ topic: 't', partitionMetadata, message: { key, value: null } });
}

test('a slot leads to the partition that other clients choose', () => {
  const keys = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.uuid());
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 200 }), (key, partitions) => {
      fc.pre(key.isWellFormed());
      expect(slotOf(key) % partitions).toBe(partitionByKafkajs(key, partitions));
    }),
    { numRuns: 500 },
  );
});

test('a slot is a whole number of 31 bits, known for known keys', () => {
  expect([slotOf(''), slotOf('21'), slotOf('foobar')]).toEqual([
    275646681,
    -973932308 & 0x7fffffff,
    -790332482 & 0x7fffffff,
  ]);
});
