/**
 * A user consents by OAuth 2, and the connection is kept alive: codes with PKCE and state, a renewal that many tasks and
 * a command share, a refresh token that turns each time, one that is refused, and the end of a consent by our own hand.
 */
import { Browser } from '../support/browser';
import { runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import { soon } from '../support/story';
import { until } from '../support/until';

let stage: ConnectStory;
beforeEach(async () => {
  stage = await beginConnectStory({});
});
afterEach(() => stage.story.end());

const user = 'harrow-user-1';

async function connectUser(name = user): Promise<void> {
  const command = stage.connect();
  await stage.consent(command, name);
  expect((await command.ended).code).toBe(0);
}

async function coverage(wanted: string): Promise<number> {
  const rows = (await stage.story.simulator.coverage()) as { row: string; count: number }[];
  return rows.find(({ row }) => row === wanted)!.count;
}

test('the provider says who consented; a renewal is made once for all, and the refresh token turns', async () => {
  const { story } = stage;
  await connectUser();
  expect(await stage.connections()).toMatchObject([{ user, auth: 'oauth2', renews: true, status: 'valid' }]);

  // Everything at once finds the token ended: all machines, and a listing.
  const before = await coverage('oauth2.refresh');
  const catalogs = async () =>
    (await story.requests()).filter(({ url, status }) => url.endsWith('/platform/') && status === 200).length;
  const machines = await story.equipment();
  await story.simulator.expireTokens();
  for (const { id } of machines) await story.simulator.changeEquipment(id, { name: `After ${id}` });
  for (const machine of machines) await story.untilEvents(machine, 1);
  expect((await coverage('oauth2.refresh')) - before).toBe(1);
  const rest = await story.untilRest();
  expect(rest).toMatchObject({ published: machines.length, parked: 0, quarantined: 0, lost: 0 });
  expect(await story.alerts()).toEqual([]);

  // The second one works only with the refresh token that the first one brought.
  const catalogsBefore = await catalogs();
  await story.simulator.expireTokens();
  await story.simulator.changeEquipment(machines[0]!.id, { name: 'Once more' });
  const listed = await runCommand(['equipment', 'list', '--json'], stage.environment);
  expect([listed.error, listed.code]).toEqual(['', 0]);
  await story.untilEvents(machines[0]!, 2);
  expect((await coverage('oauth2.refresh')) - before).toBe(2);
  // Another security context: the catalog was read again.
  expect(await catalogs()).toBeGreaterThan(catalogsBefore);
});

test('F-9: a refused refresh token blocks under one alert, and the same user’s new consent ends it', async () => {
  const { story } = stage;
  await connectUser();
  const [connection] = await stage.connections();
  const { organizations } = await story.simulator.state();
  await story.simulator.expireTokens({ refresh: true });
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'While refused' });
  for (const { id } of organizations) {
    await until(async () => (await story.organization(id)).access === 'reauthorize', soon);
  }
  await until(async () => (await story.alerts()).length > 0, soon);
  expect(await story.alerts()).toMatchObject([
    { name: 'TramlineReauthorize', state: 'firing', labels: { connection_id: connection!.id } },
  ]);
  expect((await story.organization(organizations[0]!.id)).message).toContain('invalid_grant');
  expect(await stage.connections()).toMatchObject([{ status: 'refused' }]);

  await connectUser();
  expect(await stage.connections()).toMatchObject([{ id: connection!.id, status: 'valid' }]);
  await story.untilEvents(machine!, 1);
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  expect(await story.untilRest()).toMatchObject({ parked: 0, lost: 0 });
});

test('a consent that is revoked is taken back at the provider, erased here, and needs a new one', async () => {
  const { story, environment } = stage;
  await connectUser();
  const [connection] = await stage.connections();
  const { organizations } = await story.simulator.state();
  const revoked = await runCommand(['connections', 'revoke', connection!.id, '--json'], environment);
  expect(JSON.parse(revoked.out)).toEqual({
    id: connection!.id,
    state: 'revoked',
    atProvider: true,
    subscriptions: [],
  });
  expect(await stage.connections()).toEqual([]);
  for (const { id } of organizations) expect((await story.organization(id)).access).toBe('reauthorize');
  expect((await runCommand(['connections', 'revoke', connection!.id], environment)).code).toBe(3);
  const { out } = await runCommand(['connections'], environment);
  expect(out).toContain('tramline connect');

  await connectUser();
  for (const { id } of organizations) {
    await until(async () => (await story.organization(id)).access === 'active', soon);
  }
});

test('what needs a consent ends with 5 and says whose, while there is none, when it is refused and when it was revoked', async () => {
  const { story } = stage;
  const [organization] = (await story.simulator.state()).organizations;
  const needing = [
    ['equipment'],
    ['delivery'],
    ['delivery', 'set', '--status', 'active'],
    ['subscriptions'],
    ['subscriptions', 'create', '--event-type', 'equipment', '--organization', organization!.id],
    ['subscriptions', 'renew', 'any'],
  ];
  const told = () =>
    Promise.all(
      needing.map(async (words) => {
        const { code, out, error } = await runCommand(words, stage.environment);
        return [words, code, out, error.split('\n', 1)[0]];
      }),
    );
  const each = (words: string) => needing.map((of) => [of, 5, '', expect.stringContaining(words)]);
  expect(await told()).toEqual(each('no user’s consent is known here: tramline connect'));
  await connectUser();
  await story.untilLearned();
  const [connection] = await stage.connections();
  await story.simulator.expireTokens({ refresh: true });
  // It is refused from the first call on.
  expect((await runCommand(['equipment'], stage.environment)).code).toBe(5);
  expect(await told()).toEqual(each(`a user must consent again: connection ${connection!.id}`));
  expect((await runCommand(['connections', 'revoke', connection!.id], stage.environment)).code).toBe(0);
  expect(await told()).toEqual(each('no user’s consent is known here: tramline connect'));
});

test('somebody else’s consent is given back, and a user who declines is not asked again', async () => {
  const command = stage.connect('--user', 'somebody-else');
  const page = await stage.consent(command, user);
  expect(page.status).toBe(403);
  expect(await command.ended).toMatchObject({
    code: 5,
    error: expect.stringContaining('consent-other-user'),
  });
  expect(await stage.connections()).toEqual([]);

  const declined = stage.connect();
  const browser = new Browser();
  const end = await stage.consent(declined, null, browser);
  expect([end.status, end.text]).toEqual([200, expect.stringContaining('You declined')]);
  expect((await declined.ended).code).toBe(5);
});

test('without a service the consent is carried by hand, into the store itself', async () => {
  const { story, environment } = stage;
  await story.service.stop();
  const command = stage.connect('--oob');
  const browser = new Browser();
  const address = await command.untilPrinted(/(http:\S+code_challenge=\S+)/);
  const asked = await browser.open(address);
  expect(asked.text).toContain('<code>a code to copy</code>');
  // No browser opens the address that stands for none: the code is on a page.
  const page = await browser.answer(asked, user);
  expect([page.status, page.address]).toEqual([200, expect.stringMatching(/^http:/)]);
  command.write(/Code <code>([^<]+)<\/code>/.exec(page.text)?.[1] ?? '');
  expect(await command.ended).toMatchObject({ code: 0, out: expect.stringContaining(user) });
  const listed = await runCommand(['connections', '--json'], environment);
  expect(JSON.parse(listed.out)).toMatchObject([{ user, renews: true }]);
  await story.serve();
  await story.untilLearned();
});
