/**
 * S7, F-10, F-12 and F-13 through the whole service: what a refusal or an absence means, and for whom. One organization's
 * terms, one resource's refusal, one 404 and one wrong claim of an owner never become more than they are.
 */
import { schemaFaults } from '../support/event-schemas';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

const pathOf = ({ uri }: Resource): string => new URL(uri).pathname;

async function publish(machine: Resource, name: string): Promise<void> {
  const before = (await story.eventsOf(machine)).length;
  await story.simulator.changeEquipment(machine.id, { name });
  expect((await story.post([notificationOf(machine)])).status).toBe(204);
  await story.untilEvents(machine, before + 1);
}

/** Takes a resource away at the provider, or brings it back, without a notification. */
async function remove({ id }: Resource): Promise<void> {
  const response = await fetch(`${story.simulator.control}equipment/${id}?notify=false`, {
    method: 'DELETE',
  });
  expect(response.ok).toBe(true);
}

async function bringBack({ id }: Resource): Promise<void> {
  const address = `${story.simulator.control}equipment/${id}/restore?notify=false`;
  expect((await fetch(address, { method: 'POST' })).ok).toBe(true);
}

const typesOf = async (machine: Resource): Promise<string[]> =>
  (await story.eventsOf(machine)).map(
    ({ type, sequence }) => `${type.split('.').at(-2)} ${Number(sequence)}`,
  );

test('F-10: a 403 for terms pages once with who and where, parks, and ends by itself', async () => {
  story = await beginStory({ delivers: false });
  const [machine, other] = await story.equipment();
  const { organizationId } = machine!;
  const { name } = await story.organization(organizationId);
  await publish(machine!, 'Before');
  await story.simulator.setOrganization(organizationId, { termsAccepted: false });
  await story.simulator.changeEquipment(machine!.id, { name: 'Behind terms' });
  await story.post([notificationOf(machine!), notificationOf(other!)]);
  await until(async () => (await story.organization(organizationId)).parked === 2, soon);
  const pages = () =>
    story.log('alert') as unknown as { state: string; annotations: Record<string, string> }[];
  await until(() => pages().length > 0, soon);
  expect(pages()[0]!.annotations.description).toContain(`${name} (organization ${organizationId})`);
  // As many as waited when it was told; it goes on with what waits.
  const shown = async () => (await story.alerts())[0]?.annotations.description;
  await until(async () => (await shown())?.includes('2 tasks wait'), soon);
  expect(pages()[0]!.annotations.action_url).toContain(`/organizations/${organizationId}/terms`);

  await story.simulator.setOrganization(organizationId, { termsAccepted: true });
  await until(async () => (await story.organization(organizationId)).access === 'active', soon);
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, parked: 0, lost: 0 });
  await until(() => pages().length > 1, soon);
  expect(pages().map(({ state }) => state)).toEqual(['firing', 'resolved']);
});

