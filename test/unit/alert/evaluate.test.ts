// Goal: the evaluator turns states into signals, one for each thing a person has to do, and takes any named cause.
import { conditionRows } from '../../../src/alert/catalogue';
import { type EvaluateInputs, evaluate, openOf } from '../../../src/alert/evaluate';
import { fingerprintOf } from '../../../src/alert/fingerprint';
import {
  type QuarantineGroup,
  quarantineGroupOf,
  quarantineGroups,
} from '../../../src/alert/quarantine-groups';
import type { Alert, Condition, ConditionName, Signal } from '../../../src/model/alert';
import fc from '../../support/properties';
import { aBlocked, anAlert, minuteMs, noonMs } from './samples';

const dayMs = 86_400_000;
const options = {
  groupAbove: 50,
  runbookBase: 'https://runbooks.example/tramline',
  ownNames: ['kafka-bootstrap-production-1:9092'],
  ...openOf([]),
  journalMs: 30 * 86_400_000,
};

function evaluated(inputs: Partial<EvaluateInputs>): Signal[] {
  const nothing = {
    blocked: [],
    announced: [],
    quarantined: [],
    refusedConnections: [],
    suspected: 0,
    refused: 0,
    conditions: [],
    nowMs: noonMs + minuteMs,
  };
  return evaluate({ ...nothing, ...inputs }, options);
}

test('nothing to tell is no signal', () => {
  expect(evaluated({})).toEqual([]);
});

test('a condition is the signal of its row, with what is known and since when', () => {
  const condition: Condition = {
    name: 'kafka-unavailable',
    sinceMs: noonMs,
    detail: 'No broker answers at kafka-1.example:9092.',
  };
  expect(evaluated({ conditions: [condition] })).toEqual([
    {
      name: 'TramlineKafkaUnavailable',
      severity: 'critical',
      labels: {},
      annotations: {
        summary:
          'Events cannot be published: Kafka does not answer, refuses writes, or is named to no worker.',
        description:
          'No broker answers at kafka-1.example:9092. It has been so since 2026-03-01T12:00:00Z. Decided events wait in ' +
          'the store in their order, however long it takes; none is lost while the store has space.',
        owner: 'on-call',
        first_step: 'Run `tramline check`: it names the brokers, and the settings to look at.',
        runbook_url: 'https://runbooks.example/tramline/TramlineKafkaUnavailable.md',
        until_when: 'no end while the store has space: what is decided waits in its order',
      },
      sinceMs: noonMs,
    },
  ]);
});

test('a connection named by an e-mail address is told as one digest, in labels and in texts', () => {
  const connectionId = 'ann.smith@example.org';
  const signals = evaluated({
    blocked: [aBlocked({ cause: 'refused-grant', connectionId })],
    conditions: [
      {
        name: 'token-expiring',
        sinceMs: noonMs,
        detail: `The consent of ${connectionId} ends.`,
        labels: { connection_id: connectionId },
      },
    ],
  });
  const ids = signals.map(({ labels }) => labels.connection_id);
  expect(ids).toEqual([expect.stringMatching(/^address-[0-9a-f]{12}$/), ids[0]]);
  expect(JSON.stringify(signals)).not.toContain('@');
  for (const { annotations } of signals) expect(annotations.first_step).toContain(`Find ${ids[0]} in`);
});

test('every named condition pages under the name of its row', () => {
  const names = Object.keys(conditionRows) as ConditionName[];
  const conditions = names.map((name) => ({ name, sinceMs: noonMs, detail: '' }));
  const signals = conditions.flatMap((condition) => evaluated({ conditions: [condition] }));
  expect(signals.map((signal) => signal.name)).toEqual(names.map((name) => conditionRows[name].name));
  for (const { annotations } of signals) {
    expect(annotations.description).toMatch(/^It has been so since 2026-03-01T12:00:00Z\./);
  }
});

test('every description is whole sentences, whatever ends what others say', () => {
  const described = (detail: string) => {
    const conditions = (Object.keys(conditionRows) as ConditionName[]).flatMap((name) => [
      { name, sinceMs: noonMs, detail },
      { name, sinceMs: noonMs, detail, endsAtMs: noonMs, labels: { connection_id: 'c1' } },
    ]);
    const causes = ['terms', 'required-action', 'not-connected', 'refused-grant'] as const;
    const blocked = causes.map((cause) => aBlocked({ cause, message: detail, organizationId: cause }));
    return evaluated({ conditions, blocked }).map(({ annotations }) => annotations.description ?? '');
  };
  const plain = described('No broker (of 3) answers.');
  expect(plain.filter((text) => !/^[A-Z0-9].*\.$/.test(text))).toEqual([]);
  for (const stop of ['!', '?']) {
    const said = `No broker (of 3) answers${stop}`;
    expect(described(said)).toEqual(plain.map((text) => text.replaceAll('No broker (of 3) answers.', said)));
  }
  const quoted = (text: string) => text.replace('answers."', 'answers".');
  expect(described('No broker (of 3) answers')).toEqual(plain.map(quoted));
});

