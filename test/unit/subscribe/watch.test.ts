// Who looks after subscriptions: what has expired is renewed, what cannot be is told until it can, silence is told until
// it ends, and only one process does either.
import { problemOf } from '../../../src/operations/provider-api';
import type { Open } from '../../../src/subscribe/look';
import { makeSubscriptionsApi } from '../../../src/subscribe/subscriptions';
import { endLooking, makeSubscriptionWatch, type SubscriptionWatch } from '../../../src/subscribe/watch';
import { Secret } from '../../../src/tools/secret';
import { faultOf } from '../../support/scripted-calls';
import { type Stage, stageRoom } from './stage';

let stage: Stage;
let watch: SubscriptionWatch;
let holds: boolean;
/** The store is away: no verb of it answers. */
let storeFails: boolean;
let confirmations: number;
let deliveryStatus: string;
/** Whether the provider answers what its delivery is set to. */
let answers: boolean;
let pausedMs: number;
/** How long it takes to say nothing. */
let lateMs: number;
/** Until then no answer comes. */
let gate: Promise<void> | null = null;
let troubles: unknown[];
let open: Open[];

function watchOf({ doors, store, clock }: Stage, silenceMsMin = 30_000): SubscriptionWatch {
  [holds, storeFails] = [true, false];
  confirmations = 0;
  [answers, deliveryStatus] = [true, 'Active'];
  [pausedMs, lateMs] = [0, 0];
  troubles = [];
  open = [];
  return makeSubscriptionWatch({
    ...doors,
    problemOf,
    store: {
      async holdLease() {
        if (storeFails) throw new Error('the store is away');
        return holds;
      },
      async noteListening(...listened) {
        if (storeFails) throw new Error('the store is away');
        store.nowMs = clock.nowMs();
        return store.noteListening(...listened);
      },
      countLooks: store.countLooks,
    },
    delivery: async () => {
      confirmations += 1;
      await gate;
      await clock.advance(lateMs);
      if (!answers) throw new Error('no answer');
      return { status: deliveryStatus };
    },
    open: async () => open,
    failed: (error) => void troubles.push(error),
    pausedMs: () => pausedMs,
    holder: 'h',
    leaseMs: 60_000,
    checkMs: 900_000,
    silenceMsMin,
  });
}

beforeEach(async () => {
  stage = stageRoom();
  watch = watchOf(stage);
  const filters = [{ key: 'orgId', values: ['4712'] }];
  const wanted = { eventTypeId: 'equipment', filters, displayName: null, user: null };
  await makeSubscriptionsApi(stage.doors).create(wanted);
  await watch.step();
});

const own = () => stage.calls.listed.get('c1')![0]!;
const become = (status: string) => stage.calls.listed.set('c1', [{ ...own(), status }]);
const told = () => watch.conditions().map(({ name }) => name);
async function look(): Promise<void> {
  await stage.clock.advance(900_000);
  await watch.step();
}
async function heard(at = 0): Promise<void> {
  Object.assign(stage.store.rows[at]!, { heardAtMs: stage.clock.nowMs(), beatMs: 60_000 });
  await stage.book.refresh();
}
/** As it runs: a step every five seconds. */
async function run(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5000) {
    await stage.clock.advance(5000);
    await watch.step();
  }
}

/** Until its next look, of which no listing is answered. Heartbeats come until then. */
async function lookUnanswered() {
  const { list } = stage.calls;
  let looks = 0;
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  stage.calls.list = async function* (connectionId) {
    looks += 1;
    await answered;
    yield* list(connectionId);
  };
  let stepped: Promise<unknown> = Promise.resolve();
  while (looks === 0) {
    await heard();
    await stage.clock.advance(5000);
    stepped = watch.step();
    await stage.clock.advance(0);
  }
  return { stepped, answer };
}

/** The store is away for so long, and is tried every second: what was told meanwhile. */
async function outage(ms: number, meanwhile = () => {}): Promise<Set<string>> {
  const pages = new Set<string>();
  storeFails = true;
  for (let passed = 0; passed < ms; passed += 1000) {
    await stage.clock.advance(1000);
    meanwhile();
    await expect(watch.step()).rejects.toThrow('the store is away');
    for (const name of told()) pages.add(name);
  }
  storeFails = false;
  return pages;
}