describe('F-12: a 403 for one resource only', () => {
  const denied = { status: 403, body: { errors: [{ message: 'Access Denied' }] } };

  const unauthorized = { status: 401, body: { errors: [{ message: 'Unauthorized' }] } };
  const accesses = async (): Promise<string> => {
    const organizations = (await story.ask('/api/organizations')) as { access: string }[];
    return [...new Set(organizations.map(({ access }) => access))].join();
  };
  const isPaged = (state: string) => () =>
    story.log('alert').some((page) => page.name === 'TramlineReauthorize' && page.state === state);

  /** The same token is taken elsewhere, or it was no answer of the provider. */
  async function refuseTokensHereAndThere(machine: Resource, gated: Resource): Promise<void> {
    const page = { status: 401, body: '<html>sign in</html>', headers: { 'content-type': 'text/html' } };
    await story.simulator.setFaults([
      { match: { path: pathOf(machine) }, ...unauthorized },
      { match: { path: pathOf(gated) }, times: 1, ...page },
    ]);
    const before = (await story.eventsOf(gated)).length;
    await story.simulator.changeEquipment(gated.id, { name: 'Behind a gateway' });
    await story.post([notificationOf(machine), notificationOf(gated)]);
    await until(async () => (await story.quarantine()).length === 1, soon);
    expect(await story.quarantine()).toMatchObject([{ what: 'task', reason: 'no-access' }]);
    await story.untilEvents(gated, before + 1);
    expect(await accesses()).toBe('active');
  }

  /** The provider takes no token for a while, and nobody consents anew when it does. */
  async function refuseTokensEverywhere({ organizationId }: Resource): Promise<void> {
    const probe = () => story.ask(`/api/organizations/${organizationId}/probe`, 'POST');
    await story.simulator.setFaults([{ match: {}, ...unauthorized }]);
    await probe();
    await until(async () => (await accesses()) === 'reauthorize', soon);
    await until(isPaged('firing'), soon);
    await probe();
    expect(await accesses()).toBe('reauthorize');
    await story.simulator.setFaults([]);
    await probe();
    await until(async () => (await accesses()) === 'active', soon);
    await until(isPaged('resolved'), soon);
  }

  test('sets that resource aside and blocks neither the organization nor the connection, and so does a 401', async () => {
    const settings = { PROBE_SECONDS: '600', PROBE_SECONDS_MAX: '600' };
    story = await beginStory({ delivers: false, settings });
    const [machine, other] = await story.equipment();
    await publish(machine!, 'Allowed');
    await story.simulator.setFaults([{ match: { path: pathOf(machine!) }, ...denied }]);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await until(async () => (await story.quarantine()).length === 1, soon);
    expect(await story.quarantine()).toMatchObject([{ what: 'task', reason: 'no-access' }]);
    await publish(other!, 'Next to it');
    expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 2, quarantined: 1, lost: 0 });
    expect(await story.organization(machine!.organizationId)).toMatchObject({ access: 'active', parked: 0 });
    expect((await story.events()).map(({ topic }) => topic)).not.toContain('tramline.organization-access.v1');

    // A later hint is one attempt, and here the access was given back.
    await story.simulator.setFaults([]);
    await publish(machine!, 'Allowed again');
    expect(await story.quarantine()).toEqual([]);

    await refuseTokensHereAndThere(machine!, other!);
    await refuseTokensEverywhere(machine!);
  });

  test('lets one that was never read wait alone: the refusal is laid on nobody', async () => {
    story = await beginStory({ delivers: false });
    const [machine, other] = await story.equipment();
    await story.simulator.setFaults([{ match: { path: pathOf(machine!) }, ...denied }]);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    const waiting = await until(async () => {
      const tasks = await story.tasks('postponed');
      return tasks.length > 0 ? tasks : null;
    }, soon);
    expect(waiting).toMatchObject([{ code: 'refused-unattributed' }]);
    await publish(other!, 'Next to it');
    expect(await story.organization(machine!.organizationId)).toMatchObject({ access: 'active', parked: 0 });
    await story.simulator.setFaults([]);
    await story.untilEvents(machine!, 1);
    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 2, lost: 0 });
  });
});

