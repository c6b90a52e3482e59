/**
 * Connections change under the work: from OAuth 1 to OAuth 2 for the same user, and from one user to another who sees the
 * same organization. What was published stays what it was, and nothing is published for the change.
 */
import type { SyncView } from '../../src/model/sync';
import { runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import { type Resource, soon } from '../support/story';
import { until } from '../support/until';

let stage: ConnectStory;
afterEach(() => stage.story.end());

async function connectUser(name: string, ...words: string[]): Promise<void> {
  const command = stage.connect(...words);
  await stage.consent(command, name);
  expect((await command.ended).code).toBe(0);
}

const sequences = async (machine: Resource): Promise<string[]> =>
  (await stage.story.eventsOf(machine)).map((event) => String(event.sequence));

test('an OAuth 2 consent replaces the OAuth 1 one, of which nobody said whose it is; organizations, tasks and sequences stay', async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1' } });
  const { story } = stage;
  await story.simulator.changeSettings({ currentUser: false });
  const user = 'harrow-user-1';
  await connectUser(user);
  const [before] = await stage.connections();
  expect(before!.user).toBe(before!.id);
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'By OAuth 1' });
  await story.untilEvents(machine!, 1);
  await story.untilRest();
  const tasks = (await story.tasks()).map(({ id, resourceId }) => [id, resourceId]);

  await story.service.stop();
  await story.serve({ settings: { PROVIDER_AUTH: 'oauth2' } });
  await connectUser(user);
  expect(await stage.connections()).toEqual([
    { ...before!, user, auth: 'oauth2', renews: true, expiresAt: expect.any(String) },
  ]);
  expect(await story.untilRest()).toMatchObject({ published: 1, lost: 0 });
  expect((await story.tasks()).map(({ id, resourceId }) => [id, resourceId])).toEqual(tasks);
  expect(await story.events()).toHaveLength(1);

  await story.simulator.changeEquipment(machine!.id, { name: 'By OAuth 2' });
  await story.untilEvents(machine!, 2);
  expect(await sequences(machine!)).toEqual(['00000000000000000001', '00000000000000000002']);
  const last = (await story.readsOf(machine!)).at(-1);
  expect(last!.verdict).toMatchObject({ scheme: 'bearer', valid: true });
});

test('of two users who see one organization one is used, and the other takes over when it fails', async () => {
  stage = await beginConnectStory({ flags: { users: 2, overlap: 1 } });
  const { story } = stage;
  await connectUser('harrow-user-1', '--user', 'harrow-user-1');
  await connectUser('harrow-user-2', '--user', 'harrow-user-2');
  const all = await stage.connections();
  expect(all.map(({ organizations }) => organizations.length)).toEqual([2, 2]);
  const [machine] = await story.equipment();
  const change = async (name: string, count: number) => {
    await story.simulator.changeEquipment(machine!.id, { name });
    await story.untilEvents(machine!, count);
    const [read] = (await story.readsOf(machine!)).filter(({ status }) => status === 200).slice(-1);
    return read!.verdict.user!;
  };
  const sync = async () => {
    const before = (await story.requests()).length;
    await story.ask(`/api/sync?organization=${machine!.organizationId}`, 'POST');
    const view = await until(async () => {
      const now = await story.ask<SyncView>('/api/sync');
      return now.state === 'running' ? null : now;
    }, soon);
    expect(view).toMatchObject({ state: 'ended', partial: [], trouble: 'none' });
    const listings = (await story.requests())
      .slice(before)
      .filter(({ url }) => url.includes('organizationIds='));
    expect(listings).toHaveLength(1);
    return listings[0]!.verdict.user;
  };
  const first = await change('One', 1);
  const listedBy = await sync();
  await story.untilRest();
  const known = (await story.events()).length;
  expect(await change('Two', 2)).toBe(first);
  expect(await sync()).toBe(listedBy);

  await story.simulator.expireTokens({ user: first, refresh: true });
  const second = await change('Three', 3);
  expect(new Set([first, second]).size).toBe(2);
  const statuses = new Map((await stage.connections()).map(({ user, status }) => [user, status]));
  expect([statuses.get(first), statuses.get(second)]).toEqual(['refused', 'valid']);
  expect((await story.organization(machine!.organizationId)).access).toBe('active');
  await until(async () => (await story.alerts()).length > 0, soon);
  expect(await story.alerts()).toMatchObject([
    {
      name: 'TramlineReauthorize',
      state: 'firing',
      severity: 'warning',
      labels: { connection_id: all.find(({ user }) => user === first)!.id },
      annotations: { description: expect.stringContaining(': its organizations are read through others.') },
    },
  ]);
  expect(await sync()).toBe(second);
  await story.untilRest();
  expect(await story.events()).toHaveLength(known + 2);
  const { steps } = await story.explain(machine!.uri);
  const switched = steps.filter(({ step }) => step === 'connection-switched');
  expect(switched).toHaveLength(1);
  expect(switched[0]).toMatchObject({
    from: all.find(({ user }) => user === first)!.id,
    to: all.find(({ user }) => user === second)!.id,
  });

  // It is kept, also when the first user is back.
  await connectUser(first, '--user', first);
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  expect(await change('Four', 4)).toBe(second);
  expect(await sync()).toBe(second);
  await story.untilRest();
  expect(await story.events()).toHaveLength(known + 3);
});