test('what holds reads back is more urgent when everything that waits is not kept for much longer', () => {
  const conditions = (['rate-limited', 'topic-denied', 'kafka-unavailable'] as const).map((name) => ({
    name,
    sinceMs: noonMs - 29 * 86_400_000,
    detail: '',
  }));
  const signals = evaluated({ conditions });
  expect(signals.map(({ severity }) => severity)).toEqual(['critical', 'critical', 'critical']);
  expect(signals.map(({ annotations }) => annotations.kept_until)).toEqual([
    '2026-03-02T12:00:00Z',
    undefined,
    undefined,
  ]);
  const [early] = evaluated({ conditions: [{ name: 'rate-limited', sinceMs: noonMs, detail: '' }] });
  expect(early?.severity).toBe('warning');
});

test('conditions of one name with different labels are different incidents', () => {
  const topics = ['tramline.equipment.v1', 'tramline.field-operation.v1'];
  const conditions = topics.map(
    (topic): Condition => ({ name: 'topic-denied', sinceMs: noonMs, detail: '', labels: { topic } }),
  );
  expect(evaluated({ conditions }).map((signal) => signal.labels)).toEqual(
    topics.map((topic) => ({ topic })),
  );
});

test('the same condition named twice is one signal, since the earlier of both', () => {
  const named = (sinceMs: number): Condition => ({ name: 'clock-off', sinceMs, detail: 'Off by 400 s.' });
  for (const conditions of [
    [named(noonMs), named(noonMs - 5)],
    [named(noonMs - 5), named(noonMs)],
  ]) {
    expect(evaluated({ conditions })).toMatchObject([{ name: 'TramlineClockOff', sinceMs: noonMs - 5 }]);
  }
});

test('A-7: a detail holds no address of a person and no token', () => {
  const detail = 'Login of jo@example.org with 3yZTF0b5kRkZs1OmYwJ2q8XcQ9 failed.';
  const [signal] = evaluated({ conditions: [{ name: 'client-refused', sinceMs: noonMs, detail }] });
  expect(signal?.annotations.description).toMatch(/^Login of \[address\] with \[hidden\] failed\./);
});

test('a state of a store whose clock is ahead did not begin later than now', () => {
  const signals = evaluated({ blocked: [aBlocked({ sinceMs: noonMs + 5 * minuteMs })] });
  expect(signals).toMatchObject([{ sinceMs: noonMs + minuteMs }]);
});

test('what is quarantined is one warning for each kind of look it needs', () => {
  const signals = evaluated({
    quarantined: [
      { reason: 'malformed-document', count: 2, oldestMs: noonMs },
      { reason: 'never-readable', count: 1, oldestMs: noonMs - minuteMs },
      { reason: 'unauthenticated', count: 1, oldestMs: noonMs },
      { reason: 'mass-disappearance', count: 0, oldestMs: 0 },
    ],
  });
  expect(signals).toMatchObject([
    {
      name: 'TramlineQuarantineNotEmpty',
      severity: 'warning',
      labels: { group: 'document' },
      sinceMs: noonMs - minuteMs,
      annotations: {
        owner: 'platform',
        description:
          '3 entries wait for an operator: resources whose reads or documents cannot be trusted ' +
          '(2 malformed-document, 1 never-readable). The oldest came at 2026-03-01T11:59:00Z. ' +
          'Each waits until it is released or discarded.',
      },
    },
    { labels: { group: 'sender' }, annotations: { owner: 'on-call' } },
  ]);
  expect(signals[1]?.annotations.description).toMatch(/^1 entry waits /);
});

test('every reason belongs to a group, and one that this version does not know to the last', () => {
  const groups = Object.keys(quarantineGroups) as QuarantineGroup[];
  expect(new Set([...Object.values(quarantineGroupOf), 'other'])).toEqual(new Set(groups));
  for (const reason of ['from-a-later-version', 'constructor']) {
    expect(evaluated({ quarantined: [{ reason, count: 1, oldestMs: noonMs }] })).toMatchObject([
      { labels: { group: 'other' } },
    ]);
  }
});

