// Goal: while Kafka is away one relay leads and tells it, since when it began, however short its lease is beside its pauses.
// Method: two relays on one outbox in memory, targets that follow a script, a clock that is moved by hand.
import { Problem } from '../../../src/model/problem';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, failure, makeScriptedTarget } from '../../support/scripted-target';

const leaseMs = 8_000;
const beganMs = 1_000_000;

function setUp(toldBefore = relayDefaults.toldBefore, random = () => 0.999) {
  const clock = makeHandClock(beganMs);
  const outbox = makeMemoryOutbox(clock);
  outbox.add({ topic: 't', key: 'a' });
  const relayOf = (holder: string) => {
    const target = makeScriptedTarget();
    const options = { ...relayDefaults, leaseMs, random, clock, holder };
    return { target, relay: makeRelay(outbox, target, { ...options, toldBefore }) };
  };
  return { clock, outbox, first: relayOf('first'), second: relayOf('second') };
}

/** What is told of Kafka by whoever led before. */
const toldAway = async () => ({ kafkaSinceMs: beganMs, topics: [] });

const away = (code: 'publish.unavailable' | 'publish.refused') =>
  Array.from({ length: 500 }, () => new Problem(code, 'Kafka gave no answer'));

/** Steps both each half second, as their loops do, and calls `look` after. */
async function stepBoth(
  { clock, first, second }: ReturnType<typeof setUp>,
  forMs: number,
  look: (ms: number) => void,
) {
  for (let elapsedMs = 0; elapsedMs < forMs; elapsedMs += 500) {
    await first.relay.step();
    await second.relay.step();
    look(elapsedMs);
    await clock.advance(500);
  }
}

const told = (relays: { relay: Relay }[]) =>
  relays
    .flatMap(({ relay }) => relay.conditions())
    .map(({ name, sinceMs }) => `${name} ${sinceMs - beganMs}`);

const codes = ['publish.unavailable', 'publish.refused'] as const;

test.each(codes)(
  'a relay whose target is %s leads all the time for half a minute, and tells one absence since its beginning',
  async (code) => {
    const both = setUp();
    const { first, second } = both;
    first.target.openProblems = away(code);
    await stepBoth(both, 30_000, (ms) => {
      expect(told([first])).toEqual(ms < 15_000 ? [] : ['kafka-unavailable 0']);
    });
    expect(second.target.calls).toEqual([]);
    expect(second.relay.conditions()).toEqual([]);
  },
);

test('a target that heals three seconds before its absence would be told is written again by then', async () => {
  const both = setUp(undefined, () => 0.75);
  const { first } = both;
  first.target.openProblems = away('publish.unavailable');
  await stepBoth(both, 20_000, (ms) => {
    if (ms === 12_000) first.target.openProblems = [];
    expect(told([first])).toEqual([]);
  });
  expect(first.target.written).toHaveLength(1);
});

