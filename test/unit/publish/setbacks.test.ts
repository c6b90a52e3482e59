import { kindOf } from '../../../src/publish/classify-error';
import { makeSetbacks } from '../../../src/publish/setbacks';
import { failure } from '../../support/scripted-target';

const options = {
  retry: { baseMs: 100, maxMs: 10_000 },
  denied: { baseMs: 5_000, maxMs: 60_000 },
  conditionAfterMs: 15_000,
  random: () => 0.999,
};
const place = { topic: 't', partition: 1, partitions: 3 };
const other = { ...place, partition: 2 };

test('each failure in a row waits longer, up to a bound, and success forgets them', () => {
  const setbacks = makeSetbacks(options);
  const pauses = [];
  for (let attempt = 0; attempt < 9; attempt += 1) {
    const nowMs = attempt < 6 ? 0 : 15_000;
    setbacks.failed(place, failure('retry', 'NOT_ENOUGH_REPLICAS'), nowMs);
    pauses.push(setbacks.held(nowMs)[0]!.untilMs - nowMs);
  }
  expect(pauses).toEqual([199, 399, 799, 1598, 2497, 2497, 9990, 9990, 9990]);
  setbacks.succeeded(place, 0);
  expect(setbacks.held(0)).toEqual([]);
});

test.each([0.6, 0.75, 0.999])(
  'what heals three seconds before it would be told is tried once more by then, as the dice fall %d',
  (dice) => {
    const setbacks = makeSetbacks({ ...options, random: () => dice });
    let triedMs = 0;
    while (triedMs < 12_000) {
      setbacks.failed(place, failure('retry', 'NOT_ENOUGH_REPLICAS'), triedMs);
      triedMs = setbacks.held(triedMs)[0]!.untilMs;
    }
    expect(triedMs).toBeLessThan(15_000);
  },
);

test('a missing topic is asked for rarely, however the dice fall', () => {
  const setbacks = makeSetbacks({ ...options, random: () => 0 });
  setbacks.failed(place, failure('missing', 'UNKNOWN_TOPIC_OR_PARTITION'), 1_000);
  expect(setbacks.held(5_999)).toMatchObject([{ ...place, untilMs: 6_000 }]);
  expect(setbacks.held(6_000)).toEqual([]);
});

test('what was troubled of another number of partitions is forgotten once one of the new number is written', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('retry', 'PARTITIONS_CHANGED'), 0);
  setbacks.failed({ ...place, partitions: 8 }, failure('missing', 'UNKNOWN_TOPIC_OR_PARTITION'), 0);
  setbacks.failed({ ...place, topic: 'u' }, failure('retry', 'NOT_ENOUGH_REPLICAS'), 0);
  setbacks.succeeded({ ...place, partition: 4, partitions: 6 }, 0);
  expect(setbacks.conditions(60_000)).toMatchObject([{ detail: expect.stringMatching(/^u-1 cannot/) }]);
  setbacks.failed({ ...place, partitions: 6 }, failure('retry', 'NOT_ENOUGH_REPLICAS'), 0);
  setbacks.succeeded({ ...place, partition: 4, partitions: 6 }, 0);
  expect(setbacks.held(0)).toHaveLength(2);
});

test('partitions are set aside one by one', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('retry', 'NOT_LEADER_FOR_PARTITION'), 0);
  setbacks.failed(other, failure('missing', 'UNKNOWN_TOPIC_OR_PARTITION'), 0);
  expect(setbacks.held(1_000)).toMatchObject([other]);
});

test('a topic that is denied is set aside whole, once for all partitions that say so, until one of them succeeds', () => {
  const setbacks = makeSetbacks(options);
  const denied = failure('denied', 'TOPIC_AUTHORIZATION_FAILED');
  const whole = { topic: 't', partition: 0, partitions: 1 };
  for (const nowMs of [0, 1]) for (const one of [place, other]) setbacks.failed(one, denied, nowMs);
  expect(setbacks.held(4_999)).toMatchObject([{ ...whole, attempts: 1 }]);
  for (const one of [place, other]) setbacks.failed(one, denied, 10_000);
  expect(setbacks.held(10_000)).toMatchObject([{ ...whole, attempts: 2, sinceMs: 0 }]);
  setbacks.succeeded({ ...place, partition: 0 }, 0);
  expect(setbacks.held(10_000)).toEqual([]);
  expect(setbacks.conditions(10_000)).toEqual([]);
});