describe('F-13: a resource that is not found', () => {
  test('is deleted when it is still absent later, and created again when it comes back', async () => {
    story = await beginStory({ delivers: false, settings: { GONE_AFTER_SECONDS: '1' } });
    const [machine] = await story.equipment();
    await publish(machine!, 'Here');
    await remove(machine!);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    const [, deleted] = await story.untilEvents(machine!, 2);
    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 1, gone: 1, lost: 0 });
    expect(await typesOf(machine!)).toEqual(['created 1', 'deleted 2']);
    expect(Object.keys(deleted!.data as object).toSorted()).toEqual([
      'id',
      'observedAt',
      'organizationId',
      'source',
    ]);
    expect(deleted!.data).toMatchObject({ id: machine!.id, organizationId: machine!.organizationId });
    const absent = (await story.readsOf(machine!)).filter(({ status }) => status === 404);
    expect(Date.parse(absent.at(-1)!.at) - Date.parse(absent[0]!.at)).toBeGreaterThanOrEqual(1_000);

    await bringBack(machine!);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    const events = await story.untilEvents(machine!, 3);
    expect(await typesOf(machine!)).toEqual(['created 1', 'deleted 2', 'created 3']);
    expect(schemaFaults('equipment', events[2]!.data)).toEqual([]);
  });

  test('once, as before a read model has caught up, is not deleted', async () => {
    story = await beginStory({ delivers: false, settings: { GONE_AFTER_SECONDS: '1' } });
    const [machine, unseen] = await story.equipment();
    await publish(machine!, 'Here');
    for (const { uri } of [machine!, unseen!]) {
      await story.simulator.setFaults([
        { match: { path: new URL(uri).pathname }, times: 1, status: 404, body: { message: 'not yet' } },
      ]);
      expect((await story.post([notificationOf({ ...machine!, uri })])).status).toBe(204);
      const settling = await until(async () => {
        const tasks = await story.tasks('settling');
        return tasks.length > 0 ? tasks : null;
      }, soon);
      expect(settling).toMatchObject([{ code: 'absent-once' }]);
      await story.untilRest();
    }
    expect(await typesOf(machine!)).toEqual(['created 1']);
    expect(await typesOf(unseen!)).toEqual(['created 1']);
    expect(await story.ledger()).toMatchObject({ published: 2, unchanged: 1, gone: 0, lost: 0 });
  });

  test('once, of what was created just now, is read again long before it would count as gone', async () => {
    story = await beginStory({ delivers: false, settings: { SETTLE_SECONDS: '1' } });
    const [unseen] = await story.equipment();
    await story.simulator.setFaults([
      { match: { path: pathOf(unseen!) }, times: 1, status: 404, body: { message: 'not yet' } },
    ]);
    expect((await story.post([notificationOf(unseen!)])).status).toBe(204);
    await story.untilEvents(unseen!, 1);
    expect(await typesOf(unseen!)).toEqual(['created 1']);
  });

  test('with 410 is deleted at once', async () => {
    story = await beginStory({ delivers: false });
    const [machine] = await story.equipment();
    await publish(machine!, 'Here');
    await story.simulator.setFaults([{ match: { path: pathOf(machine!) }, times: 1, status: 410 }]);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await story.untilEvents(machine!, 2);
    expect(await typesOf(machine!)).toEqual(['created 1', 'deleted 2']);
    expect(await story.untilRest()).toMatchObject({ published: 1, gone: 1, lost: 0 });
  });

  test.each([404, 410])('at one of its addresses alone, with %i, is read at the other', async (status) => {
    story = await beginStory({
      delivers: false,
      settings: { GONE_AFTER_SECONDS: '1', SETTLE_SECONDS: '0' },
    });
    const [machine] = await story.equipment();
    const viewed = { ...machine!, uri: `${machine!.uri}?view=all` };
    await publish(machine!, 'Here');
    expect((await story.post([notificationOf(viewed)])).status).toBe(204);
    await story.untilRest();
    await story.simulator.setFaults([{ match: { path: `${pathOf(machine!)}\\?view=all` }, status }]);
    await story.simulator.changeEquipment(machine!.id, { name: 'Still here' });
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await story.untilRest();
    expect(await typesOf(machine!)).toEqual(['created 1', 'updated 2']);
    expect(await story.ledger()).toMatchObject({ published: 2, unchanged: 1, gone: 0, lost: 0 });
  });

  test('and was never seen is gone, and publishes nothing', async () => {
    story = await beginStory({ delivers: false, settings: { GONE_AFTER_SECONDS: '1' } });
    const [machine] = await story.equipment();
    const uri = `${story.simulator.equipment}/equipment/999999999`;
    expect((await story.post([notificationOf({ ...machine!, uri })])).status).toBe(204);
    expect(await story.untilRest()).toMatchObject({ accepted: 1, gone: 1, published: 0, lost: 0 });
    expect(await story.events()).toEqual([]);
  });
});