test('what only the user who saw it last can say is gone waits for that user, and is another’s once that one was shown it', async () => {
  const settings = { GONE_AFTER_SECONDS: '1', RETRY_AGE_SECONDS: '3' };
  stage = await beginConnectStory({ flags: { users: 2, overlap: 1 }, settings });
  const { story } = stage;
  for (const user of ['harrow-user-1', 'harrow-user-2']) await connectUser(user, '--user', user);
  const [one, two, three] = await story.equipment();
  const change = async (machine: Resource, name: string, count: number) => {
    await story.simulator.changeEquipment(machine.id, { name });
    await story.untilEvents(machine, count);
  };
  const hide = (machine: Resource) =>
    story.simulator.setFaults([{ match: { path: new URL(machine.uri).pathname }, status: 404 }]);
  const typesOf = async (machine: Resource) =>
    (await story.eventsOf(machine)).map(({ type }) => type.split('.').at(-2));
  for (const machine of [one!, two!, three!]) await change(machine, 'Seen', 1);
  await story.untilRest();
  const reader = (await story.readsOf(one!)).at(-1)!.verdict.user!;
  const [former, other] = [true, false].map(
    async (is) => (await stage.connections()).find(({ user }) => (user === reader) === is)!.id,
  );
  const refuse = async (machine: Resource, count: number) => {
    await story.simulator.expireTokens({ user: reader, refresh: true });
    await change(machine, `Seen by the other ${count}`, count);
  };

  // It may only not be shared with the other.
  await refuse(two!, 2);
  await hide(one!);
  await story.simulator.changeEquipment(one!.id, { name: 'Changed' });
  await until(async () => (await story.quarantine()).length > 0, soon);
  const detail = `not found through connection ${await other}, but ${await former} saw it last and alone can say that it is gone`;
  expect(await story.quarantine()).toMatchObject([
    { reason: 'no-connection', detail: expect.stringContaining(detail) },
  ]);
  expect(JSON.stringify(await story.explain(one!.uri))).toContain(detail);
  expect(await typesOf(one!)).toEqual(['created']);
  await story.simulator.setFaults([]);
  await connectUser(reader, '--user', reader);
  await story.untilEvents(one!, 2);
  expect((await story.readsOf(one!)).at(-1)!.verdict.user).toBe(reader);
  expect(await story.quarantine()).toEqual([]);

  // The other's list has shown it since.
  await refuse(one!, 3);
  await story.ask(`/api/sync?organization=${three!.organizationId}`, 'POST');
  await until(async () => (await story.ask<SyncView>('/api/sync')).state !== 'running', soon);
  await hide(three!);
  await story.simulator.changeEquipment(three!.id, { name: 'Gone' });
  await story.untilEvents(three!, 2);
  expect(await typesOf(three!)).toEqual(['created', 'deleted']);
  expect(await story.untilRest()).toMatchObject({ lost: 0, quarantined: 0 });
});

