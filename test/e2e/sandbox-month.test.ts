/**
 * Goal: the calls of the sandbox are those of a calendar month in UTC, wherever the service stands: until its last second
 * what is used up stays used up, and with the first of the next month the count begins anew, by itself, for all.
 * Method: a service whose own time zone is hours ahead, begun at the end of a month with all calls booked; its clock is moved
 * over the turn in UTC.
 */
import { join } from 'node:path';
import type { SandboxView } from '../../src/model/sandbox';
import { openStoreHere } from '../../src/store/open-store';
import { settingsFor } from '../contract/open-sqlite';
import { runCommand } from '../support/command';
import { makeMovedClock } from '../support/moved-clock';
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

const most = 150_000;
const minuteMs = 60_000;
const clock = makeMovedClock();

let story: Story;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { plan: 'sandbox' },
    // Fourteen hours ahead: there it is the next month long before.
    settings: { SYNC_INTERVAL_SECONDS: '0', TZ: 'Pacific/Kiritimati', ...clock.environment },
  });
});
afterAll(() => story.end());

const monthAt = (ms: number) => new Date(ms).toISOString().slice(0, 7);
const run = (...words: string[]) =>
  runCommand(words, { ...story.settings(), TRAMLINE_URL: story.service.operationsUrl });
const calls = async () =>
  (await story.ask<SandboxView>('/api/sandbox')).limits.find(({ limit }) => limit === 'calls')!;
const firing = async () =>
  (await story.alerts()).filter(
    ({ name, state, labels }) =>
      name.startsWith('TramlineSandbox') && labels.limit === 'calls' && state === 'firing',
  );

/** The end of this month in UTC. */
function turnMs(): number {
  const now = new Date(clock.nowMs());
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}

test('what is used up at the end of a month is so until it ends in UTC, and not by the clock on the wall', async () => {
  await story.service.stop();
  clock.advance(turnMs() - clock.nowMs() - 10 * minuteMs);
  const store = openStoreHere(settingsFor(join(story.dataFolder, 'tramline.db')), clock.nowMs);
  await store.countCalls(monthAt(clock.nowMs()), most);
  await store.close();
  await story.serve();
  await story.untilLearned();
  const month = monthAt(clock.nowMs());
  expect(await calls()).toMatchObject({ left: 0, detail: `of ${month}` });
  await until(async () => (await firing()).length === 1, soon);
  const over = new Date(turnMs()).toISOString().replace('.000Z', 'Z');
  expect((await firing())[0]!.annotations.until_when).toBe(
    `nothing is lost: it is over by itself at ${over}`,
  );
  expect(await run('sync')).toMatchObject({
    code: 1,
    error: expect.stringContaining('calls of the sandbox are used'),
  });
  expect((await run('config')).out).toContain(`sandbox: 0 of ${most} calls left (of ${month})`);
});

test('with the first of the next month in UTC the count begins anew, the alert ends, and a sync goes on', async () => {
  clock.advance(turnMs() - clock.nowMs());
  const month = monthAt(clock.nowMs());
  await until(async () => (await calls()).detail === `of ${month}`, soon);
  expect((await calls()).used).toBeLessThan(1_000);
  await until(async () => (await firing()).length === 0, soon);
  // What the service asks for itself after ten minutes may come between two looks: those count that agree.
  const counted = async () => {
    const { used } = await calls();
    const { length } = await story.requests();
    return (await calls()).used === used ? { used, asked: length } : null;
  };
  const before = await until(counted, soon);
  expect((await run('sync')).code).toBe(0);
  const after = await until(counted, soon);
  expect(after.asked).toBeGreaterThan(before.asked);
  expect(after.used - before.used).toBe(after.asked - before.asked);
  expect((await run('config')).out).toContain(`calls left (of ${month})`);
});