test('a topic that is missing says what is left to do when it is there again, with the command for its kind', () => {
  const whenOverOf = (topic: string, ...failed: Parameters<typeof failure>) => {
    const setbacks = makeSetbacks(options);
    setbacks.failed({ topic, partition: 0, partitions: 1 }, failure(...failed), 0);
    return setbacks.conditions(0).map(({ whenOver }) => whenOver);
  };
  const missing = ['missing', 'UNKNOWN_TOPIC_OR_PARTITION'] as const;
  expect(whenOverOf('farm.field-operation.v1', ...missing)).toEqual([
    'A topic that was made anew holds only what was sent since: `tramline replay --kind field-operation` sends the newest event of each key there.',
  ]);
  expect(whenOverOf('farm.field-operation.v1', 'denied', 'TOPIC_AUTHORIZATION_FAILED')).toEqual([undefined]);
});

describe('a topic that is denied by some of its brokers', () => {
  const denied = failure('denied', 'TOPIC_AUTHORIZATION_FAILED');
  const whole = { topic: 't', partition: 0, partitions: 1 };
  const beside = () => {
    const setbacks = makeSetbacks(options);
    setbacks.failed(place, denied, 0, 0, true);
    return setbacks;
  };

  test('is set aside by partition where another was written in the same send, and told so', () => {
    const setbacks = beside();
    expect(setbacks.held(0)).toMatchObject([place]);
    expect(setbacks.conditions(0)).toEqual([
      {
        name: 'topic-denied',
        labels: { topic: 't' },
        sinceMs: 0,
        detail: 't-1 cannot be written: TOPIC_AUTHORIZATION_FAILED. Its events are kept and wait.',
      },
    ]);
    setbacks.failed(other, denied, 1, 1, true);
    expect(setbacks.conditions(1)).toMatchObject([
      {
        detail:
          't-1 and 1 more partition cannot be written: TOPIC_AUTHORIZATION_FAILED. Their events are kept and wait.',
      },
    ]);
  });

  test('stays so where the next send has nothing for the others, and waits longer each time', () => {
    const setbacks = beside();
    setbacks.failed(place, denied, 60_000);
    expect(setbacks.held(60_000)).toMatchObject([{ ...place, attempts: 2, sinceMs: 0 }]);
  });

  test('is set aside whole as soon as another is refused and none is written, since the first was', () => {
    const setbacks = beside();
    for (const one of [place, other]) setbacks.failed(one, denied, 60_000);
    expect(setbacks.held(60_000)).toMatchObject([{ ...whole, sinceMs: 0 }]);
    for (const one of [place, other]) setbacks.failed(one, denied, 120_000);
    expect(setbacks.held(120_000)).toMatchObject([{ ...whole, attempts: 2, sinceMs: 0 }]);
    expect(setbacks.conditions(120_000)).toMatchObject([
      { detail: expect.stringMatching(/^Nothing can be written to topic t: /) },
    ]);
  });

  test('stays so where a broker would not say of which partitions it is, which holds it whole for a while', () => {
    const setbacks = beside();
    setbacks.failed(whole, denied, 60_000);
    expect(setbacks.held(60_000)).toMatchObject([whole]);
    setbacks.failed(place, denied, 70_000);
    expect(setbacks.held(70_000)).toMatchObject([{ ...place, attempts: 2 }]);
    setbacks.drained(70_000, []);
    expect(setbacks.conditions(70_000)).toMatchObject([
      { sinceMs: 0, detail: expect.stringMatching(/^t-1 cannot be written: /) },
    ]);
  });

  test('is told since it was set aside whole where one send wrote the others, and anew where that was another', () => {
    for (const [beganMs, sinceMs] of [
      [60_000, 0],
      [61_000, 61_000],
    ] as const) {
      const setbacks = makeSetbacks(options);
      for (const one of [place, other]) setbacks.failed(one, denied, 0);
      for (const partition of [0, 2]) setbacks.succeeded({ ...place, partition }, 60_500);
      setbacks.failed(place, denied, 61_000, beganMs, true);
      expect(setbacks.held(61_000)).toMatchObject([place]);
      expect(setbacks.conditions(61_000)).toMatchObject([{ name: 'topic-denied', sinceMs }]);
    }
  });

  test('is told as denied whole where all its partitions were refused one by one', () => {
    const setbacks = beside();
    for (const partition of [0, 2]) setbacks.failed({ ...place, partition }, denied, partition, 0, true);
    expect(setbacks.conditions(2)).toMatchObject([
      { detail: expect.stringMatching(/^Nothing can be written to topic t: /) },
    ]);
  });
});

test('what one broker refuses to all holds no partition of another', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('denied', 'SASL_AUTHENTICATION_FAILED'), 0);
  expect(setbacks.held(0)).toMatchObject([place]);
});

