/**
 * Goal: a user who no longer sees an organization hands it over to another who does: what waits is read by the other, the
 * switch is journalled, nothing is published for it, and nobody is paged. Where the list of what a user sees is refused, a
 * person is told, and it is said of what is set aside for it. Where the other's consent was refused, that is what it waits for.
 * Method: two users who see both organizations; the one whose token reads an organization loses sight of it while changes
 * of it wait. The provider then refuses that user what is the organization's, and does not list it to that user. Last it
 * refuses the lists themselves. Listings
 * are asked for a twentieth of the time at most: what passes until the next is stepped over with the service's clock.
 */
import { runCommand } from '../support/command';
import { makeMovedClock } from '../support/moved-clock';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const clock = makeMovedClock();
let story: Story;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { users: 2, overlap: 1 },
    settings: clock.environment,
  });
});
afterAll(() => story.end());

type ConnectionSeen = { id: string; user: string; organizations: string[]; unlisted?: string };
const connections = () => story.ask<ConnectionSeen[]>('/api/connections');
const lastReader = async (machine: Resource) =>
  (await story.readsOf(machine)).filter(({ status }) => status === 200).at(-1)?.verdict.user;
const listsOfLife = async () =>
  (await story.requestsOfLife()).filter(
    ({ path, status }) => /\/organizations$/.test(path) && status === 200,
  );
const switchesOf = async ({ uri }: Resource) =>
  (await story.explain(uri)).steps.filter(({ step }) => step === 'connection-switched');

test('an organization that one user loses is read on by the other, and only what changed is published', async () => {
  const machines = await story.equipment();
  const [organizationId, other] = (await story.simulator.state()).organizations.map(({ id }) => id);
  await story.post(machines.map((machine) => notificationOf(machine)));
  await story.untilRest();
  const published = (await story.events()).length;
  const first = await lastReader(machines[0]!);
  const held = await connections();
  expect(held.map(({ organizations }) => organizations.length)).toEqual([2, 2]);

  // A minute counts as a clock that is off.
  clock.advance(50_000);
  // Work waits: one machine changed, the others are only announced.
  await story.simulator.setFaults([{ match: { path: '/equipment/' }, status: 503 }]);
  await story.simulator.changeEquipment(machines[0]!.id, { name: 'Changed while it was handed over' });
  await story.post(machines.map((machine) => notificationOf(machine)));
  await until(async () => (await story.ledger()).waiting === machines.length, soon);
  await story.simulator.changeUser(first!, { sees: [other!] });
  await story.simulator.setFaults([]);

  expect(await story.untilRest()).toMatchObject({ lost: 0, quarantined: 0 });
  const second = held.find(({ user }) => user !== first)!;
  const former = held.find(({ user }) => user === first)!;
  for (const machine of machines) {
    expect(await lastReader(machine)).toBe(second.user);
    expect(await switchesOf(machine)).toMatchObject([{ from: former.id, to: second.id }]);
  }
  const news = (await story.events()).slice(published);
  expect(news.map(({ subject }) => subject)).toEqual([`${organizationId}/equipment/${machines[0]!.id}`]);
  expect(await story.organization(organizationId!)).toMatchObject({ access: 'active', parked: 0 });
  expect((await story.alerts()).filter(({ state }) => state === 'firing')).toEqual([]);
  // What the first user still sees is still that user's.
  const seen = new Map((await connections()).map(({ user, organizations }) => [user, organizations]));
  expect([seen.get(first!), new Set(seen.get(second.user))]).toEqual([
    [other],
    new Set([organizationId, other]),
  ]);
});

test('the switch is kept when the first user sees the organization again, and publishes nothing either', async () => {
  const [machine] = await story.equipment();
  const [organizationId, other] = (await story.simulator.state()).organizations.map(({ id }) => id);
  const published = (await story.events()).length;
  const second = await lastReader(machine!);
  const first = (await connections()).find(({ user }) => user !== second)!.user;
  await story.simulator.changeUser(first, { sees: [organizationId!, other!] });
  await story.post([notificationOf(machine!)]);
  await story.untilRest();
  expect(await lastReader(machine!)).toBe(second);
  expect(await switchesOf(machine!)).toHaveLength(1);
  expect(await story.events()).toHaveLength(published);
});

test('where a lost organization’s resources are not found at all, nothing counts as gone, and the other user reads on', async () => {
  const [machine] = await story.equipment();
  const [organizationId, other] = (await story.simulator.state()).organizations.map(({ id }) => id);
  const published = (await story.events()).length;
  const second = await lastReader(machine!);
  const first = (await connections()).find(({ user }) => user !== second)!.user;
  // The first user is known to see it before the second loses it.
  const sees = async (user: string) => (await connections()).find((one) => one.user === user)!.organizations;
  await story.service.stop();
  await story.serve();
  await until(async () => (await sees(first)).includes(organizationId!), soon);
  // The list of the one is asked for before that of the other.
  await until(async () => (await listsOfLife()).length >= 2, soon);
  // Once: whoever asks when the loss is known asks through the first user, to whom it is there.
  await story.simulator.setFaults([{ match: { path: '^/isg/equipment' }, times: 1, status: 404 }]);
  await story.simulator.changeUser(second!, { sees: [other!] });
  await story.post([notificationOf(machine!)]);
  await until(async () => {
    clock.advance(10_000);
    return !(await sees(second!)).includes(organizationId!);
  }, soon);
  expect(await story.untilRest()).toMatchObject({ lost: 0, gone: 0, quarantined: 0 });
  const missed = (await story.readsOf(machine!)).filter(({ status }) => status === 404);
  expect(missed.map(({ verdict }) => verdict.user)).toEqual([second]);
  expect(await lastReader(machine!)).toBe(first);
  expect(await switchesOf(machine!)).toHaveLength(2);
  expect(await story.events()).toHaveLength(published);
});