test.each(codes)(
  'a relay that alone finds its target %s lets another lead, which writes, and the absence is over',
  async (code) => {
    const both = setUp(toldAway);
    const { outbox, first, second } = both;
    first.target.openProblems = away(code);
    let writtenAtMs = Number.POSITIVE_INFINITY;
    await stepBoth(both, 120_000, (ms) => {
      if (second.target.written.length > 0) writtenAtMs = Math.min(writtenAtMs, ms);
      if (ms >= writtenAtMs + 5_000) expect(told([first, second])).toEqual([]);
      else if (ms < writtenAtMs && ms >= 15_000)
        expect(told([first, second])).toContain('kafka-unavailable 0');
    });
    expect(writtenAtMs).toBeLessThanOrEqual(35_000);
    outbox.add({ topic: 't', key: 'b' });
    await second.relay.step();
    expect(second.target.written).toHaveLength(2);
    expect(second.relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
  },
);

test.each(codes)(
  'of two relays whose targets are %s for three minutes each leads for half a minute, and all the time one absence is told',
  async (code) => {
    const both = setUp(toldAway);
    const { first, second } = both;
    first.target.openProblems = away(code);
    second.target.openProblems = away(code);
    await stepBoth(both, 180_000, (ms) => {
      if (ms >= 15_000) expect(new Set(told([first, second]))).toEqual(new Set(['kafka-unavailable 0']));
    });
    expect(first.target.calls).toContain('open');
    expect(second.target.calls).toContain('open');
    expect(second.target.written).toEqual([]);
  },
);

test.each(codes)(
  'a relay whose target is %s lets another try each half minute, also once that has tried in vain',
  async (code) => {
    const both = setUp();
    const { first, second } = both;
    first.target.openProblems = away(code);
    second.target.openProblems = away(code);
    await stepBoth(both, 80_000, () => {});
    second.target.openProblems = [];
    await stepBoth(both, 40_000, () => {});
    expect(second.target.written).toHaveLength(1);
  },
);

test.each(codes)(
  'a relay whose target is %s and that has no other beside it tells one absence and tries on as often as ever',
  async (code) => {
    const { clock, first } = setUp();
    first.target.openProblems = away(code);
    const triedAtMs: number[] = [];
    for (let elapsedMs = 0; elapsedMs < 400_000; elapsedMs += 500) {
      const before = first.target.calls.length;
      await first.relay.step();
      if (first.target.calls.length > before) triedAtMs.push(elapsedMs);
      if (elapsedMs >= 15_000) expect(told([first])).toEqual(['kafka-unavailable 0']);
      await clock.advance(500);
    }
    const longestMs = Math.max(...triedAtMs.map((atMs, place) => atMs - (triedAtMs[place - 1] ?? 0)));
    expect(longestMs).toBeLessThanOrEqual(code === 'publish.refused' ? 60_500 : 10_500);
    first.target.openProblems = [];
    while (first.target.written.length === 0) {
      await clock.advance(500);
      await first.relay.step();
    }
    expect(first.relay.conditions()).toEqual([]);
  },
);

/** The first fails in vain: within half a minute and a lease the second writes, and not before. Two minutes are stepped. */
async function stepWhereSecondWrites(
  both: ReturnType<typeof setUp>,
  look: (ms: number, writtenAtMs: number) => void,
) {
  let writtenAtMs = Number.POSITIVE_INFINITY;
  await stepBoth(both, 120_000, (ms) => {
    if (both.second.target.written.length > 0) writtenAtMs = Math.min(writtenAtMs, ms);
    look(ms, writtenAtMs);
  });
  expect(writtenAtMs).toBeGreaterThanOrEqual(30_000);
  expect(writtenAtMs).toBeLessThanOrEqual(45_000);
}

const inVain = () => Array.from({ length: 2000 }, () => failAll('retry', 'TIMED_OUT'));

test('a relay whose producer opens and whose sends alone fail lets another lead, which writes, and the absence is over', async () => {
  const both = setUp(toldAway);
  const { first, second } = both;
  first.target.script = inVain();
  await stepWhereSecondWrites(both, (ms, writtenAtMs) => {
    if (ms >= writtenAtMs + 5_000) expect(told([first, second])).toEqual([]);
    else if (ms < writtenAtMs && ms >= 15_000) expect(told([first, second])).toContain('kafka-unavailable 0');
    else if (ms < 15_000) expect(told([first, second])).toEqual([]);
  });
});

/** What is told of the topic by whoever led before. */
const toldTopic = async () => ({ kafkaSinceMs: null, topics: [{ topic: 't', sinceMs: beganMs }] });
const untimely = () => Array.from({ length: 2000 }, () => failAll('denied', 'INVALID_TIMESTAMP'));

test('a relay whose clock alone Kafka refuses lets another lead, which writes', async () => {
  const both = setUp(toldTopic);
  const { first, second } = both;
  first.target.script = untimely();
  await stepWhereSecondWrites(both, (ms, writtenAtMs) => {
    const expected = ms < writtenAtMs ? ['topic-denied 0'] : [];
    if (ms < writtenAtMs || ms >= writtenAtMs + 5_000) expect(told([first, second])).toEqual(expected);
  });
});

test('a topic that takes nobody’s time is told all the time by one of two relays, and as nothing else', async () => {
  const both = setUp(toldTopic);
  const { first, second } = both;
  for (const { target } of [first, second]) target.script = untimely();
  await stepBoth(both, 180_000, () => {
    const names = [first, second].flatMap(({ relay }) => relay.conditions()).map(({ name }) => name);
    expect(new Set(names)).toEqual(new Set(['topic-denied']));
  });
  expect(second.target.calls).toContain('send');
});

test('of two relays all of whose sends fail for three minutes each leads for half a minute, and all the time one absence is told', async () => {
  const both = setUp(toldAway);
  const { first, second } = both;
  for (const { target } of [first, second]) target.script = inVain();
  await stepBoth(both, 180_000, (ms) => {
    if (ms >= 15_000) expect(new Set(told([first, second]))).toEqual(new Set(['kafka-unavailable 0']));
  });
  expect(second.target.calls).toContain('send');
  expect(first.target.sends.length).toBeGreaterThan(10);
});

test('a relay that alone sends in vain tells one absence, and tries on until a send succeeds', async () => {
  const { clock, first } = setUp();
  first.target.script = inVain();
  let sent = 0;
  let sentAtMs = 0;
  for (let elapsedMs = 0; elapsedMs < 300_000; elapsedMs += 500) {
    await first.relay.step();
    if (first.target.sends.length > sent) sentAtMs = elapsedMs;
    sent = first.target.sends.length;
    expect(elapsedMs - sentAtMs).toBeLessThanOrEqual(10_500);
    expect(told([first])).toEqual(elapsedMs < 15_000 ? [] : ['kafka-unavailable 0']);
    await clock.advance(500);
  }
  first.target.script = [];
  while (first.target.written.length === 0) {
    await clock.advance(500);
    await first.relay.step();
  }
  expect(first.relay.conditions()).toEqual([]);
});

test('a login that is refused under a producer at work is one absence of Kafka, and of no topic', async () => {
  const { clock, outbox, first } = setUp();
  outbox.add({ topic: 'u', key: 'b' });
  first.target.script = [failAll('denied', 'SASL_AUTHENTICATION_FAILED')];
  await first.relay.step();
  first.target.openProblems = away('publish.refused');
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 500) {
    expect(told([first])).toEqual(elapsedMs < 15_000 ? [] : ['kafka-unavailable 0']);
    await clock.advance(500);
    await first.relay.step();
  }
});