test.each([
  'SASL_AUTHENTICATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'INVALID_REQUIRED_ACKS',
  'CERT_HAS_EXPIRED',
])(
  'what is refused to the client and not to a topic, %s, is of Kafka, told once and when it lasts, and tried again rarely',
  (code) => {
    const setbacks = makeSetbacks(options);
    for (const one of [place, { ...other, topic: 'u' }])
      setbacks.failed(one, failure('denied', code), 1_000, 0);
    expect(setbacks.held(5_999)).toHaveLength(2);
    expect(setbacks.conditions(14_999)).toEqual([]);
    const detail = `t-1 and 1 more partition cannot be written: ${code} was said.`;
    expect(setbacks.conditions(15_000)).toEqual([{ name: 'kafka-unavailable', sinceMs: 0, detail }]);
    expect(setbacks.unavailable()).toEqual({ sinceMs: 0, detail });
  },
);

test.each([
  ['INVALID_TIMESTAMP', 0],
  ['POLICY_VIOLATION', null],
  ['UNSUPPORTED_FOR_MESSAGE_FORMAT', null],
])(
  'what the settings of one topic refuse, %s, is told of that topic at once, and nobody stands back for it unless it is the time',
  (code, untimelySinceMs) => {
    const setbacks = makeSetbacks(options);
    setbacks.failed(place, failure(kindOf(code), code), 1_000, 0, true);
    expect(setbacks.held(1_000)).toMatchObject([place]);
    expect(setbacks.conditions(20_000)).toEqual([
      {
        name: 'topic-denied',
        labels: { topic: 't' },
        sinceMs: 0,
        detail: `t-1 cannot be written: ${code}. Its events are kept and wait.`,
      },
    ]);
    expect(setbacks.unavailable()).toBeNull();
    expect(setbacks.untimelySinceMs()).toBe(untimelySinceMs);
    setbacks.succeeded(place, 2_000);
    expect(setbacks.untimelySinceMs()).toBeNull();
  },
);

test('a topic that is denied is a condition at once, one for the topic, since its first failure', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('denied', 'TOPIC_AUTHORIZATION_FAILED'), 1_000);
  setbacks.failed(other, failure('denied', 'TOPIC_AUTHORIZATION_FAILED'), 2_000);
  setbacks.failed(other, failure('denied', 'TOPIC_AUTHORIZATION_FAILED'), 9_000);
  expect(setbacks.conditions(9_000)).toEqual([
    {
      name: 'topic-denied',
      labels: { topic: 't' },
      sinceMs: 1_000,
      detail: 'Nothing can be written to topic t: TOPIC_AUTHORIZATION_FAILED. Its events are kept and wait.',
    },
  ]);
});

test('what may heal by itself is a condition only when it lasts', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('retry', 'NOT_ENOUGH_REPLICAS'), 1_000);
  expect(setbacks.conditions(15_999)).toEqual([]);
  expect(setbacks.conditions(16_000)).toEqual([
    {
      name: 'kafka-unavailable',
      sinceMs: 1_000,
      detail: 't-1 cannot be written: NOT_ENOUGH_REPLICAS was said.',
    },
  ]);
  setbacks.failed(other, failure('retry', 'NOT_ENOUGH_REPLICAS'), 500);
  expect(setbacks.conditions(16_000)).toMatchObject([
    { sinceMs: 500, detail: 't-1 and 1 more partition cannot be written: NOT_ENOUGH_REPLICAS was said.' },
  ]);
});

test('when nothing is left to send, troubles that are over are forgotten and held ones are not', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('denied', 'TOPIC_AUTHORIZATION_FAILED'), 0);
  setbacks.failed({ ...place, topic: 'u' }, failure('denied', 'TOPIC_AUTHORIZATION_FAILED'), 60_000);
  setbacks.drained(60_000, []);
  expect(setbacks.conditions(60_000)).toMatchObject([{ labels: { topic: 'u' } }]);
});

test('what is held elsewhere beside is as troubled as before when nothing else is left to send', () => {
  const setbacks = makeSetbacks(options);
  setbacks.failed(place, failure('retry', 'NOT_ENOUGH_REPLICAS'), 0);
  setbacks.drained(60_000, [place]);
  expect(setbacks.conditions(60_000)).toMatchObject([{ name: 'kafka-unavailable', sinceMs: 0 }]);
  setbacks.drained(60_000, [{ ...place, partition: place.partition + 1 }]);
  expect(setbacks.conditions(60_000)).toEqual([]);
});
