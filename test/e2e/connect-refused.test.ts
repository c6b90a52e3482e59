/**
 * The provider's consent page sends the user back with an error instead of a code (RFC 6749 section 4.1.2.1): whoever
 * asked is told which, and the user that another link alone does not help.
 */
import { Browser } from '../support/browser';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({ settings: { PROVIDER_SCOPES: 'org1 bogus' } });
});
afterAll(() => stage.story.end());

const told = {
  code: 4,
  error: expect.stringMatching(/tramline: consent-refused: .*invalid_scope: see PROVIDER_SCOPES/),
};

test('a scope that the provider does not know is told by its word, to the command and to the user', async () => {
  const command = stage.connect();
  const page = await new Browser().press(await command.untilPrinted(/(http:\S+\/connect\?link=[\w-]+)/));
  expect([page.status, page.text]).toEqual([400, expect.stringContaining('whoever runs this service')]);
  expect(page.text).not.toContain('invalid_scope');
  expect(await command.ended).toMatchObject(told);
});

test('it is told as well where the user carries the address back', async () => {
  const command = stage.connect('--callback', 'farm-app:done');
  const page = await new Browser().open(await command.untilPrinted(/(http:\S+scope=\S+)/));
  expect(page.address).toMatch(/^farm-app:done\?error=invalid_scope/);
  command.write(page.address);
  expect(await command.ended).toMatchObject(told);
});

test('it is shown to be copied where no address is to go back to', async () => {
  const command = stage.connect('--oob');
  const page = await new Browser().open(await command.untilPrinted(/(http:\S+scope=\S+)/));
  const [, answer] = /Answer <code>([^<]+)<\/code>/.exec(page.text) ?? [];
  expect([page.status, answer]).toEqual([200, 'error=invalid_scope']);
  command.write(answer!);
  expect(await command.ended).toMatchObject(told);
});

test.each([
  ['temporarily_unavailable', { code: 1, error: expect.stringContaining('temporarily_unavailable') }],
  ['server_error', { code: 1, error: expect.stringMatching(/provider-unavailable: .*server_error/) }],
  [
    'unauthorized_client',
    { code: 4, error: expect.stringContaining('unauthorized_client: see PROVIDER_CLIENT_KEY') },
  ],
  ['of+our+own&error_description=canary', { code: 4, error: expect.not.stringMatching(/of our own|canary/) }],
])(
  'an answer with error=%s is told for what it is, and in no words but known ones',
  async (error, expected) => {
    const command = stage.connect('--oob');
    const address = new URL(await command.untilPrinted(/(http:\S+scope=\S+)/));
    command.write(`urn:ietf:wg:oauth:2.0:oob?error=${error}&state=${address.searchParams.get('state')}`);
    expect(await command.ended).toMatchObject(expected);
  },
);
