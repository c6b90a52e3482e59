// Goal: a page about an organization says who, since when, how much waits, where to act and what to do; and many at
// once are one incident.
import { type Blocked, organizationSignals } from '../../../src/alert/evaluate-organizations';
import { oauth1Ending } from '../../../src/model/connection';
import type { Cause } from '../../../src/model/organization';
import { aBlocked, minuteMs, noonMs } from './samples';

const dayMs = 86_400_000;
const options = {
  groupAbove: 50,
  groupWithinMs: 5 * minuteMs,
  openStorms: {},
  journalMs: 30 * dayMs,
  nowMs: noonMs,
};

function many(count: number, of: (index: number) => Partial<Blocked> = () => ({})): Blocked[] {
  return Array.from({ length: count }, (_, index) =>
    aBlocked({
      organizationId: `${index}`,
      name: `Farm ${index}`,
      sinceMs: noonMs + index * 1000,
      ...of(index),
    }),
  );
}

test('an organization whose terms are not accepted: who, since when, how many wait, where, what to do', () => {
  expect(organizationSignals([aBlocked()], options)).toEqual([
    {
      name: 'TramlineTermsRequired',
      severity: 'warning',
      labels: { organization_id: '4711' },
      annotations: {
        summary: 'An organization must accept terms before its data can be read.',
        description:
          'Green Acres (organization 4711) is blocked since 2026-03-01T12:00:00Z: the provider asks it to accept ' +
          'terms first. 3 tasks wait and are kept. Until 2026-03-31T12:00:00Z everything that waits is kept one by one; ' +
          'nothing is lost. What ends it: someone of the organization who may accept terms does so at the address of this alert; reading then goes on by itself.',
        owner: 'customer-success',
        first_step:
          'Send the organization the address where terms are accepted; then `tramline organizations probe 4711`.',
        action_url: 'https://provider.example/terms',
        until_when: '2026-03-31T12:00:00Z',
        kept_until: '2026-03-31T12:00:00Z',
      },
      sinceMs: noonMs,
      covers: {
        names: [
          'TramlineTermsRequired',
          'TramlineRequiredAction',
          'TramlineOrganizationNotConnected',
          'TramlineReauthorize',
          'TramlineRequiredActionDue',
        ],
        subjects: expect.arrayContaining(['organization_id="4711"']),
        untilMs: null,
      },
    },
  ]);
});

test.each<[Cause, boolean]>([
  ['terms', true],
  ['required-action', true],
  ['not-connected', false],
  ['refused-grant', false],
])('what was announced goes on in a block for %s: %s', (cause, goesOn) => {
  const [signal] = organizationSignals([aBlocked({ cause })], options);
  expect(signal?.covers?.names.includes('TramlineRequiredActionDue')).toBe(goesOn);
});

test.each<[Cause, string, Record<string, string>]>([
  ['terms', 'TramlineTermsRequired', { organization_id: '4711' }],
  ['required-action', 'TramlineRequiredAction', { organization_id: '4711' }],
  ['not-connected', 'TramlineOrganizationNotConnected', { organization_id: '4711' }],
  ['refused-grant', 'TramlineReauthorize', { connection_id: 'c1' }],
])('%s is told as %s', (cause, name, labels) => {
  expect(organizationSignals([aBlocked({ cause })], options)).toMatchObject([{ name, labels }]);
});

test('a refused OAuth 1 token tells of the switch-over, and not of the provider’s words', () => {
  const message = `Refused: some-words. ${oauth1Ending}`;
  const [signal] = organizationSignals([aBlocked({ cause: 'refused-grant', message })], options);
  expect(signal?.annotations.description).toContain(oauth1Ending);
  expect(signal?.annotations.description).not.toContain('some-words');
});

test('an id is told as it is, on one line, and never with an e-mail address', () => {
  const stepOf = (of: Partial<Blocked>) =>
    organizationSignals([aBlocked(of)], options)[0]?.annotations.first_step;
  const cause = 'refused-grant';
  expect(stepOf({ cause, connectionId: 'c$&1' })).toMatch(/^Find c\$&1 in `tramline connections list`;/);
  expect(stepOf({ organizationId: '4711\nRun this.' })).toMatch(
    /`tramline organizations probe '4711 Run this\.'`/,
  );
  expect(stepOf({ organizationId: 'jo@example.org' })).not.toContain('jo@');
});

test('an organization that concerns nobody yet raises nothing', () => {
  expect(organizationSignals([aBlocked({ concerns: false })], options)).toEqual([]);
});

