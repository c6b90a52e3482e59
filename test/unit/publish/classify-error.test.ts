import { describeError, doubtOf, healsInAMoment, kindOf } from '../../../src/publish/classify-error';

// kafkajs's own classes, as they are thrown.
const errors = require('kafkajs/src/errors');
const { createErrorFromCode } = require('kafkajs/src/protocol/error');

test.each([
  ['MESSAGE_TOO_LARGE', 'too-large'],
  ['RECORD_LIST_TOO_LARGE', 'too-large'],
  ['INVALID_RECORD', 'refused'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 'missing'],
  ['TOPIC_AUTHORIZATION_FAILED', 'denied'],
  ['SASL_AUTHENTICATION_FAILED', 'denied'],
  ['CERT_HAS_EXPIRED', 'denied'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'denied'],
  ['NOT_ENOUGH_REPLICAS', 'retry'],
  ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'retry'],
  ['REQUEST_TIMED_OUT', 'retry'],
  ['NOT_LEADER_FOR_PARTITION', 'retry'],
  ['KAFKA_STORAGE_ERROR', 'retry'],
  ['SOMETHING_OF_TOMORROW', 'retry'],
])('%s asks for: %s', (code, kind) => {
  expect(kindOf(code)).toBe(kind);
});

test.each(['INVALID_PRODUCER_EPOCH', 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID'])(
  'B7: %s asks for a new producer',
  (code) => {
    expect(kindOf(code)).toBe('fenced');
  },
);

test('only moved leadership and broken connections heal in a moment', () => {
  expect(['NOT_LEADER_FOR_PARTITION', 'CONNECTION', 'NETWORK_EXCEPTION'].every(healsInAMoment)).toBe(true);
  expect(['NOT_ENOUGH_REPLICAS', 'TIMED_OUT', 'MESSAGE_TOO_LARGE'].some(healsInAMoment)).toBe(false);
});

test('the name that counts is found under errors that call themselves not retriable', () => {
  const inner = createErrorFromCode(19);
  const outer = new errors.KafkaJSNumberOfRetriesExceeded(inner, { retryCount: 5, retryTime: 1 });
  const outermost = new errors.KafkaJSNonRetriableError(outer, { cause: outer });
  expect(outermost.retriable).toBe(false);
  expect(describeError(outermost)).toEqual({ code: 'NOT_ENOUGH_REPLICAS', detail: 'NOT_ENOUGH_REPLICAS' });
});

test('a failed connection names the broker and the reason', () => {
  const error = new errors.KafkaJSConnectionError('Connection error: …', {
    broker: 'b1:9092',
    code: 'ECONNREFUSED',
  });
  const wrapped = new errors.KafkaJSNumberOfRetriesExceeded(error, { retryCount: 1, retryTime: 1 });
  expect(describeError(wrapped)).toEqual({
    code: 'CONNECTION',
    detail: 'no connection at b1:9092 (ECONNREFUSED)',
  });
  const closed = new errors.KafkaJSConnectionClosedError('Closed connection', { host: 'b2', port: 1 });
  expect(describeError(closed)).toEqual({
    code: 'CONNECTION',
    detail: 'no connection at b2:1 (closed by the broker)',
  });
});

test('a broker that is asked before it is connected is a failed connection', async () => {
  const Broker = require('kafkajs/src/broker');
  const logger = { namespace: () => ({ debug() {}, error() {} }) };
  const asking = new Broker({ connectionPool: {}, logger }).metadata(['t']);
  const error = await asking.catch((thrown: unknown) => thrown);
  const wrapped = new errors.KafkaJSNonRetriableError(error, { cause: error });
  expect(describeError(wrapped)).toEqual({ code: 'CONNECTION', detail: 'no connection' });
});

test('a failed connection without a code is told in its own words', () => {
  const error = new errors.KafkaJSConnectionError('Failed to connect: key values mismatch', {
    broker: 'b1:9093',
  });
  expect(describeError(error)).toEqual({
    code: 'CONNECTION',
    detail: 'no connection at b1:9093 (Failed to connect: key values mismatch)',
  });
});

test.each([
  ['SASL_AUTHENTICATION_FAILED', 'login'],
  ['UNSUPPORTED_SASL_MECHANISM', 'login'],
  ['ILLEGAL_SASL_STATE', 'login'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'certificates'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'certificates'],
  ['CONNECTION', 'brokers'],
  ['SOMETHING_OF_TOMORROW', 'brokers'],
])('%s puts in doubt: %s', (code, doubt) => {
  expect(doubtOf(code)).toBe(doubt);
});

test('a certificate that is not trusted is told from a broker that is away', () => {
  const error = new errors.KafkaJSConnectionError('…', { broker: 'b1:9093', code: 'CERT_HAS_EXPIRED' });
  expect(describeError(error)).toEqual({
    code: 'CERT_HAS_EXPIRED',
    detail: 'no connection at b1:9093 (CERT_HAS_EXPIRED)',
  });
});

test('a refused login says nothing that the broker said', () => {
  const error = new errors.KafkaJSSASLAuthenticationError('SASL PLAIN authentication failed: hunter2');
  expect(describeError(error)).toEqual({
    code: 'SASL_AUTHENTICATION_FAILED',
    detail: 'the login was refused',
  });
});

test('a request without an answer has timed out', () => {
  const error = new errors.KafkaJSRequestTimeoutError('Request … timed out', { broker: 'b1:9092' });
  expect(describeError(error)).toEqual({ code: 'TIMED_OUT', detail: 'no answer at b1:9092' });
});

test('of several errors the first counts', () => {
  const error = new errors.KafkaJSAggregateError('Topic creation errors', [createErrorFromCode(38)]);
  expect(describeError(error).code).toBe('INVALID_REPLICATION_FACTOR');
});

test.each([
  [new TypeError('x'), 'TypeError'],
  ['text', 'UNKNOWN'],
  [null, 'UNKNOWN'],
  [{}, 'UNKNOWN'],
])('anything else thrown has a code too: %p', (thrown, code) => {
  expect(describeError(thrown).code).toBe(code);
});