test('a store whose keys were turned is sealed anew, and the former key can go', async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1' } });
  const { story } = stage;
  await connectUser('harrow-user-1');
  const key = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString('base64')}`;
  const [first, next] = [key('k1', 7), key('k2', 9)];
  await story.service.stop();
  const reencrypt = (keys: string) =>
    runCommand(['migrate', '--reencrypt', '--json'], { ...stage.environment, ENCRYPTION_KEYS: keys });

  // Without the key that is still needed nothing starts, and nothing is changed.
  await expect(story.serve({ settings: { ENCRYPTION_KEYS: next } })).rejects.toThrow(
    /ENCRYPTION_KEYS must .*: no encryption key with id k1 is configured; where a key is lost: `tramline /,
  );
  expect(await reencrypt(next)).toMatchObject({ code: 2, error: expect.stringContaining('k1') });

  // The connection, and the webhook token of the settings.
  expect(JSON.parse((await reencrypt(`${next},${first}`)).out)).toEqual({ resealed: 2, kept: 0 });
  expect(JSON.parse((await reencrypt(`${next},${first}`)).out)).toEqual({ resealed: 0, kept: 2 });
  await story.serve({ settings: { ENCRYPTION_KEYS: next } });
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Under the next key' });
  await until(async () => (await story.eventsOf(machine!)).length === 1, soon);
});

test('a consent of the other kind than the settings name is asked for in its own way, and read by', async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1' }, settings: { PROVIDER_AUTH: 'oauth2' } });
  const { story } = stage;
  await connectUser('harrow-user-1', '--auth', 'oauth1');
  expect(await stage.connections()).toMatchObject([{ auth: 'oauth1', status: 'valid' }]);
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'By OAuth 1' });
  await story.untilEvents(machine!, 1);
});

test('what one user does not find is read through another who is shown it, and is gone once neither finds it', async () => {
  stage = await beginConnectStory({
    flags: { users: 2, overlap: 1 },
    settings: { GONE_AFTER_SECONDS: '1' },
  });
  const { story } = stage;
  for (const user of ['harrow-user-1', 'harrow-user-2']) await connectUser(user, '--user', user);
  const [machine] = await story.equipment();
  const change = (name: string) => story.simulator.changeEquipment(machine!.id, { name });
  const reader = async () => (await story.readsOf(machine!)).at(-1)!.verdict.user!;
  const match = { path: new URL(machine!.uri).pathname };
  const hide = (more: { times?: number } = {}) =>
    story.simulator.setFaults([{ match, ...more, status: 404 }]);
  await change('Seen');
  await story.untilEvents(machine!, 1);
  await story.untilRest();
  const first = await reader();

  await hide({ times: 1 });
  await change('Shared with the other alone');
  await story.untilEvents(machine!, 2);
  expect(await reader()).not.toBe(first);
  await story.untilRest();

  await hide();
  await change('Gone');
  await story.untilEvents(machine!, 3);
  const types = (await story.eventsOf(machine!)).map(({ type }) => type.split('.').at(-2));
  expect(types).toEqual(['created', 'updated', 'deleted']);
  expect(await story.untilRest()).toMatchObject({ lost: 0, quarantined: 0 });
});

test('what one user does not find, while another is only answered with a failure, is set aside in the end', async () => {
  stage = await beginConnectStory({
    flags: { users: 2, overlap: 1 },
    settings: { GONE_AFTER_SECONDS: '1', RETRY_AGE_SECONDS: '3' },
  });
  const { story } = stage;
  for (const user of ['harrow-user-1', 'harrow-user-2']) await connectUser(user, '--user', user);
  const [missed, read] = await story.equipment();
  await story.simulator.changeEquipment(missed!.id, { name: 'Seen' });
  await story.untilEvents(missed!, 1);
  await story.untilRest();
  // Whoever is asked first finds nothing, and the other is asked after that.
  const match = { path: new URL(missed!.uri).pathname };
  const answers = Array.from({ length: 80 }, (_, at) => ({ match, times: 1, status: at % 2 ? 503 : 404 }));
  await story.simulator.setFaults(answers);
  await story.simulator.changeEquipment(missed!.id, { name: 'Missed' });
  let changes = 0;
  await until(async () => {
    await story.simulator.changeEquipment(read!.id, { name: `Read ${changes++}` });
    return (await story.quarantine()).length > 0;
  }, soon);
  expect(await story.quarantine()).toMatchObject([{ reason: 'never-readable', address: missed!.uri }]);
});