test('terms and other required actions carry what the provider says, and nobody personally', () => {
  const message = 'Verify the account of jo@example.org';
  const texts = (cause: Cause) =>
    organizationSignals([aBlocked({ cause, message })], options)[0]?.annotations.description;
  for (const cause of ['terms', 'required-action'] as const)
    expect(texts(cause)).toContain('The provider says: "Verify the account of [address]"');
  for (const cause of ['not-connected', 'refused-grant'] as const) {
    expect(texts(cause)).not.toContain('Verify');
  }
});

describe('of an action for which the provider named no address', () => {
  const action = aBlocked({ cause: 'required-action', message: 'Verify the account.', actionUrl: null });
  const toldWith = (manageUrl: string | null) =>
    organizationSignals([action], { ...options, manageUrl: () => manageUrl })[0]!.annotations;

  test('the page of the organization’s connection is given, and said to be that', () => {
    const told = toldWith('https://provider.example/4711/connections');
    expect(told.action_url).toBe('https://provider.example/4711/connections');
    expect(told.description).toContain('no address for it: that of this alert is the page of its connection');
    expect(told.first_step).toContain('message and address');
  });

  test('nobody is sent to look for an address where there is none', () => {
    const told = toldWith(null);
    expect(told).not.toHaveProperty('action_url');
    expect(told.description).toContain('no address for it: it shows the action to whoever may act');
    expect(told.first_step).toMatch(/^Tell the organization the provider's message; then/);
  });

  test('an address that the provider named stands', () => {
    const named = { ...action, actionUrl: 'https://provider.example/verify' };
    const [signal] = organizationSignals([named], { ...options, manageUrl: () => 'https://other.example' });
    expect(signal!.annotations.action_url).toBe('https://provider.example/verify');
    expect(signal!.annotations.description).not.toContain('no address');
  });
});

test('an organization without a name is called by its id, and one task is one task', () => {
  const [signal] = organizationSignals([aBlocked({ name: null, parked: 1, actionUrl: null })], options);
  expect(signal?.annotations.description).toMatch(
    /^Organization 4711 is blocked .+ 1 task waits and is kept\./,
  );
  expect(signal?.annotations).not.toHaveProperty('action_url');
  expect(signal?.annotations.description).not.toContain('the address of this alert');
});

test('when nothing waits yet it says that what comes is kept', () => {
  const [signal] = organizationSignals([aBlocked({ parked: 0 })], options);
  expect(signal?.annotations.description).toContain('No task waits yet; what arrives meanwhile is kept.');
});

test('a refused consent is one signal for its connection, since the first of its organizations', () => {
  const cause = 'refused-grant';
  const signals = organizationSignals(
    [
      aBlocked({ cause, organizationId: '1', name: 'A', sinceMs: noonMs + 5 }),
      aBlocked({ cause, organizationId: '2', name: 'B', sinceMs: noonMs }),
      aBlocked({ cause, organizationId: '3', connectionId: 'c2' }),
      aBlocked({ cause, organizationId: '4', connectionId: null }),
    ],
    options,
  );
  expect(signals.map((signal) => signal.labels)).toEqual([
    { connection_id: 'c1' },
    { connection_id: 'c2' },
    { organization_id: '4' },
  ]);
  expect(signals[0]).toMatchObject({ sinceMs: noonMs });
  expect(signals[0]?.annotations.description).toMatch(
    /^2 organizations \(A \(organization 1\), B \(organization 2\)\) are blocked .+ 6 tasks wait/,
  );
});

test('a connection that was revoked here is said to be, and nobody is sent to look for it', () => {
  const revoked = { cause: 'refused-grant', revoked: true } as const;
  const [signal] = organizationSignals(
    [aBlocked(revoked), aBlocked({ ...revoked, organizationId: '4712' })],
    options,
  );
  expect(signal).toMatchObject({ name: 'TramlineReauthorize', labels: { connection_id: 'c1' } });
  const { summary, description, first_step } = signal!.annotations;
  expect(description).toContain('was revoked here by an operator');
  expect(`${summary} ${description} ${first_step}`).not.toMatch(
    /provider refuses|refused by the provider|Find c1/,
  );
  expect(first_step).toContain('`tramline connect`');
  const [mixed] = organizationSignals([aBlocked({ cause: 'refused-grant' }), aBlocked(revoked)], options);
  expect(mixed?.annotations.description).toContain('the provider refuses the consent');
});

test('as many as the bound page one by one', () => {
  expect(organizationSignals(many(50), options)).toHaveLength(50);
});

test('more than the bound within five minutes are one incident, with the count and the first 20', () => {
  const [signal, ...others] = organizationSignals(many(51).reverse(), options);
  expect(others).toEqual([]);
  expect(signal).toMatchObject({
    name: 'TramlineManyOrganizationsBlocked',
    severity: 'critical',
    labels: { cause: 'terms' },
    sinceMs: noonMs,
    covers: { subjects: expect.arrayContaining(['organization_id="50"']), untilMs: noonMs + 50_000 },
    annotations: { owner: 'on-call', action_url: 'https://provider.example/terms' },
  });
  const { description = '' } = signal?.annotations ?? {};
  expect(description).toMatch(/^51 organizations are blocked, the first since 2026-03-01T12:00:00Z/);
  expect(description).toContain('153 tasks wait and are kept.');
  expect(description).toMatch(
    /Farm 0 \(organization 0\), Farm 1 .+, Farm 19 \(organization 19\) and 31 more\.$/,
  );
  expect(description).not.toContain('Farm 20 ');
});

test('whoever was blocked before the others is told as the first of them, in an incident that begins with the others', () => {
  const before = aBlocked({ organizationId: 'before', sinceMs: noonMs - 20 * minuteMs });
  const [signal, ...others] = organizationSignals([before, ...many(51)], options);
  expect(others).toEqual([]);
  expect(signal?.sinceMs).toBe(noonMs);
  expect(signal?.annotations.description).toMatch(
    /^52 organizations are blocked, the first since 2026-03-01T11:40:00Z/,
  );
});

test('more than the bound over a longer time page one by one', () => {
  const slow = many(60, (index) => ({ sinceMs: noonMs + index * 10_000 }));
  expect(organizationSignals(slow, options)).toHaveLength(60);
});

test('of several organizations it is said why they are blocked, of one why it is', () => {
  const why = (blocked: Blocked[]) => organizationSignals(blocked, options)[0]?.annotations.description;
  const causes = {
    terms: 'asks them to accept terms first',
    'required-action': 'asks them for an action first',
    'not-connected': ': they are not connected',
    'refused-grant': 'refuses the consent that each was read with',
  } as const;
  for (const [cause, said] of Object.entries(causes) as [keyof typeof causes, string][])
    expect(why(many(51, () => ({ cause })))).toContain(said);
  expect(why(refused({ c1: 5 }))).toMatch(
    / are blocked since .+: the provider refuses the consent that each was/,
  );
  expect(why(refused({ c1: 1 }))).toMatch(/ is blocked since .+: the provider refuses the consent it was/);
});

test('causes are counted apart, and so is what comes long after a storm', () => {
  const storm = many(51);
  const late = aBlocked({ organizationId: 'late', sinceMs: noonMs + 60 * minuteMs });
  const other = aBlocked({ organizationId: 'other', cause: 'not-connected' });
  expect(organizationSignals([...storm, late, other], options)).toMatchObject([
    { labels: { cause: 'terms' } },
    { labels: { organization_id: 'late' } },
    { labels: { organization_id: 'other' } },
  ]);
});

/** So many organizations of one refused connection each, all at one time. */
function refused(counts: Record<string, number>, sinceMs = noonMs): Blocked[] {
  const of = { cause: 'refused-grant', sinceMs } as const;
  return Object.entries(counts).flatMap(([connectionId, count]) =>
    many(count, (index) => ({ ...of, connectionId, organizationId: `${connectionId}-${index}` })),
  );
}

const told = (
  blocked: Blocked[],
  of: Partial<typeof options> & { openStorms?: { 'refused-grant'?: number } } = {},
) =>
  organizationSignals(blocked, { ...options, ...of }).map(({ name, labels }) =>
    [name.replace('Tramline', ''), ...Object.values(labels)].join(' '),
  );

test('fifty consents that are refused together are one incident when they were for more than fifty organizations', () => {
  const consents = Array.from({ length: 50 }, (_, index) => [`c${index}`, 2] as const);
  const blocked = refused(Object.fromEntries(consents));
  expect(told(blocked)).toEqual(['ManyOrganizationsBlocked refused-grant']);
  const [signal] = organizationSignals(blocked, options);
  expect(signal?.annotations.description).toMatch(
    /^100 organizations are blocked, .+ 50 consents: .+ 80 more\.$/,
  );
  expect(signal?.covers?.subjects).toEqual(
    expect.arrayContaining(['connection_id="c49"', 'organization_id="c49-1"']),
  );
  expect(told(refused({ c1: 25, c2: 25 }))).toEqual(['Reauthorize c1', 'Reauthorize c2']);
});

test('connections that were revoked here are listed nowhere, and nobody is sent to look for them', () => {
  const revoked = refused({ c1: 30, c2: 30 }).map((one) => ({ ...one, revoked: true }));
  const [signal] = organizationSignals(revoked, options);
  expect(signal).toMatchObject({ name: 'TramlineManyOrganizationsBlocked' });
  expect(signal?.annotations.description).not.toContain('tramline connections list');
});

test('one refused consent is one incident of its user, however many organizations it was for and who else was refused before', () => {
  expect(told(refused({ c1: 5000 }))).toEqual(['Reauthorize c1']);
  const others = [
    ...refused({ c2: 1 }, noonMs - 6 * minuteMs),
    ...refused({ c3: 60 }, noonMs + 6 * minuteMs),
  ];
  expect(told([...refused({ c1: 60 }), ...others])).toEqual([
    'Reauthorize c1',
    'Reauthorize c2',
    'Reauthorize c3',
  ]);
});

test('two refused consents within five minutes are counted in organizations, whichever came first', () => {
  for (const apart of [-4 * minuteMs, 4 * minuteMs]) {
    const blocked = [...refused({ c1: 60 }), ...refused({ c2: 1 }, noonMs + apart)];
    expect(told(blocked)).toEqual(['ManyOrganizationsBlocked refused-grant']);
  }
  const slow = [0, 4, 8].flatMap((at) => refused({ [`c${at}`]: 24 }, noonMs + at * minuteMs));
  expect(told(slow)).toEqual(['Reauthorize c0', 'Reauthorize c4', 'Reauthorize c8']);
});

test('a consent that remains of an open incident of many stays in it, and one that is refused long after it does not', () => {
  const openStorms = { 'refused-grant': noonMs };
  const later = refused({ c2: 60 }, noonMs + 60 * minuteMs);
  expect(told([...refused({ c1: 60 }), ...later], { openStorms })).toEqual([
    'ManyOrganizationsBlocked refused-grant',
    'Reauthorize c2',
  ]);
  expect(told(later, { openStorms })).toEqual(['Reauthorize c2']);
});

test('a few that remain of an open storm stay one incident, also the last one', () => {
  const openStorms = { terms: noonMs + 50_000 };
  for (const left of [3, 1]) {
    const signals = organizationSignals(many(left), { ...options, openStorms });
    expect(signals).toMatchObject([{ labels: { cause: 'terms' } }]);
    expect(signals[0]?.annotations.description).toMatch(
      left === 1 ? /^1 organization is / : /^3 organizations are /,
    );
  }
});

test('many that act at different places have no one address; equal times are ordered by id', () => {
  const storm = many(51, (index) => ({ actionUrl: `https://provider.example/${index}`, sinceMs: noonMs }));
  const [signal] = organizationSignals(storm, options);
  expect(signal?.annotations).not.toHaveProperty('action_url');
  expect(signal?.annotations.description).toContain(
    'Farm 0 (organization 0), Farm 1 (organization 1), Farm 10 ',
  );
  expect(signal?.annotations.description).not.toContain('the address of this alert');
  expect(signal?.annotations.description).toContain(
    'at the address that `tramline organizations get ID` shows',
  );
});

describe('of many that the provider asks for an action or for terms', () => {
  const verify = 'Verify the account of jo@example.org by 1 December.';
  const toldOf = (of: (index: number) => Partial<Blocked>) =>
    organizationSignals(many(51, of), options)[0]!.annotations;

  test.each(['required-action', 'terms'] as const)('what it says to all is quoted once: %s', (cause) => {
    const { description = '' } = toldOf(() => ({ cause, message: verify }));
    expect(description).toContain('The provider says: "Verify the account of [address] by 1 December."');
    expect(description.match(/Verify/g)).toHaveLength(1);
    expect(description).not.toContain('something else');
  });

  test('what it says to most is quoted, and how many it tells something else', () => {
    const of = (index: number) => ({ cause: 'required-action' as const, message: index < 2 ? null : verify });
    expect(toldOf(of).description).toContain(
      'To 49 of them the provider says: "Verify the account of [address] by 1 December." To 2 others it says ' +
        'something else or nothing: `tramline organizations get ID` shows what.',
    );
    expect(toldOf((index) => of(index + 1)).description).toContain('To 1 other it says something else');
  });

  test('where it says something else to each, the first is quoted', () => {
    const of = (index: number) => ({ cause: 'required-action' as const, message: `Verify account ${index}` });
    expect(toldOf(of).description).toContain(
      'To 1 of them the provider says: "Verify account 0". To 50 others it says something else or nothing',
    );
  });

  test('where it says nothing to any, nothing is quoted', () => {
    expect(toldOf(() => ({ cause: 'required-action' })).description).not.toMatch(
      /provider says|something else/,
    );
  });

  test('each is told where to act', () => {
    const cause = 'required-action';
    const apart = toldOf((index) => ({ cause, actionUrl: `https://provider.example/${index}` }));
    expect(apart.description).toContain(
      'does what the provider asks for at the address that `tramline organizations get ID` shows;',
    );
    const place = 'https://provider.example/account';
    const together = toldOf(() => ({ cause, actionUrl: place }));
    expect(together.description).toContain('does what the provider asks for at the address of this alert;');
    expect(together.action_url).toBe(place);
  });
});

test.each(['not-connected', 'refused-grant'] as const)('of many nothing is quoted for %s', (cause) => {
  const of = (index: number) => ({ cause, message: 'Some words.', connectionId: `c${index}` });
  expect(organizationSignals(many(51, of), options)).toEqual([
    expect.objectContaining({ name: 'TramlineManyOrganizationsBlocked', labels: { cause } }),
  ]);
  expect(organizationSignals(many(51, of), options)[0]?.annotations.description).not.toContain('Some words');
});

test('severity rises with the time until which everything is kept, not with what waits', () => {
  const severityAt = (nowMs: number, of: Partial<Blocked> = {}, journalMs = 30 * dayMs) =>
    organizationSignals([aBlocked(of)], { ...options, journalMs, nowMs })[0]?.severity;
  expect(severityAt(noonMs, { parked: 1_000_000 })).toBe('warning');
  expect(severityAt(noonMs + 27 * dayMs)).toBe('warning');
  expect(severityAt(noonMs + 28 * dayMs)).toBe('critical');
  expect(severityAt(noonMs + 31 * dayMs)).toBe('critical');
  expect(severityAt(noonMs + 31 * dayMs, { parked: 0 })).toBe('warning');
  expect(severityAt(noonMs, {}, dayMs)).toBe('warning');
});

test('a consent that ends before the journal does is named, and is urgent two days before', () => {
  const signalAt = (consentEndsAtMs: number | null, nowMs = noonMs) =>
    organizationSignals([aBlocked({ consentEndsAtMs })], { ...options, nowMs })[0];
  const near = signalAt(noonMs + 5 * dayMs);
  expect(near).toMatchObject({
    severity: 'warning',
    annotations: {
      kept_until: '2026-03-31T12:00:00Z',
      consent_ends: '2026-03-06T12:00:00Z',
      description: expect.stringContaining(
        'A consent that reading needs ends at 2026-03-06T12:00:00Z: from then on a new one is needed too.',
      ),
    },
  });
  expect(signalAt(noonMs + 5 * dayMs, noonMs + 3 * dayMs)?.severity).toBe('critical');
  expect(signalAt(noonMs + 40 * dayMs)?.annotations).not.toHaveProperty('consent_ends');
  const many = [aBlocked({ consentEndsAtMs: noonMs + dayMs, parked: 0 }), aBlocked()];
  expect(organizationSignals(many, { ...options, nowMs: noonMs }).map(({ severity }) => severity)).toEqual([
    'warning',
    'warning',
  ]);
});

test('when the time is over it is said what is folded, and of many the oldest counts', () => {
  const blocked = many(60, (index) => ({ parked: index === 0 ? 0 : 1, sinceMs: noonMs + index * 1000 }));
  const [storm] = organizationSignals(blocked, { ...options, nowMs: noonMs + 31 * dayMs });
  expect(storm).toMatchObject({
    severity: 'critical',
    annotations: {
      kept_until: '2026-03-31T12:00:01Z',
      description: expect.stringContaining('kept as first, last and count; their resources are still read'),
    },
  });
});

test('what is kept is counted from the oldest hint that waits, whenever the block began and whatever its cause is now', () => {
  const waits = { waitsSinceMs: noonMs - 25 * dayMs };
  for (const cause of ['terms', 'refused-grant'] as const) {
    const [signal] = organizationSignals([aBlocked({ ...waits, cause })], options);
    expect(signal?.annotations.kept_until).toBe('2026-03-06T12:00:00Z');
  }
});