test('what has expired is renewed at the next look, and nothing is told', async () => {
  become('Expired');
  await stage.clock.advance(60_000);
  await watch.step();
  expect(own().status).toBe('Expired');
  await look();
  expect([own().status, told()]).toEqual(['Active', []]);
});

test('a clock that is set back delays no look', async () => {
  become('Expired');
  stage.clock.setBack(3_600_000);
  await look();
  expect(own().status).toBe('Active');
});

test('while the provider asked for a pause it is not asked; the look comes at its end', async () => {
  become('Expired');
  pausedMs = 30_000;
  await look();
  expect(own().status).toBe('Expired');
  pausedMs = 0;
  await watch.step();
  expect(own().status).toBe('Active');
});

test('a refused renewal is told with the provider’s words, tried every minute, and over when it succeeds', async () => {
  become('Expired');
  stage.calls.faults.change = faultOf('refused', 'the address does not answer');
  await look();
  const [condition] = watch.conditions();
  expect(condition).toMatchObject({
    name: 'subscription-expired',
    labels: { subscription_id: 's1' },
    detail: 'Subscription s1 has expired and is not renewed: the address does not answer.',
  });
  await stage.clock.advance(60_000);
  await watch.step();
  expect(watch.conditions()[0]!.sinceMs).toBe(condition!.sinceMs);
  stage.calls.faults = {};
  await stage.clock.advance(60_000);
  await watch.step();
  expect([own().status, told()]).toEqual(['Active', []]);
});

test('an end by somebody else, and one that is not listed any more, is told until it is ended here', async () => {
  become('Terminated');
  await look();
  expect(told()).toEqual(['subscription-ended']);
  stage.calls.listed.set('c1', []);
  await look();
  expect(told()).toEqual(['subscription-ended']);
  await makeSubscriptionsApi(stage.doors).end('s1');
  await look();
  expect(told()).toEqual([]);
});

test('the last heartbeat that is told of one that ended is its own, and of one that sent none there is none', async () => {
  const wanted = { eventTypeId: 'field', displayName: null, user: null };
  for (const organization of ['4711', '4712']) {
    const filters = [{ key: 'orgId', values: [organization] }];
    await makeSubscriptionsApi(stage.doors).create({ ...wanted, filters });
  }
  await heard(0);
  const at = new Date(stage.clock.nowMs()).toISOString();
  await stage.clock.advance(1000);
  await heard(1);
  const ended = stage.calls.listed.get('c1')!.map((one) => ({ ...one, status: 'Terminated' }));
  stage.calls.listed.set('c1', [ended[0]!, stage.calls.listed.get('c1')![1]!, ended[2]!]);
  await look();
  expect(watch.conditions().map(({ detail }) => detail)).toEqual([
    `Subscription s1 was ended at the provider. Its last heartbeat came at ${at}.`,
    'Subscription s3 was ended at the provider.',
  ]);
});