test('what is open is read from firing alerts only', () => {
  const storm = { name: 'TramlineManyOrganizationsBlocked', labels: { cause: 'terms' }, coversUntilMs: 7 };
  const stormsOf = (...alerts: Alert[]) => openOf(alerts).openStorms;
  expect(stormsOf(anAlert(storm), anAlert())).toEqual({ terms: 7 });
  expect(stormsOf(anAlert({ ...storm, state: 'resolved', resolvedAtMs: 9 }))).toEqual({});
  expect(stormsOf(anAlert({ ...storm, coversUntilMs: null }))).toEqual({});
});

test('a process that was started anew goes on counting the time of the alert that is open', () => {
  const condition: Condition = {
    name: 'provider-unavailable',
    sinceMs: noonMs + 29 * dayMs,
    detail: 'status-503',
    labels: { origin: 'https://p.example' },
  };
  const inputs = {
    blocked: [],
    announced: [],
    quarantined: [],
    refusedConnections: [],
    suspected: 0,
    refused: 0,
    nowMs: noonMs + 29 * dayMs,
  };
  const open = anAlert({ name: 'TramlineProviderUnavailable', labels: condition.labels as never });
  const [signal] = evaluate({ ...inputs, conditions: [condition] }, { ...options, ...openOf([open]) });
  expect(signal).toMatchObject({ sinceMs: noonMs, annotations: { kept_until: '2026-03-31T12:00:00Z' } });
  const ended = anAlert({ ...open, state: 'resolved', resolvedAtMs: noonMs });
  const [fresh] = evaluate({ ...inputs, conditions: [condition] }, { ...options, ...openOf([ended]) });
  expect(fresh?.annotations.kept_until).toBe('2026-04-29T12:00:00Z');
});

test('each place where something waits says until when it is kept, or that nobody knows', () => {
  const said = (name: ConditionName) =>
    evaluated({ conditions: [{ name, sinceMs: noonMs, detail: '' }] })[0]?.annotations.description;
  for (const name of ['kafka-unavailable', 'topic-denied'] as const) {
    expect(said(name)).toMatch(/Decided events wait in the store in their order.+ none is lost/);
  }
  const unknown = [
    'delivery-secret-unopened',
    'store-unavailable',
    'subscription-ended',
    'subscription-expired',
    'subscription-silent',
  ];
  for (const name of unknown as ConditionName[])
    expect(said(name)).toMatch(/how long .*is not known.+tramline sync/);
  for (const name of ['client-refused', 'decryption-failed', 'rate-limited'] as const) {
    expect(said(name)).toMatch(/Until 2026-03-31T12:00:00Z everything that waits is kept/);
  }
});

test('ids that a state names are no secrets, what else looks like one is', () => {
  const [id, other] = ['0f8fad5b-d9cb-469f-a165-70867728950e', '7c9e6679-7425-40de-944b-e07fc1f90ae7'];
  const detail = `It is the token of ${id}, not ${other}`;
  const [signal] = evaluated({
    conditions: [{ name: 'delivery-secret-unopened', sinceMs: noonMs, detail, ids: [id] }],
  });
  expect(signal?.annotations.description).toContain(`It is the token of ${id}, not [hidden].`);
});

test('what the provider keeps for a time that nobody knows is urgent after a day', () => {
  const after = (name: ConditionName, hours: number) =>
    evaluated({
      conditions: [{ name, sinceMs: noonMs, detail: '' }],
      nowMs: noonMs + hours * 60 * minuteMs,
    })[0]?.severity;
  expect([after('subscription-silent', 23), after('subscription-silent', 24)]).toEqual([
    'warning',
    'critical',
  ]);
  expect(after('organizations-unlisted', 48)).toBe('warning');
});

