/**
 * Goal: a subscription that is ended while its user's consent is revoked is not said to have ended: it goes on at the provider
 * until the user consents again and it is ended once more, and until then it is shown as one whose deliveries are refused.
 * Method: a user of the provider's stand-in with a browser; each command is a process of its own.
 */
import { runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({ settings: { WEBHOOK_AUTH: 'authorization,token' } });
});
afterAll(() => stage.story.end());

const ann = 'harrow-user-1';
async function tramline(...words: string[]) {
  const { code, out, error } = await runCommand([...words, '--json'], stage.environment);
  return { code, error, answer: out === '' ? null : JSON.parse(out) };
}
async function consented(): Promise<void> {
  const command = stage.connect();
  await stage.consent(command, ann);
  expect((await command.ended).code).toBe(0);
}
const statusOf = async (id: string) =>
  (await stage.story.simulator.subscriptions()).find((one) => one.id === id)?.status;

test('it is forgotten here, marked after the next consent, and ended by the next end', async () => {
  await consented();
  const created = await tramline('subscriptions', 'create', '--event-type', 'equipment');
  expect(created).toMatchObject({ code: 0, answer: { status: 'Active' } });
  const { id } = created.answer;
  expect((await tramline('subscriptions', 'list')).answer[0]).not.toHaveProperty('refusedHere');
  const [connection] = await stage.connections();
  expect((await tramline('connections', 'revoke', connection!.id)).code).toBe(0);

  const forgotten = await tramline('subscriptions', 'end', id);
  expect([forgotten.code, forgotten.answer]).toEqual([
    5,
    { id, state: 'forgotten', atProvider: false, user: ann },
  ]);
  expect(forgotten.error).toContain(
    `\`tramline connect --user ${ann}\`, then \`tramline subscriptions end ${id}\``,
  );
  expect(await statusOf(id)).toBe('Active');

  await consented();
  const listed = await tramline('subscriptions', 'list');
  expect(listed).toMatchObject({ code: 0, answer: [{ id, status: 'Active', refusedHere: true }] });
  const { out } = await runCommand(['subscriptions', 'list'], stage.environment);
  expect(out).toContain(`tramline subscriptions end ${id}`);
  // As the provider has it once enough was refused: it asks here before it makes it active again.
  await stage.story.simulator.setSubscriptionStatus(id, 'Expired');
  expect((await tramline('subscriptions', 'renew', id)).code).toBe(4);
  const ended = await tramline('subscriptions', 'end', id);
  expect([ended.code, ended.answer.status, await statusOf(id)]).toEqual([0, 'Terminated', 'Terminated']);
  expect((await tramline('subscriptions', 'list')).answer[0]).not.toHaveProperty('refusedHere');
});