test('a list that the provider goes on refusing is told to on-call, and is why what nobody sees is set aside', async () => {
  const [machine] = await story.equipment();
  const uri = machine!.uri.replace(machine!.id, '31415');
  const hint = {
    ...notificationOf(machine!),
    targetResource: uri,
    metadata: [{ key: 'orgId', value: '27182' }],
  };
  const path = '/organizations($|\\?)';
  await story.simulator.setFaults([{ match: { method: 'GET', path }, status: 403, body: {} }]);
  // What was listed a moment ago is not listed again yet.
  clock.advance(600_000);
  await story.post([hint]);
  const why = /its list of organizations could not be read: page 1: .*\(forbidden\)/;
  const refused = await until(async () => {
    const all = await connections();
    return all.every(({ unlisted }) => unlisted !== undefined) ? all : null;
  }, soon);
  for (const { unlisted } of refused) expect(unlisted).toMatch(why);
  const told = async (...words: string[]) => {
    const { out } = await runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
    return out.replace(/\s+/g, ' ');
  };
  expect(await told('connections')).toMatch(why);

  clock.advance(301_000);
  const alerts = await until(async () => {
    const all = await story.alerts();
    const ofLists = all.filter(({ name }) => name === 'TramlineOrganizationsUnlisted');
    return ofLists.length === refused.length ? ofLists : null;
  }, soon);
  for (const { annotations } of alerts) expect(annotations.description).toMatch(why);

  // A list that is under way now would count as one from before the hour; while one is, what waits is due within a second.
  await until(async () => {
    const [waiting] = (await story.tasks('postponed')).filter(({ address }) => address === uri);
    return waiting !== undefined && Date.parse(waiting.dueAt!) - clock.nowMs() > 1500;
  }, soon);
  clock.advance(3_600_000);
  const entry = await until(async () => {
    const quarantined = await story.quarantine();
    return quarantined.find(({ reason }) => reason === 'no-connection');
  }, soon);
  expect(entry.detail).toMatch(why);
  expect(await told('explain', uri)).toMatch(why);

  await story.simulator.setFaults([]);
  clock.advance(600_000);
  await story.post([hint]);
  await until(async () => (await connections()).every(({ unlisted }) => unlisted === undefined), soon);
});

test('what a user loses that only a refused consent saw waits for that consent, and is read on once it is listed again', async () => {
  const [machine] = await story.equipment();
  const [organizationId, other] = (await story.simulator.state()).organizations.map(({ id }) => id);
  const first = (await lastReader(machine!))!;
  const { id: refusedId } = (await connections()).find(({ user }) => user === first)!;
  const { user: second } = (await connections()).find(({ user }) => user !== first)!;
  const isSeen = async () =>
    (await connections()).find(({ user }) => user === second)!.organizations.includes(organizationId!);
  const organization = () => story.organization(organizationId!);
  const texts = async () =>
    (await story.alerts())
      .filter(({ name, state }) => state === 'firing' && name === 'TramlineReauthorize')
      .map(({ labels, annotations }) => ({ labels, text: Object.values(annotations).join(' ') }));
  const untilSeen = (seen: boolean) =>
    until(async () => {
      clock.advance(10_000);
      return (await isSeen()) === seen;
    }, soon);
  /** A start lists what each user sees. */
  const seesBoth = async () => {
    await story.simulator.changeUser(second, { sees: [organizationId!, other!] });
    await story.service.stop();
    await story.serve();
    await untilSeen(true);
  };
  await seesBoth();
  await story.simulator.expireTokens({ user: first, refresh: true });
  await story.post([notificationOf(machine!)]);
  await story.untilRest();
  expect(await lastReader(machine!)).toBe(second);
  expect(await organization()).toMatchObject({ access: 'active' });
  await until(async () => (await texts()).some(({ text }) => text.includes('read through others')), soon);

  await story.simulator.changeUser(second, { sees: [other!] });
  await story.post([notificationOf(machine!)]);
  await untilSeen(false);
  expect(await organization()).toMatchObject({ access: 'reauthorize' });
  await until(async () => (await organization()).parked === 1, soon);
  const [alert, ...more] = await until(async () => {
    const all = await texts();
    return all.some(({ text }) => text.includes(organizationId!)) ? all : null;
  }, soon);
  expect(more).toEqual([]);
  expect(alert).toMatchObject({ labels: { connection_id: refusedId } });
  expect(alert!.text).not.toMatch(/read through others|nothing waits for it alone|connections revoke/);

  await seesBoth();
  // What is parked moves once the list is heeded, which is after it is seen.
  await until(async () => (await organization()).access === 'active', soon);
  await until(async () => (await organization()).parked === 0, soon);
  expect(await story.untilRest()).toMatchObject({ lost: 0 });
  expect(await organization()).toMatchObject({ access: 'active', parked: 0 });
});