describe('S7: a delivery that names another owner than the resource has', () => {
  test('blocks the new owner alone where the resource went to an organization that is blocked', async () => {
    story = await beginStory({ delivers: false });
    const [known, machine, third] = await story.equipment();
    const [{ organizationId: newOwner } = machine!] = await story.equipment(1);
    await publish(known!, 'Stays');
    await publish(machine!, 'Goes');
    await story.simulator.setOrganization(newOwner, { termsAccepted: false });
    await story.simulator.changeEquipment(machine!.id, { organization: { id: Number(newOwner) } });
    // As a notification from just before says it.
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await until(async () => (await story.organization(newOwner)).access === 'terms-required', soon);
    await publish(third!, 'Next to it');
    expect(await story.organization(machine!.organizationId)).toMatchObject({ access: 'active', parked: 0 });
    const firing = () => story.alerts().then((all) => all.filter(({ state }) => state === 'firing'));
    await until(async () => (await firing()).length > 0, soon);
    expect(await firing()).toMatchObject([
      { name: 'TramlineTermsRequired', labels: { organization_id: newOwner } },
    ]);

    await story.simulator.setOrganization(newOwner, { termsAccepted: true });
    await until(async () => (await story.organization(newOwner)).access === 'active', soon);
    expect(await story.untilRest()).toMatchObject({ accepted: 4, published: 4, parked: 0, lost: 0 });
    expect(await typesOf(machine!)).toEqual(['created 1', 'deleted 2']);
    expect(await typesOf({ ...machine!, organizationId: newOwner })).toEqual(['created 1']);
  });

  test('is published under the owner that the document names, when the connection sees it', async () => {
    story = await beginStory({ delivers: false });
    const [machine] = await story.equipment();
    const [other] = await story.equipment(1);
    const claim = notificationOf({ uri: other!.uri, organizationId: machine!.organizationId });
    expect((await story.post([claim])).status).toBe(204);
    const [event] = await story.untilEvents(other!, 1);
    expect(event!.data).toMatchObject({ id: other!.id, organizationId: other!.organizationId });
    expect(await story.events()).toHaveLength(1);
  });

  test('is read with the claimed owner’s token only, and a document that this token should not see is set aside', async () => {
    story = await beginStory({ delivers: false, flags: { users: 2 } });
    const [machine] = await story.equipment();
    const [other] = await story.equipment(1);
    await publish(machine!, 'Mine');
    const mine = await usersOf(machine!);
    expect(mine).toHaveLength(1);

    // The provider refuses once; and then it does not, and shows what it should not.
    const claim = notificationOf({ uri: other!.uri, organizationId: machine!.organizationId });
    const match = { path: pathOf(other!) };
    await story.simulator.setFaults([
      { match, times: 1, status: 403 },
      { match, body: other!.content },
    ]);
    expect((await story.post([claim])).status).toBe(204);
    await until(async () => (await story.quarantine()).length === 1, soon);
    expect((await story.readsOf(other!)).map(({ status }) => status)).toContain(403);
    expect(await story.quarantine()).toMatchObject([{ what: 'task', reason: 'organization-mismatch' }]);
    expect(await usersOf(other!)).toEqual(mine);
    expect(await story.eventsOf(other!)).toEqual([]);
    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 1, quarantined: 1, lost: 0 });
    for (const { access } of await story.ask<{ access: string }[]>('/api/organizations')) {
      expect(access).toBe('active');
    }
  });
});

/** Whose tokens the resource was asked for with. */
async function usersOf(machine: Resource): Promise<unknown[]> {
  return [...new Set((await story.readsOf(machine)).map(({ verdict }) => verdict.user))];
}
