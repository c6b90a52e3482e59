/**
 * A delivery of a stranger is answered 401 with nothing in it, and leaves no trace but a count and a log line: nothing is
 * stored, nothing is read.
 */
import { runCommand } from '../support/command';
import { temporaryFolder } from '../support/service';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeAll(async () => {
  story = await beginStory({ delivers: false });
});
afterAll(() => story.end());

/** What the provider was asked, but for what the service reads for itself. */
async function asked(): Promise<string[]> {
  const own = /^\/platform\/?$|^\/platform\/(organizations|eventSubscriptions)(\?|$)/;
  return (await story.requests()).map(({ url }) => url).filter((url) => !own.test(url));
}

test.each([
  ['wrong', 'Bearer of-a-stranger', 'authorization-wrong'],
  ['empty', '', 'authorization-missing'],
])(
  'a delivery whose Authorization is %s is a 401 and nothing is stored',
  async (_, authorization, reason) => {
    const [machine] = await story.equipment();
    const answer = await story.post([notificationOf(machine!)], { authorization });
    expect(answer.status).toBe(401);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.headers['www-authenticate']).toBeDefined();
    expect(JSON.parse(answer.body)).toEqual({
      type: 'about:blank',
      title: expect.any(String),
      status: 401,
      code: 'webhook.unauthenticated',
    });

    await until(() => story.log('delivery').some((line) => line.reason === reason), soon);
    expect(await story.metric('tramline_security_rejections_total', { reason })).toBe(1);
    expect(await story.ledger()).toMatchObject({ accepted: 0, lost: 0 });
    expect(await story.tasks()).toEqual([]);
    expect(await story.quarantine()).toEqual([]);
    expect(await story.events()).toEqual([]);
    expect(await asked()).toEqual([]);
    expect(story.service.lines().join('\n')).not.toContain('of-a-stranger');
  },
);

test('the right Authorization is accepted right after', async () => {
  const [machine] = await story.equipment();
  expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  await story.untilEvents(machine!, 1);
});

test('a check before the first start asks the provider, and says when our own credentials are wrong', async () => {
  const check = async (more: Record<string, string>) => {
    const environment = { ...story.settings(more), DATA_DIR: temporaryFolder() };
    const { code, out } = await runCommand(['check', '--json'], environment);
    const lines = JSON.parse(out) as { name: string; state: string }[];
    const stateOf = (wanted: string) => lines.find(({ name }) => name === wanted)?.state;
    return { code, provider: stateOf('provider'), clock: stateOf('clock') };
  };
  // Its clock is compared as well: an answer says what time it is there.
  expect(await check({})).toEqual({ code: 0, provider: 'ok', clock: 'ok' });
  const tokens = story
    .settings()
    .PROVIDER_TOKENS!.replace(/("(?:token|refresh)":")[^"]*/g, '$1of-a-stranger');
  expect(await check({ PROVIDER_TOKENS: tokens })).toMatchObject({ code: 1, provider: 'failed' });
});
