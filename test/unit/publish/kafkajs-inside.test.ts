afterEach(() => {
  jest.resetModules();
  jest.dontMock('kafkajs/package.json');
  jest.dontMock('kafkajs');
});

test('a process that has no brokers does not load kafkajs', () => {
  jest.doMock('kafkajs', () => {
    throw new Error('loaded');
  });
  const { errorName } = require('../../../src/publish/kafkajs-inside');
  expect(errorName(0)).toBeNull();
  expect(() => errorName(3)).toThrow('loaded');
});

test('another kafkajs is refused, since everything rests on the inside of this one', () => {
  jest.doMock('kafkajs/package.json', () => ({ version: '2.3.0' }));
  const { errorName, makeAdministrator } = require('../../../src/publish/kafkajs-inside');
  const refusal = expect.objectContaining({
    code: 'publish.refused',
    message: 'kafkajs 2.3.0 is installed where 2.2.4 is needed',
  });
  expect(() => makeAdministrator({ brokers: ['127.0.0.1:1'] })).toThrow(refusal);
  expect(() => errorName(3)).toThrow(refusal);
});

test('error codes have the names that Kafka gives them', () => {
  const { errorName } = require('../../../src/publish/kafkajs-inside');
  expect([0, 3, 47, 90].map(errorName)).toEqual([
    null,
    'UNKNOWN_TOPIC_OR_PARTITION',
    'INVALID_PRODUCER_EPOCH',
    'PRODUCER_FENCED',
  ]);
});

test('an empty queue arms no timer, and one in which something waits does', () => {
  const { errorName } = require('../../../src/publish/kafkajs-inside');
  errorName(1);
  const RequestQueue = require('kafkajs/src/network/requestQueue');
  const logger = { debug: () => {} };
  const queue = new RequestQueue({
    maxInFlightRequests: 1,
    requestTimeout: 1,
    clientId: 'c',
    broker: 'b',
    logger,
  });
  queue.scheduleCheckPendingRequests();
  expect(queue.throttleCheckTimeoutId).toBeNull();
  queue.pending.push({});
  queue.scheduleCheckPendingRequests();
  expect(queue.throttleCheckTimeoutId).not.toBeNull();
  queue.destroy();
});

test('for how long an answer holds back what is asked next is told to whoever made the cluster', async () => {
  const { makeInnerCluster } = require('../../../src/publish/kafkajs-inside');
  const config = { brokers: ['127.0.0.1:1'], retry: {}, metadataMaxAge: 1, connectionTimeout: 1 };
  const told: number[] = [];
  const { brokerPool } = makeInnerCluster(config, (forMs: number) => void told.push(forMs));
  const [connection] = (await brokerPool.connectionPoolBuilder.build()).pool;
  for (const forMs of [null, undefined, 0, 700]) connection.requestQueue.maybeThrottle(forMs);
  expect(told).toEqual([700]);
  expect(connection.requestQueue.canSendSocketRequestImmediately()).toBe(false);
});

test('an answer for many topics or partitions is handed over as it came, whatever it says of one', async () => {
  const { makeInnerCluster } = require('../../../src/publish/kafkajs-inside');
  const config = { brokers: ['127.0.0.1:1'], retry: {}, metadataMaxAge: 1, connectionTimeout: 1 };
  const { brokerPool } = makeInnerCluster(config);
  const partitions = [5, 0].map((errorCode, partition) => ({ partition, errorCode, offset: '7' }));
  const answer = { responses: [{ topic: 't', partitions }], topicMetadata: [], brokers: [] };
  // As kafkajs's own answers do.
  const parse = async () => Promise.reject(new Error('the first error in it'));
  const send = ({ response }: { response: { parse(data: unknown): unknown } }) => response.parse(answer);
  const broker = brokerPool.createBroker({ connectionPool: { send }, logger: brokerPool.rootLogger });
  broker.lookupRequest = () => () => ({ request: {}, response: { parse } });
  expect(await broker.listOffsets({ replicaId: -1, isolationLevel: 0, topics: [] })).toEqual(answer);
  expect(await broker.metadata(['t'])).toEqual(answer);
});

test('brokers that are too old for the requests written here are refused', async () => {
  const { makeInnerCluster } = require('../../../src/publish/kafkajs-inside');
  const config = { brokers: ['127.0.0.1:1'], retry: {}, metadataMaxAge: 1, connectionTimeout: 1 };
  const { brokerPool } = makeInnerCluster(config);
  const broker = brokerPool.createBroker({
    connectionPool: await brokerPool.connectionPoolBuilder.build(),
    logger: brokerPool.rootLogger,
    versions: {},
  });
  broker.lookupRequest = () => () => ({ request: { apiVersion: 5 }, response: {} });
  await expect(broker.produce({})).rejects.toMatchObject({ code: 'publish.refused' });
});