test('an absence is told since the send that met it began, however long that took', async () => {
  const { clock, first } = setUp();
  first.target.script = [
    async (batches) => {
      // The lease is renewed meanwhile.
      for (let second = 0; second < 14; second += 1) await clock.advance(1_000);
      return failAll('retry', 'CONNECTION')(batches);
    },
  ];
  await first.relay.step();
  expect(told([first])).toEqual([]);
  first.target.openProblems = away('publish.unavailable');
  await first.relay.step();
  await clock.advance(1_000);
  expect(told([first])).toEqual(['kafka-unavailable 0']);
  // Also when it is the opening that fails for so long.
  await clock.advance(15_000);
  expect(told([first])).toEqual(['kafka-unavailable 0']);
});

test('an absence is told since the opening that met it began, however long that took', async () => {
  const { clock, first } = setUp();
  first.target.open = async () => {
    await clock.advance(9_000);
    throw new Problem('publish.unavailable', 'Kafka gave no answer');
  };
  await first.relay.step();
  await clock.advance(6_000);
  expect(told([first])).toEqual(['kafka-unavailable 0']);
});

test('what is told of an absence is what was met last: where the producer opens again, why nothing can be written', async () => {
  const { clock, first } = setUp();
  first.target.openProblems = away('publish.unavailable').slice(0, 5);
  first.target.script = inVain();
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 500) {
    await first.relay.step();
    await clock.advance(500);
  }
  expect(first.target.sends.length).toBeGreaterThan(0);
  const detail = expect.stringMatching(/cannot be written: .*TIMED_OUT/);
  expect(first.relay.conditions()).toEqual([
    { name: 'kafka-unavailable', sinceMs: expect.any(Number), detail },
  ]);
});

test('a relay that cannot write one partition, and writes others, goes on leading', async () => {
  const both = setUp();
  const { outbox, first, second } = both;
  const { send } = first.target;
  first.target.send = async (batches) => {
    const { outcomes } = await send(batches);
    const failing = failAll('retry', 'NOT_ENOUGH_REPLICAS')(batches) as { outcomes: typeof outcomes };
    return {
      outcomes: outcomes.map((one, at) => (batches[at]!.topic === 't' ? failing.outcomes[at]! : one)),
      spent: false,
    };
  };
  let added = 0;
  await stepBoth(both, 120_000, (ms) => {
    if (ms % 5_000 === 0) {
      added += 1;
      outbox.add({ topic: 'other', key: `k${added}` });
    }
    if (ms >= 15_000) expect(told([first])).toEqual(['kafka-unavailable 0']);
  });
  expect(second.target.calls).toEqual([]);
});

test('a relay that waits for mute brokers longer than its lease keeps it', async () => {
  const { clock, first, second } = setUp();
  first.target.open = async () => {
    await clock.wait(20_000);
    throw new Problem('publish.unavailable', 'Kafka gave no answer');
  };
  const step = first.relay.step();
  await new Promise(setImmediate);
  for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 500) {
    await clock.advance(500);
    expect(await second.relay.step()).toBe('waiting');
  }
  expect(await step).toBe('waiting');
  expect(second.target.calls).toEqual([]);
});

