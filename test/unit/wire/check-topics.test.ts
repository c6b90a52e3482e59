/**
 * What `check` says of Kafka, from what the brokers tell of the topics and what the relay told of its writes.
 */
import { type AddressInfo, createServer } from 'node:net';
import { loadSettings } from '../../../src/config';
import type { Alert } from '../../../src/model/alert';
import { CheckFailure } from '../../../src/operations/check';
import type { DeclaredKafka, DeclaredTopic } from '../../../src/publish/topics';
import { kafkaSettings } from '../../../src/wire/kafka-settings';
import { checkTopics, heardOf, kafkaFound } from '../../../src/wire/topics';

const topic = (extra: Partial<DeclaredTopic> = {}): DeclaredTopic => ({
  topic: 't.equipment.v1',
  state: 'present',
  partitions: 6,
  replicas: 3,
  leaderless: [],
  code: null,
  below: null,
  unwritable: null,
  ...extra,
});

const refused = 'tramline-relay-0: TRANSACTIONAL_ID_AUTHORIZATION_FAILED';
const alert = (name: string, extra: Partial<Alert> = {}): Alert => ({
  fingerprint: name,
  name,
  severity: 'critical',
  state: 'firing',
  labels: {},
  annotations: { description: refused },
  startsAtMs: 0,
  resolvedAtMs: null,
  returns: 0,
  quietSinceMs: null,
  coversUntilMs: null,
  sent: {},
  ...extra,
});

const kafka = (topics: DeclaredTopic[], extra: Partial<DeclaredKafka> = {}): DeclaredKafka => ({
  topics,
  silent: [],
  faults: [],
  ...extra,
});

const failureOf = (
  topics: DeclaredTopic[],
  alerts: Alert[],
  extra: Partial<DeclaredKafka> = {},
): CheckFailure => {
  try {
    return kafkaFound(kafka(topics, extra), alerts) as never;
  } catch (error) {
    return error as CheckFailure;
  }
};

test('all is well where the topics are there and nobody is told that they are not written', () => {
  const others = [
    alert('TramlineTermsRequired'),
    alert('TramlineKafkaUnavailable', { state: 'resolved', resolvedAtMs: 1 }),
    // Held against flapping: it is written again.
    alert('TramlineTopicDenied', { quietSinceMs: 1 }),
  ];
  expect(kafkaFound(kafka([topic()]), others)).toEqual({ detail: '1 topics are there', next: null });
});

test.each([
  ['missing', 'migrate'],
  ['denied', 'grant'],
] as const)('a topic that is %s fails, and the step says how it is mended', (state, step) => {
  const failure = failureOf([topic({ state }), topic({ topic: 't.other.v1' })], []);
  expect([failure.message, failure.next]).toEqual([
    `t.equipment.v1 is ${state}`,
    expect.stringContaining(step),
  ]);
});

test('what the relay is refused fails, though each topic looks well', () => {
  for (const name of ['TramlineKafkaUnavailable', 'TramlineTopicDenied']) {
    const failure = failureOf([topic()], [alert(name)]);
    expect(failure).toBeInstanceOf(CheckFailure);
    expect([failure.message, failure.next]).toEqual([
      `${name}: ${refused}`,
      expect.stringContaining('grant'),
    ]);
  }
});

test('what the brokers cannot write fails before anybody is told of it, and names where', () => {
  const few = '6 of 6 partitions with 1 in sync, where a write waits for 2';
  const failure = failureOf([topic({ unwritable: few }), topic({ topic: 't.other.v1' })], []);
  expect(failure.message).toBe(`t.equipment.v1 has ${few}`);
});

test('a leader that is not reached fails, though the brokers tell of it well', () => {
  const fault =
    'the broker that leads 12 of 36 partitions is not reached: no connection at b:9 (ECONNREFUSED)';
  const failure = failureOf([topic()], [], { faults: [fault] });
  expect([failure.message, failure.next]).toEqual([fault, expect.stringContaining('advertised.listeners')]);
});

test('a named broker that is mute is told by its name, and fails nothing', () => {
  const found = kafkaFound(kafka([topic()], { silent: ['kafka-1:9092'] }), []);
  expect(found).toEqual({
    detail: 'kafka-1:9092 gave no answer, and another did',
    next: 'Look at that broker, or take it out of KAFKA_BROKERS.',
  });
});

test('files that do not fit are told while all is well with those before, and what is in use may run out', () => {
  const reason = 'KAFKA_KEY_FILE must hold the key of the first certificate in KAFKA_CERT_FILE';
  expect(kafkaFound(kafka([topic()]), [], reason)).toEqual({
    detail: `what the files of certificates and key hold now is not used: ${reason}`,
    next: expect.stringMatching(/^Mend those files: .*run out\.$/),
  });
});

test('a quota that holds the check back is told, with what is not reached, which may be late for it', () => {
  const quota = 'a quota of the brokers held back what this check asked, for 1.9 s in all';
  const shows = expect.stringMatching(
    /^`kafka-configs\.sh .* have whoever owns the brokers give this client more\./,
  );
  expect(kafkaFound(kafka([topic()]), [], null, 999).next).toBeNull();
  expect(kafkaFound(kafka([topic()]), [], null, 1860)).toEqual({ detail: quota, next: shows });
  const faults = ['the broker that leads 12 of 36 partitions is not reached: no answer at b:9'];
  const failure = (() => {
    try {
      return kafkaFound(kafka([topic()], { faults }), [], null, 1860) as never;
    } catch (error) {
      return error as CheckFailure;
    }
  })();
  expect([failure.message, failure.next]).toEqual([`${quota}; ${faults[0]}`, shows]);
});

test('brokers that say nothing are named before the check itself gives up', async () => {
  const brokers = ['kafka-1:9092', 'kafka-2:9092'];
  await expect(heardOf(new Promise(() => {}), brokers, 1)).rejects.toThrow(
    'no answer within 0.001 s from kafka-1:9092, kafka-2:9092',
  );
  await expect(heardOf(Promise.resolve('topics'), brokers, 60_000)).resolves.toBe('topics');
  await expect(heardOf(Promise.reject(new Error('refused')), brokers, 60_000)).rejects.toThrow('refused');
});

test('a broker that closes the connection may want a login: where none is set, its setting is named', async () => {
  const broker = createServer(
    (socket) => void socket.once('data', () => socket.destroy()).on('error', () => {}),
  );
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const brokers = { KAFKA_BROKERS: `127.0.0.1:${(broker.address() as AddressInfo).port}` };
  const login = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' };
  const stepOf = (more: Record<string, string>) =>
    checkTopics(
      kafkaSettings(loadSettings('command', { ...brokers, ...more }).settings)!,
      't',
      async () => [],
    ).catch(({ message, next }: CheckFailure) => [message, next]);
  const [without, known] = await Promise.all([stepOf({}), stepOf(login)]);
  broker.close();
  expect([without, known]).toEqual([
    [
      expect.stringContaining('closed by the broker'),
      expect.stringMatching(/KAFKA_BROKERS.*KAFKA_TLS.*KAFKA_SASL_MECHANISM, which is not set/),
    ],
    [expect.anything(), expect.not.stringContaining('not set')],
  ]);
});