test('who ends lets another process look at once, and is told where the store is away', async () => {
  const asked: unknown[][] = [];
  const endWith = (holdLease: () => Promise<boolean>) =>
    endLooking({
      store: {
        ...stage.store,
        holdLease: (...lease) => {
          asked.push(lease);
          return holdLease();
        },
      },
      holder: 'h',
    });
  await endWith(async () => true);
  expect(asked).toEqual([['subscriptions', 'h', 0]]);
  await expect(endWith(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
});

test.each([
  ['Terminated', 's1 was ended at the provider'],
  ['Expired', 's1 has expired and is not renewed: the provider refuses this: nope'],
] as const)(
  'what is told of one that is %s says since when nothing was heard of it',
  async (status, what) => {
    await heard();
    const at = new Date(stage.clock.nowMs()).toISOString();
    stage.calls.faults.change = faultOf('refused-unattributed', 'nope');
    become(status);
    await look();
    expect(watch.conditions()[0]!.detail).toBe(`Subscription ${what}. Its last heartbeat came at ${at}.`);
  },
);

test('a listing that breaks off changes nothing that was found, and proves no absence', async () => {
  stage.calls.listed.set('c1', []);
  stage.calls.faults.list = faultOf('transient');
  await look();
  expect(told()).toEqual([]);
  stage.calls.faults = {};
  await look();
  stage.calls.faults.list = faultOf('transient');
  await look();
  expect(told()).toEqual(['subscription-ended']);
});

test('an entry that cannot be read is told, proves no absence, and hides nothing of those beside it', async () => {
  const [one] = stage.calls.listed.get('c1')!;
  stage.calls.listed.set('c1', [{ status: 'Active' }]);
  await look();
  expect(told()).toEqual([]);
  expect(troubles.map(String)).toEqual([
    expect.stringMatching(/entry 1 .*expected a subscription with an id/),
  ]);
  expect(watch.settled()).not.toContain('subscription-ended');
  stage.calls.listed.set('c1', [{ status: 'Active' }, { ...one!, status: 'Expired' }]);
  await look();
  expect([own().status, told()]).toEqual(['Active', []]);
  stage.calls.listed.set('c1', []);
  await look();
  expect(told()).toEqual(['subscription-ended']);
});

test('silence is told, looked into at once, and over with the next heartbeat', async () => {
  await heard();
  await run(175_000);
  expect(told()).toEqual([]);
  become('Expired');
  await run(5000);
  expect([own().status, told()]).toEqual(['Active', ['subscription-silent']]);
  expect(watch.conditions()[0]).toMatchObject({ detail: expect.stringContaining('every 60 s') });
  await heard();
  expect(told()).toEqual([]);
});

test('of a subscription that was found to have ended it is not told beside that that it is silent', async () => {
  await heard();
  become('Terminated');
  await look();
  await run(900_000);
  expect(told()).toEqual(['subscription-ended']);
});

test('of silence while delivery is paused it is said that it is', async () => {
  await heard();
  deliveryStatus = 'Paused';
  await run(300_000);
  const [silent] = watch.conditions();
  expect(silent).toMatchObject({ name: 'subscription-silent' });
  // An alert goes on with since when it is so, which is of the silence.
  expect(silent!.detail).toMatch(
    /^Delivery was found paused, .*`tramline delivery set --status active`\. Subscription \S+ has sent no heartbeat since [^.]+\.\d+Z[^.]*\.$/,
  );
  expect(silent!.firstStep).toContain('`tramline delivery set --status active`');
  deliveryStatus = 'Active';
  const asked = confirmations;
  await run(60_000);
  expect(watch.conditions()[0]!.detail).not.toContain('paused');
  expect(watch.conditions()[0]!.firstStep).toBeUndefined();
  await run(300_000);
  expect(confirmations).toBe(asked + 1);
});

test('silence is told when it was looked into, so that what is sent first says what was found', async () => {
  await heard();
  deliveryStatus = 'Paused';
  await run(175_000);
  expect(told()).toEqual([]);
  await stage.clock.advance(5000);
  expect([told(), watch.settled()]).toEqual([[], expect.not.arrayContaining(['subscription-silent'])]);
  await watch.step();
  expect(watch.conditions()).toMatchObject([{ detail: expect.stringContaining('was found paused') }]);
});

test('silence is told without its look where that lasts', async () => {
  await heard();
  await run(175_000);
  let answer = () => {};
  gate = new Promise((resolve) => (answer = resolve));
  await stage.clock.advance(5000);
  const stepping = watch.step();
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  await stage.clock.advance(9999);
  expect(told()).toEqual([]);
  await stage.clock.advance(1);
  expect([told(), watch.settled()]).toEqual([
    ['subscription-silent'],
    expect.arrayContaining(['subscription-silent']),
  ]);
  answer();
  await stepping;
});

test('who takes over a silence tells it with what its own look finds', async () => {
  await heard();
  await run(300_000);
  watch = watchOf(stage);
  deliveryStatus = 'Paused';
  let answer = () => {};
  gate = new Promise((resolve) => (answer = resolve));
  const stepping = watch.step();
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  expect([told(), watch.settled()]).toEqual([[], expect.not.arrayContaining(['subscription-silent'])]);
  await stage.clock.advance(10_000);
  expect(told()).toEqual(['subscription-silent']);
  answer();
  await stepping;
  expect(watch.conditions()).toMatchObject([{ detail: expect.stringContaining('was found paused') }]);
});

test('delivery that was found paused stays so while nobody answers, and is asked for every minute', async () => {
  await heard();
  deliveryStatus = 'Paused';
  await run(300_000);
  answers = false;
  await run(60_000);
  expect(watch.conditions()[0]!.detail).toContain('paused');
  [answers, deliveryStatus] = [true, 'Active'];
  const asked = confirmations;
  await run(60_000);
  expect(confirmations).toBe(asked + 1);
  expect(watch.conditions()[0]!.detail).not.toContain('paused');
});

test('delivery that stays paused is asked for once a minute, and by nobody while the provider asked for a pause', async () => {
  await heard();
  deliveryStatus = 'Paused';
  await run(200_000);
  const asked = confirmations;
  await run(180_000);
  expect(confirmations).toBe(asked + 3);
  pausedMs = 180_000;
  await run(180_000);
  expect(confirmations).toBe(asked + 3);
  pausedMs = 0;
  await run(5000);
  expect(confirmations).toBe(asked + 4);
});

test('delivery that was found paused is not said to be so of a later silence, unless it is found so again', async () => {
  await heard();
  deliveryStatus = 'Paused';
  await run(200_000);
  expect(watch.conditions()[0]!.detail).toContain('paused');
  await heard();
  await run(65_000);
  answers = false;
  await run(135_000);
  expect(watch.conditions()).toMatchObject([{ detail: expect.not.stringContaining('paused') }]);
});

test('silence goes on, however long nobody says whether delivery is paused', async () => {
  await heard();
  [answers, deliveryStatus] = [false, 'Paused'];
  await run(200_000);
  expect(told()).toEqual(['subscription-silent']);
  lateMs = 70_000;
  await run(120_000);
  expect(told()).toEqual(['subscription-silent']);
  // Nor does that of an Authorization value that was offered.
  await stage.book.offer(new Secret('Bearer new'), { kind: 'authorization', user: null, connectionId: null });
  for (let passed = 0; passed < 120_000; passed += 5000) {
    await stage.clock.advance(5000);
    await watch.step().catch(() => {});
  }
  expect(told()).toEqual(['subscription-silent']);
});

test('whether delivery is paused is asked again within a minute where the first question got no answer', async () => {
  await heard();
  [answers, deliveryStatus] = [false, 'Paused'];
  await run(185_000);
  expect(watch.conditions()[0]!.detail).not.toContain('paused');
  answers = true;
  await run(60_000);
  expect(watch.conditions()[0]!.detail).toContain('paused');
});

test('nothing is silent for what could not be heard while the store or the process stood still', async () => {
  await heard();
  await stage.clock.advance(600_000);
  await watch.step();
  await run(175_000);
  expect(told()).toEqual([]);
  await run(5000);
  expect(told()).toEqual(['subscription-silent']);
});

test('nobody falls silent while the store is away, nor until it could be heard again for long enough', async () => {
  await heard();
  await run(100_000);
  const pages = await outage(600_000);
  expect([...pages]).toEqual([]);
  await watch.step();
  await run(175_000);
  expect(told()).toEqual([]);
  await run(5000);
  expect(told()).toEqual(['subscription-silent']);
});

test.each([
  [10, 3, 9],
  [90, 30, 44],
])(
  'where %s s are a silence, an outage that swallows two of three heartbeats, %s s apart, begins it anew',
  async (...seconds) => {
    const [silenceMs, beatMs, awayMs] = seconds.map((one) => one * 1000) as [number, number, number];
    watch = watchOf(stage, silenceMs);
    await watch.step();
    await heard();
    stage.store.rows[0]!.beatMs = beatMs;
    await outage(awayMs);
    for (let passed = awayMs; passed < silenceMs; passed += 1000) {
      await watch.step();
      await stage.clock.advance(1000);
    }
    await watch.step();
    expect(told()).toEqual([]);
  },
);

test.each([
  ['while others hear it', false],
  ['while the store is away', true],
])('a look that lasts for minutes makes nobody silent: %s', async (_what, away) => {
  const { stepped, answer } = await lookUnanswered();
  storeFails = away;
  const pages: string[] = [];
  for (let passed = 0; passed < 240_000; passed += 5000) {
    if (!away && passed % 60_000 === 0)
      Object.assign(stage.store.rows[0]!, { heardAtMs: stage.clock.nowMs() });
    await stage.clock.advance(5000);
    pages.push(...told());
  }
  storeFails = false;
  expect(await Promise.race([stepped, 'looks'])).toBe('looks');
  answer();
  await stepped;
  await run(20_000);
  expect([...pages, ...told()]).toEqual([]);
});

test('who falls silent while a look lasts is told meanwhile, and stays so after it', async () => {
  const { stepped, answer } = await lookUnanswered();
  const pages: number[] = [];
  for (let passedMs = 5000; passedMs <= 240_000; passedMs += 5000) {
    await stage.clock.advance(5000);
    if (told().includes('subscription-silent')) pages.push(passedMs);
  }
  expect(pages[0]).toBeLessThanOrEqual(190_000);
  answer();
  await stepped;
  await run(5000);
  expect(told()).toEqual(['subscription-silent']);
});

test('who was silent before the store was away stays so, as it was told, until it is heard', async () => {
  await heard();
  await run(200_000);
  const before = watch.conditions();
  expect(before).toMatchObject([{ name: 'subscription-silent' }]);
  expect([...(await outage(600_000))]).toEqual(['subscription-silent']);
  await run(60_000);
  expect([watch.conditions(), watch.settled()]).toEqual([
    before,
    expect.arrayContaining(['subscription-silent']),
  ]);
  await heard();
  expect(told()).toEqual([]);
  // What it was found silent by ended with that, though no step came between.
  await outage(600_000);
  await watch.step();
  await run(175_000);
  expect(told()).toEqual([]);
});

test('who takes over after an outage knows who was silent before it, though another told it', async () => {
  await heard();
  await run(200_000);
  const next = watchOf(stage);
  holds = false;
  await next.step();
  expect(next.conditions()).toEqual([]);
  await stage.clock.advance(600_000);
  holds = true;
  await next.step();
  expect(next.conditions()).toMatchObject([{ name: 'subscription-silent' }]);
});

test('what others heard while this process alone did not reach the store is known before anybody is silent', async () => {
  await heard();
  await run(100_000);
  const asked = outage(600_000, () => {
    Object.assign(stage.store.rows[0]!, { heardAtMs: stage.clock.nowMs() });
    // Another process notes that it listens: no break is in the store.
    stage.store.listened = { sinceMs: 0, untilMs: stage.clock.nowMs() };
  });
  expect([...(await asked)]).toEqual([]);
  await watch.step();
  expect(told()).toEqual([]);
});

test('a process that is started anew every minute finds the same silence as one that lives', async () => {
  await heard();
  for (const _life of [1, 2]) {
    await run(55_000);
    await stage.clock.advance(5000);
    watch = watchOf(stage);
    await watch.step();
  }
  await run(55_000);
  expect(told()).toEqual([]);
  await run(5000);
  expect(watch.conditions()).toMatchObject([{ name: 'subscription-silent' }]);
});

test('a start after a break begins the silence anew, since nothing could be heard', async () => {
  await heard();
  await run(150_000);
  await stage.clock.advance(61_000);
  watch = watchOf(stage);
  await watch.step();
  await run(175_000);
  expect(told()).toEqual([]);
  await run(5000);
  expect(told()).toEqual(['subscription-silent']);
});

test('who looks on while another holds the lease does not take one that is silent for heard', async () => {
  await run(5000);
  await heard();
  await run(150_000);
  holds = false;
  stage.store.looks += 1;
  await run(25_000);
  expect(watch.settled()).toContain('subscription-silent');
  await run(5000);
  expect([told(), watch.settled()]).toEqual([[], []]);
  holds = true;
  await run(5000);
  expect([told(), watch.settled()]).toEqual([
    ['subscription-silent'],
    expect.arrayContaining(['subscription-silent']),
  ]);
});

test('one that never sends a heartbeat is told once the others would be, or after a day', async () => {
  await run(86_395_000);
  expect(told()).toEqual([]);
  await run(5000);
  expect(watch.conditions()).toMatchObject([
    { name: 'subscription-silent', detail: expect.stringContaining('s1 has never sent a heartbeat') },
  ]);
  const wanted = { eventTypeId: 'field', filters: [{ key: 'orgId', values: ['4711'] }], displayName: null };
  await heard();
  stage.store.nowMs = stage.clock.nowMs();
  await makeSubscriptionsApi(stage.doors).create({ ...wanted, user: null });
  await run(175_000);
  await heard();
  expect(told()).toEqual([]);
  await run(10_000);
  expect(watch.conditions()).toMatchObject([
    { labels: { subscription_id: 's2' }, detail: expect.stringContaining('they come every 60 s') },
  ]);
});

test('where heartbeats are not expected nobody is silent', async () => {
  watch = watchOf(stage, 0);
  await heard();
  // Nor is there anything that steps nearer to each other would find.
  expect(await watch.step()).toBe(5000);
  await run(86_400_000);
  expect(told()).toEqual([]);
});

describe('a subscription whose consent is refused', () => {
  const other = () => stage.calls.listed.get('c2')![0]!;
  /** Another user sees the same from now on, and the provider shows that one the subscription too. */
  const refuse = (listed: boolean) => {
    const [first] = stage.connections;
    stage.connections[0] = { ...first!, status: 'refused' };
    if (listed) stage.calls.listed.set('c2', [{ ...own(), status: 'Expired' }]);
  };

  test('is taken over and renewed by another connection that lists it, and is that one’s from then on', async () => {
    refuse(true);
    await look();
    expect([other().status, told()]).toEqual(['Active', []]);
    expect(stage.book.held('token')).toMatchObject([
      { connectionId: 'c2', user: 'bob', subscriptionId: 's1' },
    ]);
    stage.calls.listed.set('c2', [{ ...other(), status: 'Terminated' }]);
    await look();
    expect(told()).toEqual(['subscription-ended']);
  });

  test('is no alert of its own where nobody lists it, whoever else reads what it announces', async () => {
    refuse(false);
    await look();
    expect(told()).toEqual([]);
    stage.sees.set('c2', new Set(['4711', '4712']));
    await look();
    expect(told()).toEqual([]);
  });

  test('stays as it was found before the refusal', async () => {
    stage.calls.listed.set('c1', []);
    await look();
    const before = watch.conditions();
    expect(told()).toEqual(['subscription-ended']);
    refuse(false);
    await look();
    expect(watch.conditions()).toEqual(before);
    await makeSubscriptionsApi(stage.doors).end('s1');
    await look();
    expect(told()).toEqual([]);
  });

  test.each([
    ['ended', 'was found to have ended'],
    ['expired', 'was found expired and was not renewed'],
  ] as const)('is %s still after a restart, until it is ended here', async (how, words) => {
    refuse(false);
    watch = watchOf(stage);
    const [name, sinceMs] = [`subscription-${how}`, stage.clock.nowMs() - 1000] as const;
    open = [{ name, subscriptionId: 's1', sinceMs }];
    await watch.step();
    const detail = `Subscription s1 ${words}, and cannot be looked at now.`;
    expect(watch.conditions()).toEqual([{ name, sinceMs, detail, labels: { subscription_id: 's1' } }]);
    expect(watch.settled()).toContain(name);
    await makeSubscriptionsApi(stage.doors).end('s1');
    await look();
    expect(told()).toEqual([]);
  });

  test('is as it is looked at where somebody can, whatever was told before', async () => {
    watch = watchOf(stage);
    open = [{ name: 'subscription-ended', subscriptionId: 's1', sinceMs: 0 }];
    await watch.step();
    expect(told()).toEqual([]);
  });
});

describe('a subscription whose token the settings name', () => {
  const target = 'https://tramline.example/webhooks';
  const other = (more: object = {}) => ({
    id: 'x1',
    status: 'Active',
    token: 'set-token',
    targetEndpoint: { targetType: 'https', uri: target },
    ...more,
  });
  const statusOf = (id: string) => stage.calls.listed.get('c2')!.find((one) => one.id === id)!.status;
  beforeEach(() => {
    stage = stageRoom({}, ['set-token', 'unlisted-token']);
    watch = watchOf(stage);
  });

  test('is renewed when it has expired, told when it cannot be, and when it was ended', async () => {
    stage.calls.listed.set('c2', [other({ status: 'Expired' })]);
    await watch.step();
    expect([statusOf('x1'), told()]).toEqual(['Active', []]);
    stage.calls.faults.change = faultOf('refused');
    stage.calls.listed.set('c2', [other({ status: 'Expired' })]);
    await look();
    expect(told()).toEqual(['subscription-expired']);
    stage.calls.listed.set('c2', [other({ status: 'Terminated' })]);
    await look();
    expect(watch.conditions()).toMatchObject([
      { name: 'subscription-ended', labels: { subscription_id: 'x1' } },
    ]);
  });

  test('is the next connection’s that lists it when its own is refused', async () => {
    stage.calls.listed.set('c2', [other()]);
    await watch.step();
    stage.connections[1] = { ...stage.connections[1]!, status: 'refused' };
    await look();
    stage.calls.listed.set('c1', [other()]);
    await look();
    expect(told()).toEqual([]);
    expect(stage.book.inState('token', 'given')[0]).toMatchObject({
      connectionId: 'c1',
      subscriptionId: 'x1',
    });
  });

  test('is let go of when it is ended here, and when another one has taken its place', async () => {
    stage.calls.listed.set('c2', [other()]);
    await watch.step();
    stage.calls.listed.set('c2', [other({ status: 'Terminated' }), other({ id: 'x2' })]);
    await look();
    expect(told()).toEqual([]);
    await makeSubscriptionsApi(stage.doors).end('x2');
    await look();
    expect([statusOf('x2'), told()]).toEqual(['Terminated', []]);
  });

  test('is left alone when it delivers elsewhere, or ended before it was seen', async () => {
    const elsewhere = { targetType: 'https', uri: 'https://elsewhere.example/webhooks' };
    const left = [
      other({ status: 'Expired', targetEndpoint: elsewhere }),
      other({ id: 'x2', status: 'Terminated' }),
      other({ id: 'x3', status: 'Expired', token: 'of-somebody-else' }),
    ];
    stage.calls.listed.set('c2', left);
    await watch.step();
    expect([stage.calls.written, told()]).toEqual([[], []]);
  });

  test('is silent when its heartbeats stay away, also one that no connection sees', async () => {
    stage.calls.listed.set('c2', [other()]);
    await watch.step();
    const [seen, unseen] = stage.book.givenTokens().map(({ id }) => id);
    expect(stage.book.tokens().map(({ id }) => id)).toEqual([seen, unseen]);
    await heard(0);
    await heard(1);
    await run(180_000);
    expect(watch.conditions().map(({ labels }) => labels!.subscription_id)).toEqual(['x1', 'token-2']);
  });

  test('is forgotten when the settings name its token no more, which is refused from then on', async () => {
    await watch.step();
    expect(stage.store.rows.map(({ state }) => state)).toEqual(['given', 'given']);
    const { store } = stage;
    stage = stageRoom({}, ['unlisted-token'], store);
    expect(await stage.book.refresh().then(() => stage.book.tokens().length)).toBe(1);
    watch = watchOf(stage);
    await watch.step();
    expect(store.rows).toHaveLength(1);
  });
});

test('only who holds the lease looks; who lost it tells what it found until another has seen it all', async () => {
  become('Terminated');
  await look();
  holds = false;
  become('Expired');
  await look();
  expect([own().status, told()]).toEqual(['Expired', ['subscription-ended']]);
  expect(watch.settled()).not.toContain('subscription-ended');
  stage.store.looks += 1;
  await run(5000);
  expect([own().status, told()]).toEqual(['Expired', []]);
});

test('who gets the lease back knows nothing of ends before another look: somebody else may have found one meanwhile', async () => {
  await look();
  expect(watch.settled()).toContain('subscription-ended');
  holds = false;
  await watch.step();
  holds = true;
  pausedMs = 30_000;
  await watch.step();
  expect(watch.settled()).not.toContain('subscription-ended');
  pausedMs = 0;
  await watch.step();
  expect(watch.settled()).toContain('subscription-ended');
});

test('between two that live the lease moves without a moment in which nobody tells', async () => {
  become('Terminated');
  await look();
  const [first, next] = [watch, watchOf(stage)];
  // The next one holds the lease from now on, and the provider breaks its listing off.
  const both = () => [...first.conditions(), ...next.conditions()].map(({ name }) => name);
  holds = false;
  await first.step();
  const ended = own();
  stage.calls.faults.list = faultOf('transient');
  stage.calls.listed.set('c1', []);
  holds = true;
  await next.step();
  holds = false;
  await first.step();
  expect(both()).toEqual(['subscription-ended']);
  expect(next.settled()).not.toContain('subscription-ended');
  stage.calls.faults = {};
  stage.calls.listed.set('c1', [ended]);
  holds = true;
  await stage.clock.advance(900_000);
  await next.step();
  expect([...new Set(both())]).toEqual(['subscription-ended']);
  expect(next.settled()).toContain('subscription-ended');
  holds = false;
  await first.step();
  expect([first.conditions(), both()]).toEqual([[], ['subscription-ended']]);
  // It was made good while the other looked after it: who gets the lease back does not tell it again.
  stage.calls.listed.set('c1', [{ ...own(), status: 'Active' }]);
  holds = true;
  await stage.clock.advance(900_000);
  await next.step();
  holds = false;
  await first.step();
  expect(both()).toEqual([]);
  holds = true;
  await first.step();
  expect(both()).toEqual([]);
});

test('the lease moves without a moment in which nobody tells a silence, however long its pause is asked for', async () => {
  await heard();
  await run(200_000);
  const [first, next] = [watch, watchOf(stage)];
  let answer = () => {};
  gate = new Promise((resolve) => (answer = resolve));
  const stepping = next.step();
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  holds = false;
  await first.step();
  const both = () => [...first.conditions(), ...next.conditions()].map(({ name }) => name);
  expect(both()).toEqual(['subscription-silent']);
  answer();
  await stepping;
  await first.step();
  expect([first.conditions(), both()]).toEqual([[], ['subscription-silent']]);
});

test('who lost the lease tells for an hour at most what it found, where no look of another is ever whole', async () => {
  become('Terminated');
  await look();
  const told = () => watch.conditions().map(({ name }) => name);
  holds = false;
  await watch.step();
  await stage.clock.advance(3_600_000);
  await watch.step();
  expect(told()).toEqual(['subscription-ended']);
  await stage.clock.advance(5000);
  await watch.step();
  expect(told()).toEqual([]);
});

test('a subscription whose creation got no answer is found by its token, one that never was is forgotten', async () => {
  const api = makeSubscriptionsApi(stage.doors);
  stage.calls.faults.create = faultOf('transient');
  const wanted = { eventTypeId: 'field', filters: [{ key: 'orgId', values: ['4711'] }], displayName: null };
  stage.calls.taken = true;
  await api.create({ ...wanted, user: null }).catch(() => {});
  stage.calls.taken = false;
  await api.create({ ...wanted, user: null }).catch(() => {});
  await look();
  expect(stage.book.held('token').map(({ subscriptionId }) => subscriptionId)).toEqual(['s1', 's2', null]);
  await stage.clock.advance(86_400_000);
  await watch.step();
  expect(stage.book.held('token').map(({ subscriptionId }) => subscriptionId)).toEqual(['s1', 's2']);
});

test('while a value is offered the provider’s settings are looked at every minute', async () => {
  await makeSubscriptionsApi(stage.doors).setDelivery({ authorization: { generate: true } });
  await look();
  await stage.clock.advance(60_000);
  await watch.step();
  expect(confirmations).toBe(2);
});

test('a value that is made between two looks is looked for within a minute, not with the next look alone', async () => {
  await look();
  await makeSubscriptionsApi(stage.doors).setDelivery({ authorization: { generate: true } });
  await watch.step();
  expect(confirmations).toBe(0);
  await stage.clock.advance(60_000);
  await watch.step();
  expect(confirmations).toBe(1);
});

test('after a start it is known who ended or expired once every listing was read', async () => {
  const next = watchOf(stage);
  expect(next.settled()).not.toContain('subscription-ended');
  stage.calls.faults.list = faultOf('transient');
  await next.step();
  expect(next.settled()).not.toContain('subscription-ended');
  stage.calls.faults = {};
  await stage.clock.advance(900_000);
  await next.step();
  expect(next.settled()).toEqual(expect.arrayContaining(['subscription-ended', 'subscription-expired']));
});

test('after a start it is known who is silent once everyone was heard, or is told', async () => {
  await heard();
  await stage.clock.advance(1000);
  const next = watchOf(stage);
  expect(next.settled()).not.toContain('subscription-silent');
  await stage.clock.advance(1000);
  await heard();
  expect(next.settled()).toContain('subscription-silent');
  // A start that nobody misses is known at once; one after a break is not.
  const soon = watchOf(stage);
  await soon.step();
  expect(soon.settled()).toContain('subscription-silent');
  await stage.clock.advance(61_000);
  const last = watchOf(stage);
  await last.step();
  expect(last.settled()).not.toContain('subscription-silent');
  for (let passed = 0; passed < 240_000; passed += 5000) {
    await stage.clock.advance(5000);
    await last.step();
  }
  expect(last.conditions()).toMatchObject([{ name: 'subscription-silent' }]);
  expect(last.settled()).toContain('subscription-silent');
});