test('a relay that paused so long that another leads is a standby again', async () => {
  const { clock, outbox, first } = setUp();
  first.target.openProblems = away('publish.refused');
  await first.relay.step();
  outbox.giveLeaseTo('another', 60_000);
  await clock.advance(3_000);
  expect(await first.relay.step()).toBe('waiting');
  expect(first.relay.holdUntilMs()).toBe(clock.nowMs() + 500);
  expect(first.relay.conditions()).toEqual([]);
});

test('who takes over in an absence that was told goes on telling it since then, until a record is written', async () => {
  const { clock, outbox, first, second } = setUp(toldAway);
  outbox.giveLeaseTo('dead', 0);
  await clock.advance(60_000);
  second.target.openProblems = away('publish.unavailable').slice(0, 2);
  let before: unknown;
  const { open } = second.target;
  second.target.open = async () => {
    before ??= second.relay.conditions();
    await open();
  };
  expect(await second.relay.step()).toBe('waiting');
  expect(before).toMatchObject([{ name: 'kafka-unavailable', sinceMs: beganMs }]);
  expect(second.relay.conditions()).toEqual([
    { name: 'kafka-unavailable', sinceMs: beganMs, detail: 'Kafka gave no answer' },
  ]);
  expect(await first.relay.step()).toBe('waiting');
  expect(first.relay.conditions()).toEqual([]);
  second.target.script = [failAll('retry', 'NOT_LEADER_FOR_PARTITION')];
  while (second.target.sends.length === 0) {
    await clock.advance(500);
    await second.relay.step();
  }
  expect(second.relay.conditions()).toMatchObject([{ sinceMs: beganMs }]);
  await clock.advance(1_000);
  expect(await second.relay.step()).toBe('worked');
  expect(second.relay.conditions()).toEqual([]);
});

test('what was told is asked for when a relay begins to lead, again where the store did not say, and not later', async () => {
  let asked = 0;
  const { clock, first } = setUp(async () => {
    asked += 1;
    if (asked === 1) throw new Problem('store.unavailable', 'away');
    return { kafkaSinceMs: null, topics: [] };
  });
  await expect(first.relay.step()).rejects.toThrow('away');
  expect(await first.relay.step()).toBe('worked');
  await clock.advance(5_000);
  await first.relay.step();
  expect(asked).toBe(2);
  await clock.advance(60_000);
  await first.relay.step();
  expect(asked).toBe(3);
});

test('of a topic of a former prefix it is told which migration creates it, and of today’s and others nothing', async () => {
  const clock = makeHandClock(beganMs);
  const outbox = makeMemoryOutbox(clock);
  const target = makeScriptedTarget();
  const liveTopics = ['new.equipment.v1', 'new.field-operation.v1'];
  const relay = makeRelay(outbox, target, { ...relayDefaults, liveTopics, clock, holder: 'first' });
  for (const topic of ['farm.2025.equipment.v1', 'new.equipment.v1', 'farm.2025.harvest.v1'])
    outbox.add({ topic, key: topic });
  target.script = [failAll('missing', 'UNKNOWN_TOPIC_OR_PARTITION')];
  await relay.step();
  const [former, ...others] = relay.conditions();
  const command = '`KAFKA_TOPIC_PREFIX=farm.2025 tramline migrate`';
  expect(former).toMatchObject({
    labels: { topic: 'farm.2025.equipment.v1' },
    detail: expect.stringContaining(`where it is missing, ${command} creates it.`),
    firstStep: expect.stringContaining(command),
  });
  expect(others.map(({ labels, detail, firstStep }) => [labels?.topic, detail, firstStep])).toEqual([
    ['new.equipment.v1', expect.stringMatching(/kept and wait\.$/), undefined],
    ['farm.2025.harvest.v1', expect.stringMatching(/kept and wait\.$/), undefined],
  ]);
});

