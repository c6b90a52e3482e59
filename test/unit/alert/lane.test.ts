// Goal: a sink is asked one thing at a time, is left alone after a failure, and nothing that it does is lost or thrown.
import { makeLane, type PostLine } from '../../../src/alert/lane';
import type { AlertSink, PostResult } from '../../../src/alert/sink';
import { makeHandClock } from '../../support/hand-clock';
import { anAlert, noonMs } from './samples';

function laneOf(post: AlertSink['post'], random = () => 0.999, resendMs = 60_000) {
  const clock = makeHandClock(noonMs);
  const lines: PostLine[] = [];
  const sink: AlertSink = { name: 'alertmanager', repeats: true, keeps: true, post };
  return { clock, lines, lane: makeLane(sink, clock, (line) => lines.push(line), random, resendMs) };
}

const alerts = ['1', '2', '3'].map((id) => anAlert({ labels: { organization_id: id } }));
const [first, second, third] = alerts.map((alert) => alert.fingerprint) as [string, string, string];

test('what each alert came to is known once', async () => {
  const { lane, lines } = laneOf(async () => ({
    taken: [first],
    failed: [{ fingerprint: second, retry: false }],
    status: 400,
  }));
  await lane.post(alerts);
  expect(lane.collect().map(({ fingerprint, outcome }) => [fingerprint, outcome])).toEqual([
    [first, 'taken'],
    [second, 'refused'],
    [third, 'failed'],
  ]);
  expect(lane.collect()).toEqual([]);
  const line = { sink: 'alertmanager', alerts: 1, status: 400, tookMs: 0 };
  expect(lines).toEqual([
    { ...line, outcome: 'accepted' },
    { ...line, outcome: 'refused' },
    { ...line, outcome: 'unreachable' },
  ]);
});

test('what only some instances of a sink took is told with those that did not', async () => {
  const { lane, lines } = laneOf(async () => ({
    taken: [first],
    failed: [{ fingerprint: second, retry: true }],
    status: null,
    instances: [
      { name: 'http://one', outcome: 'accepted', status: 200 },
      { name: 'http://two', outcome: 'unreachable', status: null },
    ],
  }));
  await lane.post(alerts.slice(0, 2));
  expect(lines.map(({ outcome, missed }) => [outcome, missed])).toEqual([
    ['partial', ['http://two']],
    ['unreachable', ['http://two']],
  ]);
  expect(lane.collect().map(({ outcome }) => outcome)).toEqual(['taken', 'failed']);
});

test('while a post is under way there is no other', async () => {
  let answer: (result: PostResult) => void = () => {};
  const { lane, clock, lines } = laneOf(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const posted = lane.post(alerts);
  expect(lane.isReady()).toBe(false);
  await clock.advance(4000);
  answer({ taken: [first, second, third], failed: [] });
  await posted;
  expect(lane.isReady()).toBe(true);
  expect(lines).toEqual([
    { sink: 'alertmanager', outcome: 'accepted', alerts: 3, status: null, tookMs: 4000 },
  ]);
});

test('a sink that throws has failed for all, and is asked again after a growing time', async () => {
  const { lane, clock } = laneOf(async () => {
    throw new Error('away');
  });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 7; attempt += 1) {
    await lane.post(alerts);
    let waitedMs = 0;
    for (; !lane.isReady(); waitedMs += 1000) await clock.advance(1000);
    waits.push(waitedMs);
  }
  expect(lane.collect().every(({ outcome }) => outcome === 'failed')).toBe(true);
  expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test('after a success there is no waiting, also when single alerts were refused', async () => {
  const answers: PostResult[] = [
    { taken: [], failed: alerts.map(({ fingerprint }) => ({ fingerprint, retry: true })) },
    { taken: [first, second], failed: [{ fingerprint: third, retry: false }] },
  ];
  const { lane } = laneOf(
    async () => answers.shift() as PostResult,
    () => 0,
  );
  await lane.post(alerts);
  expect(lane.isReady()).toBe(false);
  await lane.post(alerts);
  expect(lane.isReady()).toBe(true);
});

test('a sink that asks for a pause gets it, but for no longer than five minutes', async () => {
  const pauses = [45_000, 86_400_000];
  const { lane, clock } = laneOf(async () => ({
    taken: [],
    failed: [],
    status: 429,
    retryAfterMs: pauses.shift() ?? null,
  }));
  for (const pauseMs of [45_000, 300_000]) {
    await lane.post(alerts);
    await clock.advance(pauseMs - 1);
    expect(lane.isReady()).toBe(false);
    await clock.advance(1);
    expect(lane.isReady()).toBe(true);
  }
});

test('a sink that failed often is tried again within the time of a repetition', async () => {
  const { lane, clock } = laneOf(
    async () => ({ taken: [], failed: [] }),
    () => 0.999,
    1000,
  );
  for (let failed = 0; failed < 8; failed += 1) {
    await lane.post(alerts);
    expect(lane.isReady()).toBe(false);
    await clock.advance(1000);
    expect(lane.isReady()).toBe(true);
  }
});
