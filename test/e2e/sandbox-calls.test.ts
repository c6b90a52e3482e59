/**
 * Goal: the calls of the sandbox are used up by our own count, while the provider still answers: told at 80 % and at 95 %; at
 * 100 % no sync goes on and says so, what is notified is read as ever, and the alert says what to request. All of it outlives
 * the process.
 * Method: between two lives of the service the store is made to have booked as many calls as bring the limit near; the last
 * ones are made.
 */
import { join } from 'node:path';
import type { SandboxView } from '../../src/model/sandbox';
import { openStoreHere } from '../../src/store/open-store';
import { settingsFor } from '../contract/open-sqlite';
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const most = 150_000;
/** The service makes some calls of its own at its start. */
const room = 40;

let story: Story;
let machine: Resource;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { plan: 'sandbox' },
    settings: { SYNC_INTERVAL_SECONDS: '0', READ_GAP_MS: '0' },
  });
  machine = (await story.equipment())[0]!;
});
afterAll(() => story.end());

const run = (...words: string[]) =>
  runCommand(words, { ...story.settings(), TRAMLINE_URL: story.service.operationsUrl });
const calls = async () => {
  const { limits } = await story.ask<SandboxView>('/api/sandbox');
  return limits.find(({ limit }) => limit === 'calls')!;
};
const alertsOf = async (name: string) =>
  (await story.alerts()).filter((alert) => alert.name === name && alert.labels.limit === 'calls');
const firing = async (name: string) => (await alertsOf(name)).find(({ state }) => state === 'firing') ?? null;

/** Another life, at whose start so many are used. */
async function liveWith(used: number): Promise<void> {
  await story.service.stop();
  const store = openStoreHere(settingsFor(join(story.dataFolder, 'tramline.db')), Date.now);
  const month = new Date().toISOString().slice(0, 7);
  const booked = await store.countCalls(month, 0);
  await store.countCalls(month, used - booked);
  await store.close();
  await story.serve();
  await story.untilLearned();
  expect((await calls()).used).toBeLessThan(used + room);
}

/** What is notified is read, until so many are used. */
async function useUpTo(used: number): Promise<void> {
  const machines = [...(await story.equipment(0)), ...(await story.equipment(1))];
  for (let rounds = room; rounds > 0; rounds -= 1) {
    const wanted = used - (await calls()).used;
    if (wanted <= 0) return;
    await story.post(machines.slice(0, wanted).map((one) => notificationOf(one)));
    await story.untilRest();
  }
  throw new Error(`the calls do not come to ${used}`);
}

/** What `tramline config` and the metrics say is left, to who has no settings but where the service is. */
async function saidLeft(): Promise<[string | undefined, number]> {
  const { out } = await runCommand(['config'], { TRAMLINE_URL: story.service.operationsUrl });
  const [, said] = /^sandbox: (.*) calls left \(of \d{4}-\d{2}\)$/m.exec(out) ?? [];
  return [said, await story.metric('tramline_sandbox_left', { limit: 'calls' })];
}

test.each([
  ['80 %', 120_000, 'TramlineSandboxNear', 'TramlineSandboxLimit'],
  ['95 %', 142_500, 'TramlineSandboxLimit', 'TramlineSandboxNear'],
])('at %s of the calls an alert says so, and nothing stops', async (share, bound, name, other) => {
  await liveWith(bound - room);
  await story.untilRest();
  expect(await firing(name)).toBeNull();
  await useUpTo(bound);
  const alert = await until(() => firing(name), { ...soon, what: name });
  expect(alert.annotations.description).toContain(`${share} of the 150000 calls of the sandbox are used`);
  await until(async () => (await firing(other)) === null, soon);
  const [config, metric] = await saidLeft();
  expect([config, metric]).toEqual([`${(await calls()).left} of 150000`, (await calls()).left]);
  expect(metric).toBeLessThanOrEqual(most - bound);
  expect((await run('sync')).code).toBe(0);
});

const refused = 'the 150000 calls of the sandbox are used';

async function expectUsedUp(): Promise<void> {
  const alert = await until(async () => {
    const found = await firing('TramlineSandboxLimit');
    return found?.annotations.description?.includes('production') ? found : null;
  }, soon);
  expect(alert.annotations.description).toContain('100 % of the 150000 calls of the sandbox are used');
  expect(alert.annotations.description).toContain(
    'Request the move to production; a sync waits until then, or for the next month.',
  );
  expect(await saidLeft()).toEqual(['0 of 150000', 0]);
  // What is notified is read all the same.
  await story.untilRest();
  const count = (await story.eventsOf(machine)).length;
  await story.simulator.changeEquipment(machine.id, { name: `Changed after event ${count}` });
  await story.post([notificationOf(machine)]);
  await story.untilEvents(machine, count + 1);
}

test('when they are used up in the middle of a sync it stops and says so, and what is notified is read', async () => {
  await liveWith(most - room);
  await useUpTo(most - 5);
  const before = (await story.requests()).length;
  const { code, error } = await run('sync', '--full');
  expect([code, error]).toEqual([1, expect.stringContaining(refused)]);
  expect((await story.requests()).length - before).toBeLessThanOrEqual(8);
  await expectUsedUp();
});

test('so it is in the next life, also after a kill', async () => {
  await story.service.kill();
  await story.serve();
  await story.untilLearned();
  expect(await run('sync')).toMatchObject({ code: 1, error: expect.stringContaining(refused) });
  const listings = (await story.requestsOfLife()).filter(({ url }) =>
    /organizationIds=|\/fields\b/.test(url),
  );
  expect(listings).toEqual([]);
  await expectUsedUp();
  expect((await story.ledger()).lost).toBe(0);
});