test.each([
  ['denied', 'TOPIC_AUTHORIZATION_FAILED'],
  ['missing', 'UNKNOWN_TOPIC_OR_PARTITION'],
] as const)(
  'a relay that met a topic that is %s goes on telling so while it stands back for Kafka to be there',
  async (kind, code) => {
    const { clock, outbox, first } = setUp();
    const { relay, target } = first;
    target.script.push(failAll(kind, code));
    await relay.step();
    const met = relay.conditions();
    expect(met).toMatchObject([{ name: 'topic-denied', labels: { topic: 't' } }]);
    outbox.add({ topic: 'u', key: 'b' });
    target.send = async (batches) => failAll('retry', 'CONNECTION')(batches);
    target.openProblems = away('publish.unavailable');
    for (let elapsedMs = 0; elapsedMs < 120_000; elapsedMs += 500) {
      await relay.step();
      expect(relay.conditions()).toEqual(expect.arrayContaining(met));
      await clock.advance(500);
    }
    await clock.advance(900_000);
    expect(relay.conditions()).not.toEqual(expect.arrayContaining(met));
  },
);

test('a relay that met a denied topic and lost the lead leaves it to the next to tell', async () => {
  const { clock, outbox, first } = setUp();
  first.target.script.push(failAll('denied', 'TOPIC_AUTHORIZATION_FAILED'));
  await first.relay.step();
  expect(told([first])).toEqual(['topic-denied 0']);
  outbox.giveLeaseTo('second', 60_000);
  await clock.advance(leaseMs - 1);
  await first.relay.step();
  expect(told([first])).toEqual([]);
});

describe('of topics that were told to be denied before this one led', () => {
  const toldTopics = async () => ({
    kafkaSinceMs: null,
    topics: ['t', 'u'].map((topic) => ({ topic, sinceMs: beganMs })),
  });
  const over = ({ relay }: { relay: Relay }) =>
    ['t', 'u'].filter((topic) => relay.isOver('topic-denied', { topic }));

  test('a relay goes on telling until a record was acknowledged there, and ends each by itself', async () => {
    const { clock, outbox, first, second } = setUp(toldTopics);
    outbox.add({ topic: 'u', key: 'b' });
    first.target.script = [
      (batches) => ({
        outcomes: batches.map((batch) =>
          batch.topic === 'u'
            ? failure('denied', 'TOPIC_AUTHORIZATION_FAILED')
            : first.target.write([batch])[0]!,
        ),
        spent: false,
      }),
    ];
    first.target.openProblems = away('publish.unavailable').slice(0, 1);
    await first.relay.step();
    await second.relay.step();
    expect([told([first]), over(first), told([second]), over(second)]).toEqual([
      ['topic-denied 0', 'topic-denied 0'],
      [],
      [],
      [],
    ]);
    expect(first.relay.conditions()[0]?.detail).toContain('topic t before another process took over');
    await clock.advance(200);
    await first.relay.step();
    expect(first.target.written).toHaveLength(1);
    expect(first.relay.conditions()).toMatchObject([
      { labels: { topic: 'u' }, detail: expect.stringContaining('TOPIC_AUTHORIZATION_FAILED') },
    ]);
    // Of Kafka itself nothing is unknown because one topic is denied.
    await first.relay.step();
    expect([over(first), first.relay.settled()]).toEqual([['t'], ['kafka-unavailable']]);
    await stepBoth({ clock, outbox, first, second }, 12_000, () => {});
    expect([over(first), first.relay.conditions()]).toEqual([['t', 'u'], []]);
    expect(first.relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
  });

  test('goes on telling while it stands back for Kafka to be there, and for a quarter of an hour at most', async () => {
    const story = setUp(toldTopics);
    story.first.target.openProblems = away('publish.unavailable');
    story.second.target.openProblems = away('publish.unavailable');
    await stepBoth(story, 60_000, () => {
      const names = [story.first, story.second].flatMap(({ relay }) =>
        relay.conditions().map(({ labels }) => labels?.topic),
      );
      expect(names).toEqual(expect.arrayContaining(['t', 'u']));
    });
    await story.clock.advance(900_000);
    const topics = story.first.relay.conditions().flatMap(({ labels }) => labels?.topic ?? []);
    expect(topics).toEqual([]);
  });

  test('one for which nothing waits any more is over', async () => {
    const { first } = setUp(toldTopics);
    await first.relay.step();
    expect(told([first])).toEqual(['topic-denied 0']);
    expect(await first.relay.step()).toBe('empty');
    expect([told([first]), over(first)]).toEqual([[], ['t', 'u']]);
  });

  test('a relay that does not lead any more knows of none that it is over', async () => {
    const { outbox, clock, first } = setUp(toldTopics);
    await first.relay.step();
    await first.relay.step();
    outbox.giveLeaseTo('second', leaseMs);
    await clock.advance(leaseMs - 1);
    await first.relay.step();
    expect([over(first), first.relay.settled(), told([first])]).toEqual([[], [], []]);
  });
});
