/**
 * Goal: on each day on which the provider changes a rule, and on the day before, the service yields the same: what it
 * published stays, what it reads is the same document, and where nothing can be read a person is told why.
 * Method: one provider and one service, and the day is moved under them; OAuth 1's end has a provider of its own. Old
 * forms that the client never sends are sent by hand, so that the provider is seen to refuse them.
 */
import { createHash } from 'node:crypto';
import { Browser } from '../support/browser';
import { noService, runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import { makeMovedClock } from '../support/moved-clock';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

interface Document {
  id: string;
  observedAt: string;
  source: object;
  [fact: string]: unknown;
}

const organizationsAll = 12;

describe('the day moves', () => {
  let story: Story;
  beforeAll(async () => {
    story = await beginStory({
      delivers: false,
      flags: {
        organizations: organizationsAll,
        equipment: 2,
        'field-operations': 4,
        today: '2020-08-12',
        auth: 'oauth1',
      },
      settings: { PROVIDER_AUTH: 'oauth1', SYNC_INTERVAL_SECONDS: '0' },
    });
  });
  afterAll(() => story.end());

  const on = (today: string) => story.simulator.setToday({ today });
  const run = (words: string[], more: Record<string, string> = {}) =>
    runCommand([...words, '--json'], { TRAMLINE_URL: story.service.operationsUrl, ...more });
  const changed = async () =>
    (await story.events())
      .filter(({ type }) => !type.includes('organization-access'))
      .map(({ type, subject }) => `${subject} ${type.split('.').at(-2)}`);
  async function announce(operations: Parameters<typeof notificationOf>[0][]): Promise<void> {
    const hints = operations.map((one) => notificationOf(one, { eventTypeId: 'fieldOperation' }));
    expect((await story.post(hints)).status).toBe(204);
    await story.untilRest();
  }

  test('terms that are not accepted block from 2020-08-13 on, and not on the day before', async () => {
    const [machine] = await story.equipment();
    const { organizationId } = machine!;
    const access = async () => (await story.organization(organizationId)).access;
    await story.simulator.setOrganization(organizationId, { termsAccepted: false });
    await story.simulator.changeEquipment(machine!.id, { name: 'On 2020-08-12' });
    await story.post([notificationOf(machine!)]);
    await story.untilEvents(machine!, 1);
    expect(await access()).toBe('active');

    await on('2020-08-13');
    await story.simulator.changeEquipment(machine!.id, { name: 'On 2020-08-13' });
    await story.post([notificationOf(machine!)]);
    await until(async () => (await access()) === 'terms-required', soon);
    const { code, error } = await run(['equipment', 'get', machine!.id]);
    expect([code, error]).toEqual([5, expect.stringContaining('/terms')]);
    await until(async () => (await story.alerts()).length > 0, soon);
    expect(await story.alerts()).toMatchObject([{ name: 'TramlineTermsRequired', state: 'firing' }]);

    await story.simulator.setOrganization(organizationId, { termsAccepted: true });
    await story.untilEvents(machine!, 2);
    expect(await access()).toBe('active');
  });

  test('a field operation is the same before its new fields, from 2024-01-10 and from 2024-07-10', async () => {
    await on('2024-01-09');
    const before = (await changed()).length;
    // Until 2024-07-10 an answer holds one product or tank mix: only such an operation has the same facts on all days.
    const { fieldOperations } = await story.simulator.state();
    await announce(fieldOperations);
    expect(await changed()).toHaveLength(before + fieldOperations.length);

    // The applied area is a fact that only the new form has.
    await on('2024-01-10');
    await announce(fieldOperations);
    const news = (await changed()).slice(before + fieldOperations.length);
    const applied = fieldOperations.filter(
      ({ content }) => (content as { fieldOperationType?: string }).fieldOperationType === 'application',
    );
    expect(news.filter((line) => !applied.some(({ id }) => line.includes(`/${id} updated`)))).toEqual([]);
    const settled = (await changed()).length;

    await on('2024-07-09');
    await announce(fieldOperations);
    expect(await changed()).toHaveLength(settled);

    await on('2024-07-10');
    const several = (await story.simulator.state()).fieldOperations.filter(
      ({ content }) => ((content.products ?? []) as unknown[]).length > 1,
    );
    expect(several.length).toBeLessThan(fieldOperations.length);
    await announce(fieldOperations);
    expect((await changed()).slice(settled).sort()).toEqual(
      several.map((one) => `${one.organizationId}/field-operation/${one.id} updated`).sort(),
    );
  });

  test('the old paging gives ten records on 2024-05-31 and fails on 2024-06-01; the service lists all on both', async () => {
    const { PROVIDER_TOKENS } = story.simulator.environment;
    const bearer = await bearerToken(story);
    expect(PROVIDER_TOKENS).toContain('oauth1');
    const accept = `application/vnd.${story.simulator.vendor}.axiom.v3+json`;
    const list = async (matrix: string, headers: Record<string, string> = {}) => {
      const address = `${story.simulator.catalog.replace(/\/$/, '')}/organizations${matrix}`;
      const response = await fetch(address, {
        headers: { accept, authorization: `Bearer ${bearer}`, ...headers },
      });
      const { values = [] } = (await response.json()) as { values?: unknown[] };
      return [response.status, values.length];
    };
    const oldForms: [string, Record<string, string>?][] = [
      [';start=10'],
      [';count=100'],
      ['', { No_Paging: 'true' }],
    ];
    const listed = async () => {
      const { code, out } = await run(['sync', '--full']);
      return [code, (JSON.parse(out) as { listed: number }).listed];
    };
    await on('2024-05-31');
    for (const form of oldForms) expect(await list(...form)).toEqual([200, 10]);
    const before = await listed();
    await on('2024-06-01');
    for (const form of oldForms) expect(await list(...form)).toEqual([400, 0]);
    expect(await list('')).toEqual([200, 10]);
    expect(await list('', { [`x-${story.simulator.vendor}-no-paging`]: 'true' })).toEqual([
      200,
      organizationsAll,
    ]);
    // A next page of the provider's own that still carries the old form is asked for in the new one.
    await story.simulator.setFaults([{ match: { path: '/organizations' }, nextPage: 'old', times: 1 }]);
    expect(await listed()).toEqual(before);
    expect(before).toEqual([0, organizationsAll * (2 + 4)]);
    await story.simulator.setFaults([]);
    const own = (await story.requests()).filter(({ verdict }) => verdict.scheme === 'oauth1');
    expect(own.filter(({ url }) => /;(start|count)=/.test(url))).toEqual([]);
  });

  test('the older equipment endpoints are deprecated from 2025-01-01 and give the same documents on both days', async () => {
    const [machine] = await story.equipment();
    const settings = { ...story.settings(), PROVIDER_EQUIPMENT_API: 'old' };
    const store = {
      DATABASE_URL: `sqlite:${story.dataFolder}/old.db`,
      TRAMLINE_URL: noService,
    };
    // The client itself goes by its own clock, which is behind that day.
    const warning = expect.stringMatching(
      /^.*PROVIDER_EQUIPMENT_API=old: .* deprecated since 2025-01-01.*\n$/,
    );
    const listOn = async (today: string) => {
      await on(today);
      const { code, out, error } = await run(['equipment', 'list'], { ...settings, ...store });
      expect([today, code, error]).toEqual([today, 0, warning]);
      return (JSON.parse(out) as Document[]).map(({ observedAt: _at, ...document }) => document);
    };
    const before = await listOn('2024-12-31');
    expect(before.map(({ id }) => id)).toContain(machine!.id);
    expect(await listOn('2025-01-01')).toEqual(before);
    const { error } = await runCommand(['config'], { ...settings, ...store });
    expect(error).toContain('deprecated since 2025-01-01');
  });

  test('the client warns of them from the first second of 2025 on in UTC, wherever it stands', async () => {
    const clock = makeMovedClock();
    clock.advance(Date.parse('2024-12-31T23:00:00Z') - clock.nowMs());
    const settings = { ...story.settings(), PROVIDER_EQUIPMENT_API: 'old', ...clock.environment };
    const warned = async (zone: string) => {
      const { code, error } = await runCommand(['config'], {
        ...settings,
        TZ: zone,
        TRAMLINE_URL: noService,
      });
      return [code, error.includes('deprecated since 2025-01-01')];
    };
    expect(await warned('Pacific/Kiritimati')).toEqual([0, false]);
    clock.advance(3_600_000);
    expect(await warned('Pacific/Honolulu')).toEqual([0, true]);
  });

  test('what the provider says it took is measured, and no day moved its clock', async () => {
    expect(await story.metric('tramline_provider_elapsed_seconds_count')).toBeGreaterThan(10);
    expect(Math.abs(await story.metric('tramline_provider_clock_offset_seconds'))).toBeLessThan(60);
    expect((await story.alerts()).filter(({ name }) => name.includes('Clock'))).toEqual([]);
    expect(story.log('fault')).toEqual([]);
  });
});

/** A bearer token of the application's own user, by the code of a consent page that answers at once. */
async function bearerToken({ simulator }: Story): Promise<string> {
  const { PROVIDER_CLIENT_KEY, PROVIDER_CLIENT_SECRET } = simulator.environment as Record<string, string>;
  const redirect = 'http://127.0.0.1/done';
  const verifier = 'a-verifier-of-at-least-forty-three-characters-in-length';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  await simulator.answerConsent({ user: 'harrow-user-1' });
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id: PROVIDER_CLIENT_KEY!,
    redirect_uri: redirect,
    state: 'any',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const consent = await fetch(`${simulator.issuer}/v1/authorize?${asked}`, { redirect: 'manual' });
  await simulator.answerConsent({ user: null });
  const answered = await fetch(`${simulator.issuer}/v1/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(consent.headers.get('location')!).searchParams.get('code')!,
      redirect_uri: redirect,
      code_verifier: verifier,
      client_id: PROVIDER_CLIENT_KEY!,
      client_secret: PROVIDER_CLIENT_SECRET!,
    }),
  });
  return ((await answered.json()) as { access_token: string }).access_token;
}

describe.each([
  ['2021-07-01', '2021-06-30', '2021-07-02'],
  ['2022-05-01', '2022-04-30', '2022-05-02'],
])('OAuth 1 ends on %s', (end, before, after) => {
  let stage: ConnectStory;
  afterAll(() => stage.story.end());

  const user = 'harrow-user-1';
  const switchOver = 'set PROVIDER_AUTH=oauth2 and PROVIDER_ISSUER, restart, and switch over';

  test(`it is read by on ${before}; on ${end} and ${after} a person is told to switch over, which goes on`, async () => {
    stage = await beginConnectStory({ flags: { auth: 'oauth1', 'oauth1-ends': end, today: before } });
    const { story } = stage;
    const first = stage.connect('--user', user);
    await stage.consent(first, user);
    expect((await first.ended).code).toBe(0);
    const [machine, other] = await story.equipment();
    const { organizationId } = machine!;
    await story.simulator.changeEquipment(machine!.id, { name: 'Before' });
    await story.untilEvents(machine!, 1);

    await story.simulator.setToday({ today: end });
    await story.simulator.changeEquipment(machine!.id, { name: 'At the end' });
    await until(async () => (await story.organization(organizationId)).access === 'reauthorize', soon);
    const organization = await story.organization(organizationId);
    expect(organization.message).toContain(switchOver);
    await until(async () => (await story.alerts()).length > 0, soon);
    const [alert, ...more] = await story.alerts();
    expect(more).toEqual([]);
    expect(alert).toMatchObject({ name: 'TramlineReauthorize', state: 'firing' });
    expect(alert!.annotations.description).toContain(switchOver);
    const shown = await runCommand(['organizations', 'get', organizationId], stage.environment);
    expect((shown.out + shown.error).replace(/\s+/g, ' ')).toContain(switchOver);

    const { id } = (await stage.connections())[0]!;
    for (const words of [['check'], ['equipment', 'list'], ['organizations', 'get', organizationId]]) {
      const told = await runCommand(words, stage.environment);
      expect((told.out + told.error).replace(/\s+/g, ' ')).toMatch(
        new RegExp(`tramline connect --auth oauth2 --user (NAME|${id})`),
      );
    }

    await story.simulator.setToday({ today: after });
    await story.simulator.changeEquipment(other!.id, { name: 'After the end' });
    await until(async () => (await story.ledger()).parked === 2, soon);
    const again = stage.connect('--auth', 'oauth1', '--user', user);
    await new Browser().press(await again.untilPrinted(/(http:\S+link=[\w-]+)/));
    expect(await again.ended).toMatchObject({ code: 4, error: expect.stringContaining(switchOver) });

    const next = stage.connect('--auth', 'oauth2', '--user', user);
    await stage.consent(next, user);
    expect((await next.ended).code).toBe(0);
    expect(await stage.connections()).toMatchObject([{ user, auth: 'oauth2', status: 'valid' }]);
    await story.untilEvents(machine!, 2);
    await story.untilEvents(other!, 1);
    expect(await story.untilRest()).toMatchObject({ parked: 0, lost: 0, quarantined: 0 });
    expect((await story.eventsOf(machine!)).map(({ sequence }) => Number(sequence))).toEqual([1, 2]);
    await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);

    // The settings still name OAuth 1, and the catalog is read anew: the consent is another kind, and lasts.
    await story.simulator.moveLinks();
    const synced = await runCommand(['sync', '--json'], stage.environment);
    expect(JSON.parse(synced.out)).toMatchObject({ partial: [], trouble: 'none' });
    expect(await stage.connections()).toMatchObject([{ user, auth: 'oauth2', status: 'valid' }]);
  });
});
