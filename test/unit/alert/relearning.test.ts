// Goal: a process that was started anew, or that follows another, tells nobody that something is over before it knows.
// Method: each condition is opened by one life of the alerting, and the next one on the same book knows of none at first.
import { makeAlerting } from '../../../src/alert/alerting';
import { conditionRows } from '../../../src/alert/catalogue';
import type { Alert, Condition, ConditionName } from '../../../src/model/alert';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { noonMs } from './samples';

const options = {
  resendMs: 60_000,
  leaseMs: 15_000,
  holdMs: 30_000,
  groupAbove: 3,
  gatherMs: 1000,
  resolveRepeatMs: 600_000,
  journalMs: 30 * 86_400_000,
  runbookBase: 'https://runbooks.example',
  ownNames: [],
};
const names = Object.keys(conditionRows) as ConditionName[];
const slow = names.filter((name) => conditionRows[name].relearnedWithinMs > 0);
const minuteMs = 60_000;

/** Processes on one store; a sink that takes everything and keeps what began or ended. */
function stage() {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const news: string[] = [];
  const told = new Map<string, string>();
  const life = (
    holder: string,
    conditions: Condition[] = [],
    settled: ConditionName[] = [],
    overTopics: string[] = [],
  ) => {
    const post = async (alerts: Alert[]) => {
      for (const { fingerprint, name, state, startsAtMs } of alerts) {
        const line = `${name} ${state} ${startsAtMs - noonMs}`;
        if (told.get(fingerprint) !== line) news.push(line);
        told.set(fingerprint, line);
      }
      return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
    };
    const alerting = makeAlerting({
      store,
      holder,
      sinks: [{ name: 'alertmanager', repeats: true, keeps: false, post }],
      clock,
      conditions: () => conditions,
      isSettled: (name) => settled.includes(name),
      isOver: (name, { topic }) => name === 'topic-denied' && overTopics.includes(String(topic)),
      options,
    });
    /** Steps as often as a second in the first minute, and then each 30 s. */
    const pass = async (forMs: number) => {
      for (let ms = 0; ms < forMs; ) {
        const stepMs = ms < minuteMs ? 1000 : 30_000;
        await clock.advance(stepMs);
        await alerting.step();
        ms += stepMs;
      }
    };
    return { conditions, settled, pass, alerting };
  };
  return { clock, store, life, news: () => news.splice(0) };
}

const aCondition = (name: ConditionName, of: Partial<Condition> = {}): Condition => ({
  name,
  sinceMs: noonMs,
  detail: 'It is so.',
  ...of,
});

test.each(slow)(
  '%s stays open after a start until it is learned anew, as the same incident',
  async (name) => {
    const { life, news, clock } = stage();
    await life('a', [aCondition(name)]).pass(10_000);
    expect(news()).toEqual([`${conditionRows[name].name} firing 0`]);
    const next = life('a');
    await next.pass(conditionRows[name].relearnedWithinMs - 30_000);
    expect(news()).toEqual([]);
    next.conditions.push(aCondition(name, { sinceMs: clock.nowMs() }));
    await next.pass(5 * minuteMs);
    expect(news()).toEqual([]);
    // Who told of it says no more: now it is over.
    next.conditions.length = 0;
    await next.pass(5 * minuteMs);
    expect(news()).toEqual([`${conditionRows[name].name} resolved 0`]);
  },
);

test.each(slow)('%s that is not learned anew in its time is over', async (name) => {
  const { life, news } = stage();
  await life('a', [aCondition(name)]).pass(10_000);
  news();
  await life('a').pass(conditionRows[name].relearnedWithinMs + 2 * minuteMs);
  expect(news()).toEqual([`${conditionRows[name].name} resolved 0`]);
});

test.each(slow)('%s is over as soon as it is known not to hold', async (name) => {
  const { life, news } = stage();
  await life('a', [aCondition(name)]).pass(10_000);
  news();
  await life('a', [], [name]).pass(minuteMs);
  expect(news()).toEqual([`${conditionRows[name].name} resolved 0`]);
});

test('a topic that was written since the start is denied no more, and another of which nothing is known stays so', async () => {
  const { life, news, store } = stage();
  const denied = (topic: string) => aCondition('topic-denied', { labels: { topic } });
  await life('a', [denied('t'), denied('u')]).pass(10_000);
  news();
  await life('a', [], [], ['t']).pass(2 * minuteMs);
  expect(news()).toEqual(['TramlineTopicDenied resolved 0']);
  expect(store.rows().map(({ labels, state }) => [labels.topic, state])).toEqual([
    ['t', 'resolved'],
    ['u', 'firing'],
  ]);
});

