/**
 * What each kind of answer means for a task: one ending each, and nothing is forgotten.
 */
import { decideEnding, type EndingSituation, heldBy } from '../../../src/inbox/decide-ending';
import type { Answer } from '../../../src/model/answer';
import type { TakenTask } from '../../../src/model/task';

const task: TakenTask = {
  taskId: 7,
  fence: 3,
  generation: 2,
  revision: 40,
  address: 'https://provider.example/equipment/1',
  resource: null,
  organizationId: null,
  hintedOrganizationId: '4711',
  hintedUser: null,
  connectionId: null,
  shownBy: null,
  epoch: 1,
  settling: false,
  attempts: 2,
  dueAtMs: 900_000,
  agedMs: 0,
  failedAtMs: null,
  code: null,
  takenAtMs: 1_000_000,
  absentSinceMs: null,
  acceptedAtMs: null,
  deliveryId: null,
  traceparent: null,
  reconciled: false,
};
const rules = {
  goneAfterMs: 600_000,
  settleMs: 30_000,
  goneShareMax: 0.05,
  retryAgeMs: 10_000,
  backoff: { baseMs: 1000, maxMs: 60_000 },
  random: () => 0.5,
};
const situation: EndingSituation = {
  observedAt: '2026-01-01T00:00:00.000Z',
  traceparent: 'tp',
  own: false,
  organizationId: '4711',
  proven: true,
  isConnected: () => true,
};
const held = { taskId: 7, fence: 3, generation: 2, revision: 40 };
const origin = 'https://provider.example';
const decide = (
  answer: Exclude<Answer, { kind: 'ok' }>,
  of: Partial<TakenTask> = {},
  when: Partial<EndingSituation> = {},
) => decideEnding({ ...task, ...of }, answer, { ...situation, ...when }, rules);
const resource = { kind: 'equipment', id: '1' } as const;
const transient = {
  kind: 'transient',
  code: 'http-503',
  detail: 'd',
  origin,
  connectionId: 'c1',
  shownBy: null,
  retryAfterMs: null,
} as const;

test('what holds the take is passed on as it was', () => {
  expect(heldBy(task)).toEqual(held);
});

describe('absence', () => {
  const gone = { kind: 'gone', certain: false, connectionId: 'c1', origin } as const;
  test('once is only noted, and asked again after the time a lagging provider gets', () => {
    const again = (againInMs: number) => ({ verb: 'foundAbsent', ending: { ...held, againInMs } });
    expect(decide(gone, { resource })).toEqual(again(600_000));
    // Announced and never seen: it may not be shown yet.
    expect(decide(gone)).toEqual(again(30_000));
    expect(decide(gone, { absentSinceMs: 970_000 })).toEqual(again(570_000));
    const decideWith = (more: object) => decideEnding(task, gone, situation, { ...rules, ...more });
    expect(decideWith({ settleMs: 0 })).toEqual(again(600_000));
    expect(decideWith({ goneAfterMs: 1000 })).toEqual(again(1000));
  });
  test('asked too early, it waits for what is left', () => {
    expect(decide(gone, { absentSinceMs: 900_000 })).toMatchObject({
      verb: 'foundAbsent',
      ending: { againInMs: 500_000 },
    });
  });
  test('first noted before the clock was set back, it waits for no longer than that', () => {
    expect(decide(gone, { absentSinceMs: 4_600_000 })).toMatchObject({
      verb: 'foundAbsent',
      ending: { againInMs: 600_000 },
    });
  });
  test('twice, far enough apart, is gone', () => {
    expect(decide(gone, { absentSinceMs: 400_000 })).toEqual({
      verb: 'finishGone',
      ending: {
        ...held,
        observedAt: situation.observedAt,
        traceparent: 'tp',
        goneShareMax: 0.05,
        settleMs: 0,
      },
    });
  });
  test('what nothing but its address names is told with it', () => {
    const named = { kind: 'equipment', id: '1' } as const;
    for (const certain of [false, true])
      expect(decide({ ...gone, certain, named })).toMatchObject({ ending: { named } });
  });
  test('found by another connection than saw it last is none, and asks for that one’s consent in the end', () => {
    const of = { resource, connectionId: 'c2', absentSinceMs: 0 };
    const waits = { own: true, code: 'absent-to-another', dueInMs: 2000, agedMs: 0 };
    expect(decide(gone, of)).toMatchObject({ verb: 'postpone', ending: waits });
    const words = expect.stringContaining('not found through connection c1, but c2 saw it last');
    expect(decide(gone, { ...of, agedMs: rules.retryAgeMs })).toMatchObject({
      verb: 'quarantineTask',
      ending: { reason: 'no-connection', detail: words },
    });
  });
  test('of what was never seen needs nobody’s consent, whoever asked before', () => {
    expect(decide(gone, { connectionId: 'c2', absentSinceMs: 0 }).verb).toBe('finishGone');
  });
  test('found by who read it last, or by whose listing has shown it since, is one', () => {
    for (const seen of [
      { connectionId: 'c1' },
      { connectionId: 'c2', shownBy: 'c1' },
      { connectionId: 'c1', shownBy: 'c2' },
      { connectionId: null },
    ])
      expect(decide(gone, { resource, absentSinceMs: 0, ...seen }).verb).toBe('finishGone');
    expect(decide({ ...gone, certain: true }, { resource, connectionId: 'c2' }).verb).toBe('finishGone');
  });
  test('found where who saw it last was revoked is one, since nobody is asked through that any more', () => {
    const of = { resource, connectionId: 'c2', shownBy: 'c3', absentSinceMs: 0 };
    expect(decide(gone, of, { isConnected: (id) => id !== 'c2' }).verb).toBe('postpone');
    expect(decide(gone, of, { isConnected: (id) => id === 'c1' }).verb).toBe('finishGone');
  });
  test('certain is gone at once, and read once more, since what is there again may not be shown yet', () => {
    const { settleMs } = rules;
    expect(settleMs).toBeGreaterThan(0);
    expect(decide({ ...gone, certain: true })).toMatchObject({ verb: 'finishGone', ending: { settleMs } });
  });
});