test('every alert says until when nothing is lost, or why no such time is known', () => {
  const names = Object.keys(conditionRows) as ConditionName[];
  const of = (inputs: Parameters<typeof evaluated>[0]) =>
    evaluated(inputs).map(({ name, annotations }) => [name, annotations.until_when]);
  const words = [
    ...names.flatMap((name) => of({ conditions: [{ name, sinceMs: noonMs, detail: '' }] })),
    ...of({
      quarantined: [{ reason: 'no-access', count: 1, oldestMs: noonMs }],
      blocked: [aBlocked({ parked: 0 })],
    }),
  ];
  expect(words).toHaveLength(names.length + 2);
  for (const one of words) {
    const either = /^(\d{4}-\d\d-\d\dT[\d:]+Z|not known: .+|no end(:| while) .+|nothing waits yet)$/;
    expect(one).toEqual([one[0], expect.stringMatching(either)]);
  }
  const ends = { endsAtMs: noonMs + dayMs };
  expect([
    ...of({ blocked: [aBlocked({ consentEndsAtMs: noonMs + dayMs })] }),
    ...of({ announced: [{ organizationId: '1', name: null, dueAtMs: noonMs + dayMs }] }),
    ...of({ conditions: [{ name: 'token-expiring', sinceMs: noonMs, detail: '', ...ends }] }),
  ]).toEqual([
    ['TramlineTermsRequired', '2026-03-02T12:00:00Z'],
    ['TramlineRequiredActionDue', '2026-03-02T12:00:00Z'],
    ['TramlineTokenExpiring', '2026-03-02T12:00:00Z'],
  ]);
});

test('a consent that runs out is one incident with its end, told anew by its severity at seven days', () => {
  const endsAtMs = noonMs + 30 * dayMs;
  const at = (nowMs: number) => {
    const condition = { name: 'token-expiring' as const, sinceMs: noonMs, detail: 'c1 ends.', endsAtMs };
    const [signal] = evaluated({ conditions: [{ ...condition, labels: { connection_id: 'c1' } }], nowMs });
    expect(signal).toMatchObject({
      labels: { connection_id: 'c1' },
      annotations: { consent_ends: '2026-03-31T12:00:00Z' },
    });
    return signal?.severity;
  };
  expect([noonMs, endsAtMs - 7 * dayMs - 1, endsAtMs - 7 * dayMs, endsAtMs + dayMs].map(at)).toEqual([
    'warning',
    'warning',
    'critical',
    'critical',
  ]);
});

test('whatever is blocked, no fingerprint comes twice and no name of an organization is in a label', () => {
  const blocked = fc.array(
    fc.record({
      organizationId: fc.constantFrom('1', '2', '3'),
      name: fc.constantFrom(null, 'Secret Farm', ''),
      cause: fc.constantFrom('terms', 'required-action', 'not-connected', 'refused-grant'),
      sinceMs: fc.integer({ min: noonMs - 10 * minuteMs, max: noonMs }),
      actionUrl: fc.constantFrom(null, 'https://provider.example/'),
      message: fc.constantFrom(null, 'Secret words'),
      parked: fc.nat(3),
      waitsSinceMs: fc.constantFrom(null, noonMs - minuteMs),
      concerns: fc.boolean(),
      connectionId: fc.constantFrom(null, 'c1', 'c2'),
      revoked: fc.boolean(),
      consentEndsAtMs: fc.option(fc.integer({ min: 0, max: 4e12 })),
    }),
  );
  fc.assert(
    fc.property(blocked, fc.nat(3), (list, groupAbove) => {
      const inputs = {
        blocked: list,
        announced: [],
        quarantined: [],
        refusedConnections: [],
        suspected: 0,
        refused: 0,
        conditions: [],
        nowMs: noonMs,
      };
      const signals = evaluate(inputs, { ...options, groupAbove });
      const fingerprints = signals.map((signal) => fingerprintOf(signal.name, signal.labels));
      expect(new Set(fingerprints).size).toBe(fingerprints.length);
      expect(fingerprints.join()).not.toMatch(/Secret/);
      expect(signals.length > 0).toBe(list.some((organization) => organization.concerns));
    }),
  );
});

test('what is to be acted on is named: our own ids, and the hosts of the settings', () => {
  const id = '3f2a9c1e-77b0-4c1d-9a55-0d9e6b1f2a77';
  const detail = `Subscription ${id} has expired and is not renewed: refused`;
  const [expired] = evaluated({
    conditions: [{ name: 'subscription-expired', sinceMs: noonMs, detail, labels: { subscription_id: id } }],
  });
  expect(expired?.annotations.description).toContain(detail);
  expect(expired?.annotations.first_step).toContain(`tramline subscriptions renew ${id}`);
  const unreached = 'no connection at kafka-bootstrap-production-1:9092 (ECONNREFUSED)';
  const [kafka] = evaluated({
    conditions: [{ name: 'kafka-unavailable', sinceMs: noonMs, detail: unreached }],
  });
  expect(kafka?.annotations.description).toContain(unreached);
  const [refused] = evaluated({
    blocked: [aBlocked({ cause: 'refused-grant', connectionId: 'c-12ab34cd' })],
  });
  expect(refused?.annotations.first_step).toContain('c-12ab34cd');
});