test('what another process tells of a topic is not over by what this one wrote there', async () => {
  const { life, news, store } = stage();
  const leader = life('a', [], [], ['t']);
  await leader.pass(1000);
  await store.shareConditions('b', [aCondition('topic-denied', { labels: { topic: 't' } })], 20_000);
  await leader.pass(5 * minuteMs);
  expect(news()).toEqual(['TramlineTopicDenied firing 0']);
});

test.each(names.filter((name) => !slow.includes(name)))('%s is known at a start', async (name) => {
  const { life, news } = stage();
  await life('a', [aCondition(name)]).pass(10_000);
  news();
  await life('a').pass(minuteMs);
  expect(news()).toEqual([`${conditionRows[name].name} resolved 0`]);
});

test('what was learned anew and ends while the time still runs is over at once', async () => {
  const { life, news } = stage();
  await life('a', [aCondition('client-refused')]).pass(10_000);
  const next = life('a', [aCondition('client-refused')]);
  await next.pass(minuteMs);
  next.conditions.length = 0;
  news();
  await next.pass(minuteMs);
  expect(news()).toEqual(['TramlineClientRefused resolved 0']);
});

test('what had ended before the start is not begun again', async () => {
  const { life, news } = stage();
  const former = life('a', [aCondition('client-refused')]);
  await former.pass(10_000);
  former.conditions.length = 0;
  await former.pass(5000);
  news();
  await life('a').pass(minuteMs);
  expect(news()).toEqual(['TramlineClientRefused resolved 0']);
});

test('what a process told that is silent now is not over, and what one that lives tells no more is', async () => {
  const { life, news, store } = stage();
  const leader = life('a');
  await leader.pass(1000);
  await store.shareConditions('b', [aCondition('subscription-ended')], 20_000);
  await store.shareConditions('c', [aCondition('clock-off')], 20_000);
  await leader.pass(conditionRows['subscription-silent'].relearnedWithinMs + minuteMs);
  expect(news()).toHaveLength(2);
  store.forget('b');
  await store.shareConditions('c', [], 20_000);
  await leader.pass(5 * minuteMs);
  expect(news()).toEqual([`TramlineClockOff resolved 0`]);
  await leader.pass(60 * minuteMs);
  expect(news()).toEqual(['TramlineSubscriptionEnded resolved 0']);
});

test('what a process told of one connection is not over because another tells the same of another connection', async () => {
  const { life, news, store } = stage();
  const of = (id: string) => aCondition('client-refused', { labels: { connection_id: id } });
  const leader = life('a', [of('c1')]);
  await store.shareConditions('b', [of('c2')], 20_000);
  await leader.pass(minuteMs);
  expect(news()).toHaveLength(2);
  store.forget('b');
  await leader.pass(5 * minuteMs);
  expect(news()).toEqual([]);
  await leader.pass(15 * minuteMs);
  expect(news()).toEqual(['TramlineClientRefused resolved 0']);
});

test('what a process told that was silent for a while is not over when it comes back and knows of nothing', async () => {
  const { life, news, store } = stage();
  const leader = life('a');
  await leader.pass(1000);
  await store.shareConditions('b', [aCondition('subscription-ended')], 20_000);
  await leader.pass(minuteMs);
  expect(news()).toHaveLength(1);
  store.forget('b');
  await leader.pass(minuteMs);
  await store.shareConditions('b', [], 20_000);
  await leader.pass(30 * minuteMs);
  expect(news()).toEqual([]);
  await leader.pass(30 * minuteMs);
  expect(news()).toEqual(['TramlineSubscriptionEnded resolved 0']);
});

test('one that follows another does not take what only that one knew for over', async () => {
  const { life, news, store } = stage();
  const former = life('a', [aCondition('client-refused')]);
  const next = life('b');
  await former.pass(10_000);
  await next.alerting.step();
  await former.alerting.close();
  await next.pass(6000);
  store.forget('a');
  news();
  await next.pass(10 * minuteMs);
  expect(news()).toEqual([]);
});

test('many that are learned anew one by one stay one incident', async () => {
  const { life, news, clock } = stage();
  const many = [1, 2, 3, 4].map((id) =>
    aCondition('subscription-silent', { labels: { subscription_id: `s${id}` } }),
  );
  await life('a', [...many]).pass(10_000);
  expect(news()).toEqual(['TramlineSubscriptionSilent firing 0']);
  const next = life('a');
  for (const one of many) {
    await next.pass(10 * minuteMs);
    next.conditions.push({ ...one, sinceMs: clock.nowMs() });
  }
  await next.pass(5 * minuteMs);
  expect(news()).toEqual([]);
});