describe('refusals', () => {
  const terms = {
    kind: 'action-required',
    cause: 'terms',
    actionUrl: null,
    message: null,
    connectionId: 'c1',
  } as const;
  test('for an organization gives the task back and asks for a probe of the refused address', () => {
    expect(decide(terms)).toMatchObject({
      verb: 'giveBack',
      ending: { probe: { organizationId: '4711', refusedAddress: task.address, connectionId: 'c1' } },
    });
    expect(decide({ kind: 'not-connected', actionUrl: null, connectionId: 'c1' })).toMatchObject({
      verb: 'giveBack',
      ending: { code: 'not-connected', probe: { organizationId: '4711' } },
    });
  });
  test('of what is not proven to be the organization’s asks for a probe, but not of that address', () => {
    expect(decide(terms, {}, { proven: false })).toMatchObject({
      verb: 'giveBack',
      ending: { probe: { organizationId: '4711', refusedAddress: null, connectionId: 'c1' }, dueInMs: 2000 },
    });
  });
  test('lets the task keep its place among what waits for the organization', () => {
    expect(decide(terms)).toMatchObject({ ending: { dueAtMs: task.dueAtMs } });
  });
  test('without a known organization only the task waits', () => {
    expect(decide(terms, {}, { organizationId: null })).toMatchObject({
      verb: 'giveBack',
      ending: { probe: null, dueInMs: 2000 },
    });
  });
  test('again and again of an organization that may be read ages, and is set aside in the end with its words and its place', () => {
    const refused = { ...terms, actionUrl: 'https://p.example/terms', message: 'm' };
    const before = { code: 'action-required', failedAtMs: task.takenAtMs - 3000 };
    const place = 'a customer acts at https://p.example/terms – m';
    const detail = `it is refused while its organization may be read; ${place}`;
    expect(decide(refused, before)).toMatchObject({ verb: 'giveBack', ending: { agedMs: 3000, detail } });
    const old = { ...before, agedMs: rules.retryAgeMs - 3000 };
    expect(decide(refused, old)).toMatchObject({
      verb: 'quarantineTask',
      ending: { reason: 'no-access', detail },
    });
    // What it failed of before was something else.
    expect(decide(refused, { ...old, code: 'http-503' }).verb).toBe('giveBack');
  });
  test('that nobody can be asked about waits and ages, and is set aside in the end', () => {
    const refused = { kind: 'refused-unattributed', connectionId: 'c1', message: 'm' } as const;
    const decided = decide(refused, { failedAtMs: task.takenAtMs - 3000 });
    expect(decided).toMatchObject({ verb: 'postpone', ending: { own: true, agedMs: 3000, dueInMs: 2000 } });
    const old = { agedMs: rules.retryAgeMs - 3000, failedAtMs: task.takenAtMs - 3000 };
    expect(decide(refused, old)).toMatchObject({
      verb: 'quarantineTask',
      ending: { reason: 'no-access', detail: 'm' },
    });
  });
  test('of the token gives it back at once: another connection may see it', () => {
    expect(
      decide({ kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: 's' }),
    ).toMatchObject({
      verb: 'giveBack',
      ending: { probe: null, dueInMs: 0 },
    });
  });
  test('of the client waits without ageing', () => {
    expect(decide({ kind: 'client-refused', connectionId: 'c1', message: 'scope' })).toMatchObject({
      verb: 'postpone',
      ending: { own: false, code: 'client-refused' },
    });
  });
  test.each([
    [{ kind: 'no-access', connectionId: 'c1', message: 'm' }, 'no-access'],
    [{ kind: 'refused', code: 'http-400', detail: 'd', origin, connectionId: 'c1' }, 'request-refused'],
    [{ kind: 'no-connection', detail: 'd' }, 'no-connection'],
    [{ kind: 'address-refused', code: 'address-template', detail: 'd' }, 'address-template'],
  ] as const)('%j is set aside for an operator', (answer, reason) => {
    expect(decide(answer)).toMatchObject({ verb: 'quarantineTask', ending: { reason } });
  });
  test('of a document that is none of a resource is set aside with what came', () => {
    const body = { surprise: 1 };
    const answer = { kind: 'refused', code: 'c', detail: 'd', origin, connectionId: 'c1', body } as const;
    expect(decide(answer)).toMatchObject({
      verb: 'quarantineTask',
      ending: { reason: 'malformed-document', path: '/@type', detail: 'c: d', raw: '{"surprise":1}' },
    });
    const operators = [{ operatorId: '7', name: 'A Person' }];
    expect(decide({ ...answer, body: { operators } })).toMatchObject({
      ending: { raw: '{"operators":[{"operatorId":"7"}]}' },
    });
  });
});

