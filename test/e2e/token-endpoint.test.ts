/**
 * Goal: a token endpoint that is slow, broken or away in the middle of a renewal ends nothing: what waits for the token is
 * published when it answers again, one alert says so while it lasts, and it resolves by itself.
 * Method: the access token is ended at the provider while a change of a machine is announced; faults strike at the token
 * endpoint alone. What lasts is stepped over with the service's clock.
 */
import type { AlertView } from '../../src/model/api';
import { makeMovedClock } from '../support/moved-clock';
import type { SimulatorFault } from '../support/simulator';
import { beginStory, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const match = { method: 'POST', path: '/signin/oauth2/default/v1/token' };
const timeoutMs = 1000;
const clock = makeMovedClock();

let story: Story;
let machine: Resource;
beforeAll(async () => {
  story = await beginStory({
    flags: { users: 1, organizations: 1, equipment: 1 },
    settings: { PROVIDER_TIMEOUT_MS: String(timeoutMs), SYNC_INTERVAL_SECONDS: '0', ...clock.environment },
  });
  machine = (await story.equipment())[0]!;
});
afterAll(() => story.end());

const unanswered = async (): Promise<AlertView[]> =>
  (await story.alerts()).filter(({ name }) => name === 'TramlineProviderUnavailable');
const firing = async () => (await unanswered()).filter(({ state }) => state === 'firing');

/** How often the one fault may still strike. */
async function strikesLeft(): Promise<number> {
  const response = await fetch(`${story.simulator.control}faults`);
  return ((await response.json()) as { times: number }[])[0]!.times;
}

/** The token ends, and a change that needs another one is announced. */
async function changeWithout(token: SimulatorFault, name: string): Promise<void> {
  await story.simulator.setFaults([token]);
  await story.simulator.expireTokens({ kinds: ['access'] });
  await story.simulator.changeEquipment(machine.id, { name });
}

async function expectNothingEnded(): Promise<void> {
  expect(await story.ask('/api/connections')).toMatchObject([{ status: 'valid' }]);
  expect(await story.organization(machine.organizationId)).toMatchObject({ access: 'active' });
}

test.each<[string, Partial<SimulatorFault>]>([
  ['is slow', { delayMs: timeoutMs / 2 }],
  ['says nothing for longer than a call may take', { delayMs: timeoutMs * 2, status: 503 }],
  ['answers 503', { status: 503 }],
  ['answers 429', { status: 429 }],
  ['answers 400 without a word for it', { status: 400, body: {} }],
  ['ends the connection', { close: true }],
  ['is cut in the middle of its answer', { status: 200, body: { token_type: 'Bearer' }, truncateAt: 9 }],
  ['answers a page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }],
])(
  'a token endpoint that %s once ends nothing and pages nobody; the change is published',
  async (what, fault) => {
    const before = (await story.eventsOf(machine)).length;
    await changeWithout({ match, times: 1, ...fault }, `Changed while it ${what}`);
    await story.untilEvents(machine, before + 1);
    expect(await strikesLeft()).toBe(0);
    await expectNothingEnded();
    expect(await unanswered()).toEqual([]);
    expect(await story.untilRest()).toMatchObject({ lost: 0, quarantined: 0, parked: 0 });
  },
);

test('one that stays away is asked seldom and told once; when it answers again everything heals by itself', async () => {
  const before = (await story.eventsOf(machine)).length;
  const strikes = 1000;
  await changeWithout({ match, times: strikes, status: 503 }, 'Changed while nobody gave a token');
  // The service knows of it by now: its clock is moved over what follows, not over the answer.
  await until(async () => (await story.tasks('postponed')).length > 0, { ...soon, what: 'the task to wait' });
  expect(await strikesLeft()).toBeLessThan(strikes);
  expect(await firing()).toEqual([]);
  clock.advance(60_000);
  const [alert] = await until(async () => {
    const found = await firing();
    return found.length > 0 ? found : null;
  }, soon);
  expect(alert!.annotations.description).toContain(
    `The tokens of one connection cannot be renewed: the token call at ${new URL(story.simulator.catalog).origin}${match.path}: expected 200, got 503`,
  );
  await expectNothingEnded();
  expect((await story.eventsOf(machine)).length).toBe(before);
  expect(strikes - (await strikesLeft())).toBeLessThan(10);

  await story.simulator.setFaults([]);
  // A call that was under way may end in a last pause, which begins after the clock was moved: then it is moved again.
  await until(
    async () => {
      clock.advance(600_000);
      return (await story.eventsOf(machine)).length > before;
    },
    { ...soon, everyMs: 1000, what: 'the change to be published' },
  );
  await until(async () => (await firing()).length === 0, soon);
  expect(await unanswered()).toHaveLength(1);
  await expectNothingEnded();
  expect(await story.untilRest()).toMatchObject({ lost: 0, quarantined: 0, parked: 0 });
});
