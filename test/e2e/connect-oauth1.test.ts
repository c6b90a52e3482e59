/**
 * A user consents by OAuth 1: through a one-time link in a browser, or by carrying the verifier from the provider's page
 * to the terminal. Afterwards the user's organizations are read. What is spent, wrong or somebody else's opens nothing,
 * and no secret of it stands in a log line, a page or what a command prints.
 */
import { Browser, type Page } from '../support/browser';
import { runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import { soon } from '../support/story';
import { until } from '../support/until';

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1' } });
});
afterAll(() => stage.story.end());

const user = 'harrow-user-1';
const shown = (page: Page, what: string) =>
  new RegExp(`${what} <code>([^<]+)</code>`).exec(page.text)?.[1] ?? '';

test('a user consents through the link, and what the user sees is read', async () => {
  const { story } = stage;
  const command = stage.connect('--user', user);
  const page = await stage.consent(command, user);
  expect([page.status, page.address.split('?')[0]]).toEqual([
    200,
    `${story.service.publicUrl}/connect/callback`,
  ]);
  const { code, out } = await command.ended;
  expect(code).toBe(0);
  const { organizations } = await story.simulator.state();
  const [connection] = await stage.connections();
  expect(connection).toMatchObject({ user, auth: 'oauth1', status: 'valid', renews: false });
  expect(connection!.organizations).toEqual(organizations.map(({ id }) => id).sort());
  const daysLeft = (Date.parse(connection!.expiresAt!) - Date.now()) / 86_400_000;
  expect([daysLeft > 364, daysLeft <= 365]).toEqual([true, true]);
  for (const { name } of organizations) expect(page.text).toContain(name);
  for (const text of [connection!.id, user, ...connection!.organizations]) expect(out).toContain(text);

  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Read after consent' });
  const [event] = await story.untilEvents(machine!, 1);
  expect((event!.data as { name: string }).name).toBe('Read after consent');
});

test('the link and the way back are good once, in one browser, and are kept from caches and other pages', async () => {
  const command = stage.connect('--user', user, '--json');
  const link = await command.untilPrinted(/"address":"([^"]+)"/);
  // A preview of the link, as chats and mail scanners make it, says nothing of itself.
  const preview = await new Browser().open(link);
  expect([preview.status, preview.text]).toEqual([200, expect.stringContaining('Give consent')]);
  const browser = new Browser();
  const consentPage = await browser.press(link);
  const again = await new Browser().press(link);
  expect([again.status, again.text]).toEqual([404, expect.stringContaining('not valid')]);
  const done = await browser.answer(consentPage, user);
  expect(done.status).toBe(200);
  expect((await browser.open(done.address)).status).toBe(404);
  expect(Object.fromEntries(done.headers)).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  });
  const lines = (await command.ended).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ step: 'link', auth: 'oauth1' }),
    expect.objectContaining({ user, status: 'valid' }),
  ]);
  // Nobody learned them on the way.
  const verifier = new URL(done.address).searchParams.get('oauth_verifier')!;
  const secrets = [verifier, new URL(link).searchParams.get('link')!];
  const told = [preview.text, done.text, ...stage.story.service.lines()].join('\n');
  for (const secret of secrets) expect(told).not.toContain(secret);
});

test('an answer that comes back in another browser connects nobody', async () => {
  const before = await stage.connections();
  const command = stage.connect('--user', user);
  const browser = new Browser();
  const link = await command.untilPrinted(/(http:\S+link=[\w-]+)/);
  const consentPage = await browser.press(link);
  browser.forgetCookies();
  const page = await browser.answer(consentPage, user);
  expect([page.status, page.text]).toEqual([400, expect.stringContaining('another browser')]);
  expect(await stage.connections()).toEqual(before);
  await command.untilPrinted(/consent-other-browser: It came back in another browser/);
  command.interrupt();
  expect((await command.ended).code).toBe(130);
});

test('a user who declines sees so, once, and nothing changes', async () => {
  const before = await stage.connections();
  const command = stage.connect('--user', user);
  const browser = new Browser();
  const page = await stage.consent(command, null, browser);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('You declined')]);
  expect(page.text).not.toContain('href');
  expect((await browser.open(page.address)).status).toBe(404);
  const { code, error } = await command.ended;
  expect([code, error]).toEqual([5, expect.stringContaining('consent-declined')]);
  expect(await stage.connections()).toEqual(before);
  const told = () => stage.story.service.lines().filter((line) => line.includes('consent-declined'));
  await until(async () => told().length > 0, soon);
  expect(JSON.parse(told()[0]!)).toMatchObject({ place: 'connections', detail: 'the user declined' });
});

test('with --oob the verifier is carried to the terminal; a wrong one, and a spent one, is refused', async () => {
  const [before] = await stage.connections();
  const command = stage.connect('--oob', '--user', user);
  const browser = new Browser();
  const address = await command.untilPrinted(/(http:\S+oauth_token=[\w-]+)/);
  const page = await browser.answer(await browser.open(address), user);
  const [token, verifier] = [shown(page, 'Token'), shown(page, 'Verifier')];
  command.write(`${token} ${verifier}`);
  expect(await command.ended).toMatchObject({ code: 0, out: expect.stringContaining(user) });
  expect((await stage.connections()).map(({ id }) => id)).toEqual([before!.id]);

  const wrong = stage.connect('--oob', '--user', user);
  const next = await wrong.untilPrinted(/(http:\S+oauth_token=[\w-]+)/);
  await browser.answer(await browser.open(next), user);
  wrong.write('not-the-verifier');
  expect(await wrong.ended).toMatchObject({ code: 4, error: expect.stringContaining('consent-refused') });

  const spent = stage.connect('--oob', '--user', user);
  await spent.untilPrinted(/(http:\S+oauth_token=[\w-]+)/);
  spent.write(`${token} ${verifier}`);
  expect(await spent.ended).toMatchObject({ code: 4, error: expect.stringContaining('another request') });
});

test('a callback of a scheme of one’s own is registered, and its whole address can be pasted', async () => {
  const command = stage.connect('--callback', 'farm-app:consent/done', '--user', user);
  const browser = new Browser();
  const address = await command.untilPrinted(/(http:\S+oauth_token=[\w-]+)/);
  const page = await browser.answer(await browser.open(address), user);
  expect(page.address).toMatch(/^farm-app:consent\/done\?/);
  command.write(page.address);
  expect((await command.ended).code).toBe(0);
});

test('a token that is refused while the application is answered asks for another consent, and not for another kind of it', async () => {
  const { story } = stage;
  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  await story.simulator.expireTokens({ user, kinds: ['oauth1'] });
  await story.simulator.changeEquipment(machine!.id, { name: 'While refused' });
  await until(async () => (await story.organization(organizationId)).access === 'reauthorize', soon);
  await until(async () => (await story.alerts()).length > 0, soon);
  const alerts = await story.alerts();
  expect(alerts).toMatchObject([{ name: 'TramlineReauthorize', state: 'firing' }]);
  expect(alerts[0]!.annotations.description).not.toContain('OAuth 1');
  expect((await story.organization(organizationId)).message).not.toContain('OAuth 1');
  // Nobody was asked just now whether OAuth 1 has ended.
  const listed = await runCommand(['equipment', 'list'], stage.environment);
  expect(listed.code).toBe(5);
  expect(listed.error.replace(/\s+/g, ' ')).toContain('It may be that the provider has ended OAuth 1');

  const command = stage.connect('--user', user);
  await stage.consent(command, user);
  expect((await command.ended).code).toBe(0);
  await story.untilEvents(machine!, 2);
});