describe('waiting', () => {
  test('a cut-off attempt is due again at once', () => {
    expect(decide({ kind: 'aborted' })).toMatchObject({
      verb: 'giveBack',
      ending: { probe: null, dueInMs: 0 },
    });
  });
  test('a 429 is obeyed', () => {
    expect(decide({ kind: 'rate-limited', retryAfterMs: 7000, untilMs: 7000 })).toMatchObject({
      verb: 'postpone',
      ending: { dueInMs: 9000, own: false },
    });
  });
  test('an unasked 304 is asked again later', () => {
    expect(decide({ kind: 'not-modified', connectionId: 'c1' }).verb).toBe('postpone');
  });
  test('a failure of others waits without bound', () => {
    expect(decide(transient, { agedMs: 999_999, failedAtMs: 0 })).toMatchObject({
      verb: 'postpone',
      ending: { own: false, agedMs: 0, dueInMs: 2000, code: 'http-503' },
    });
  });
  test('a failure of others is tried again within half a minute, however often it failed', () => {
    const long = { ...rules, backoff: { baseMs: 1000, maxMs: 300_000 } };
    const dueInMs = (answer: typeof transient | (typeof transient & { code: string }), own: boolean) => {
      const { ending } = decideEnding({ ...task, attempts: 20 }, answer, { ...situation, own }, long);
      return (ending as { dueInMs: number }).dueInMs;
    };
    expect(dueInMs(transient, false)).toBe(30_000);
    expect(dueInMs(transient, true)).toBe(150_000);
    // What was not even tried waits in turn.
    expect(dueInMs({ ...transient, code: 'provider-held' as 'http-503' }, false)).toBe(150_000);
  });
  test('Retry-After is a lower bound', () => {
    expect(decide({ ...transient, retryAfterMs: 30_000 })).toMatchObject({ ending: { dueInMs: 30_000 } });
  });
  test('own failures end in quarantine once they are old enough', () => {
    expect(decide(transient, { failedAtMs: 995_000 }, { own: true }).verb).toBe('postpone');
    expect(decide(transient, { failedAtMs: 989_000 }, { own: true })).toMatchObject({
      verb: 'quarantineTask',
      ending: { reason: 'never-readable', detail: 'http-503: d' },
    });
  });
  test('a failure from before the clock was set back ages by nothing', () => {
    expect(decide(transient, { failedAtMs: 1_500_000 }, { own: true })).toMatchObject({
      verb: 'postpone',
      ending: { own: true, agedMs: 0 },
    });
  });
  test('what was missing in what came is told with its path', () => {
    const half = { ...transient, path: '/measurementTypes' };
    expect(decide(half, { failedAtMs: 989_000 }, { own: true })).toMatchObject({
      ending: { reason: 'never-readable', path: '/measurementTypes' },
    });
    expect(decide(transient, { failedAtMs: 989_000 }, { own: true })).toMatchObject({ ending: { path: '' } });
  });
  test('a day on which nobody tried does not age an item by a day', () => {
    const dayMs = 86_400_000;
    const decided = decideEnding(
      { ...task, failedAtMs: 1000, takenAtMs: 1000 + dayMs },
      transient,
      { ...situation, own: true },
      { ...rules, retryAgeMs: dayMs },
    );
    expect(decided).toMatchObject({ verb: 'postpone', ending: { agedMs: 120_000 } });
  });
});
