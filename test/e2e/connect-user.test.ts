/**
 * Goal: whose consent it is comes from the provider, where its catalog leads to the user of a token; nobody's consent is
 * taken for another's, and one whose user cannot be read connects nobody.
 * Method: two users of the provider's stand-in, a person with a browser, and what `tramline connect` prints.
 */
import { beginConnectStory, type ConnectStory } from '../support/connect-story';

const [ann, bob] = ['harrow-user-1', 'harrow-user-2'];

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1', users: 2, overlap: 1 } });
});
afterAll(() => stage.story.end());

async function consentOf(user: string, ...words: string[]) {
  const command = stage.connect(...words);
  const page = await stage.consent(command, user);
  return { page, ...(await command.ended) };
}
const named = async () => (await stage.connections()).map(({ user, auth, status }) => [user, auth, status]);
const reads = async () => (await stage.story.requests()).filter(({ path }) => path.includes('/users/'));
const failing = (status: number, times: number) =>
  stage.story.simulator.setFaults([{ match: { path: '/users/' }, times, status }]);

test('OAuth 1 gives no token that names its user; the provider does, and each user has a connection', async () => {
  expect(await consentOf(ann)).toMatchObject({ code: 0, out: expect.stringContaining(ann) });
  expect(await named()).toEqual([[ann, 'oauth1', 'valid']]);
  expect(await reads()).toMatchObject([{ status: 200, verdict: { scheme: 'oauth1', user: ann } }]);
  expect((await consentOf(bob)).code).toBe(0);
  expect((await named()).sort()).toEqual([
    [ann, 'oauth1', 'valid'],
    [bob, 'oauth1', 'valid'],
  ]);
});

test('the same user again keeps the connection, also by the other method', async () => {
  const before = (await stage.connections()).map(({ id }) => id).sort();
  expect((await consentOf(ann)).code).toBe(0);
  expect((await consentOf(ann, '--auth', 'oauth2')).code).toBe(0);
  expect((await stage.connections()).map(({ id }) => id).sort()).toEqual(before);
  expect((await named()).sort()).toEqual([
    [ann, 'oauth2', 'valid'],
    [bob, 'oauth1', 'valid'],
  ]);
});

test('somebody else than the one who was asked connects nobody', async () => {
  const before = await stage.connections();
  const { page, code, error } = await consentOf(bob, '--user', ann);
  expect([code, error]).toEqual([5, expect.stringContaining('consent-other-user')]);
  expect(page.text).not.toContain(bob);
  expect(await stage.connections()).toEqual(before);
});

test('a user who is not shown for a moment is asked for again, and one who stays hidden connects nobody', async () => {
  await failing(503, 2);
  const from = (await reads()).length;
  expect((await consentOf(bob)).code).toBe(0);
  expect((await reads()).slice(from).map(({ status }) => status)).toEqual([503, 503, 200]);

  const before = await stage.connections();
  await failing(403, 1);
  expect(await consentOf(bob)).toMatchObject({ code: 4, error: expect.stringContaining('the current user') });
  await failing(503, 3);
  expect((await consentOf(bob)).error).toContain('provider-unavailable');
  expect(await stage.connections()).toEqual(before);
});
