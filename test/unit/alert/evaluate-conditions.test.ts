// Goal: what hits many subscriptions or consents at once is one incident, and stays one on the way down; a provider that is
// away is one incident, whatever of it was asked.
import { converge } from '../../../src/alert/converge';
import { evaluate, openOf } from '../../../src/alert/evaluate';
import {
  type Alert,
  type Condition,
  type ConditionName,
  noInputs,
  type Signal,
} from '../../../src/model/alert';
import { anAlert, minuteMs, noonMs } from './samples';

const dayMs = 86_400_000;
const holdMs = 75_000;

function signalsOf(conditions: Condition[], alerts: Alert[] = [], nowMs = noonMs + 60 * minuteMs): Signal[] {
  const options = {
    groupAbove: 50,
    runbookBase: 'https://runbooks.example',
    ownNames: [],
    journalMs: 30 * dayMs,
  };
  return evaluate({ ...noInputs, conditions, nowMs }, { ...options, ...openOf(alerts) });
}

function afterwards(conditions: Condition[], alerts: Alert[], nowMs: number): Alert[] {
  const passed = signalsOf(conditions, alerts, nowMs);
  return converge({ passed, held: [] }, alerts, nowMs, { holdMs });
}

const firing = (alerts: Alert[]) =>
  alerts
    .filter(({ state }) => state === 'firing')
    .map(({ labels }) => labels.subscription_id ?? labels.scope);

/** One after the other, as their heartbeats were to come. */
function silent(count: number, from = 0): Condition[] {
  return Array.from({ length: count }, (_, index) => ({
    name: 'subscription-silent' as const,
    sinceMs: noonMs + index * 10_000,
    detail: `Subscription s${from + index} has sent no heartbeat since 2026-03-01T11:00:00Z.`,
    labels: { subscription_id: `s${from + index}` },
  }));
}

test('subscriptions that fall silent together are one incident with their count, which names the first twenty', () => {
  const [signal, ...others] = signalsOf(silent(200).toReversed());
  expect(others).toEqual([]);
  expect(signal).toMatchObject({
    name: 'TramlineSubscriptionSilent',
    severity: 'warning',
    labels: { scope: 'many' },
    sinceMs: noonMs,
    annotations: { owner: 'on-call', until_when: expect.stringMatching(/^not known/) },
    covers: {
      names: ['TramlineSubscriptionSilent'],
      subjects: expect.arrayContaining(['subscription_id="s199"']),
    },
  });
  expect(signal?.annotations.description).toMatch(
    /^200 subscriptions at once: s0, s1, .*, s19 and 180 more\. The first: Subscription s0 has sent no heartbeat/,
  );
  expect(signal?.annotations.description).toContain('It has been so since 2026-03-01T12:00:00Z.');
  expect(signalsOf(silent(50))).toHaveLength(50);
});

test.each<[ConditionName, string, string]>([
  ['subscription-expired', 'subscription_id', 'tramline subscriptions renew ID'],
  ['subscription-ended', 'subscription_id', 'subscriptions end ID'],
  ['organizations-unlisted', 'connection_id', 'Find ID in'],
])('%s of many at once is one incident, whose first step names no single one', (name, label, step) => {
  const conditions = Array.from({ length: 51 }, (_, index) => ({
    name,
    sinceMs: noonMs,
    detail: `x${index} is in trouble.`,
    labels: { [label]: `x${index}` },
  }));
  const signals = signalsOf(conditions);
  expect(signals).toMatchObject([{ labels: { scope: 'many' } }]);
  expect(signals[0]?.annotations.first_step).toContain(step);
});

test('a state that says what to do about it is told with that step', () => {
  const labels = { subscription_id: 's1' };
  const silent = { name: 'subscription-silent', sinceMs: noonMs, detail: 'No heartbeat.', labels } as const;
  const firstStep = 'Resume delivery: `tramline delivery set --status active`.';
  const stepOf = (condition: Condition) => signalsOf([condition])[0]?.annotations.first_step;
  expect(stepOf({ ...silent, firstStep })).toBe(firstStep);
  expect(stepOf(silent)).toContain('`tramline delivery get`');
});

test('consents that run out on one day are one incident, as urgent as the first of them', () => {
  const tokens = Array.from({ length: 300 }, (_, index): Condition => {
    const endsAtMs = noonMs + 30 * dayMs + index * 4 * minuteMs;
    const labels = { connection_id: `c${index}` };
    return {
      name: 'token-expiring',
      sinceMs: endsAtMs - 30 * dayMs,
      detail: `c${index} ends.`,
      labels,
      endsAtMs,
    };
  });
  const at = (days: number) => signalsOf(tokens.toReversed(), [], noonMs + days * dayMs);
  expect(at(22)).toMatchObject([
    { severity: 'warning', annotations: { until_when: '2026-03-31T12:00:00Z' } },
  ]);
  expect(at(23)).toMatchObject([{ severity: 'critical', labels: { scope: 'many' } }]);
  expect(at(28)[0]?.annotations.description).toMatch(
    /^300 connections at once: c0, c1, .* The first: c0 ends\./,
  );
});

test('the same told by several processes counts once', () => {
  expect(signalsOf([...silent(30), ...silent(30)])).toHaveLength(30);
  expect(signalsOf([...silent(51), ...silent(51)])[0]?.annotations.description).toMatch(/^51 subscriptions/);
});

test('those that were told one by one go on in the incident of many, and none pages on the way down', () => {
  let alerts: Alert[] = [];
  const pass = (conditions: Condition[], seconds: number) => {
    alerts = afterwards(conditions, alerts, noonMs + seconds * 1000);
  };
  pass(silent(50), 600);
  expect(firing(alerts)).toHaveLength(50);
  pass(silent(60), 610);
  expect(firing(alerts)).toEqual(['many']);
  expect(alerts.filter(({ state }) => state === 'resolved')[0]?.annotations.folded_into).toBe(
    'TramlineSubscriptionSilent',
  );
  for (const left of [50, 21, 2, 1]) pass(silent(left), 700 - left);
  expect(firing(alerts)).toEqual(['many']);
  expect(alerts.find(({ labels }) => labels.scope === 'many')?.annotations.description).toMatch(
    /^1 subscription: s0\. /,
  );
  pass([], 800);
  pass([], 876);
  expect(firing(alerts)).toEqual([]);
  // The first lasting alert has told its start; a later one pages for itself.
  pass(silent(2, 100), 900);
  expect(firing(alerts)).toEqual(['s100', 's101']);
});

test('a process that was started anew, which knows of no beginning, goes on with the incident', () => {
  const many = afterwards(silent(60), [], noonMs + 600_000);
  const nowMs = noonMs + 3 * dayMs;
  const held = afterwards([], many, nowMs);
  const anew = silent(30).map((condition) => ({ ...condition, sinceMs: nowMs + 1000 }));
  expect(firing(afterwards(anew, held, nowMs + 1000))).toEqual(['many']);
});

test('one that begins days after the others pages for itself', () => {
  const alerts = afterwards(silent(60), [], noonMs + 600_000);
  const nowMs = noonMs + 3 * dayMs;
  const late = silent(1, 100).map((condition) => ({ ...condition, sinceMs: nowMs }));
  expect(firing(afterwards([...silent(3), ...late], alerts, nowMs))).toEqual(['many', 's100']);
});

test('a provider that answers at none of its origins is one incident that names them', () => {
  const away = (origin: string, detail: string, sinceMs = noonMs): Condition => ({
    name: 'provider-unavailable',
    sinceMs,
    detail,
    labels: { origin },
  });
  const one = away('https://api.example', 'timeout');
  const all = [
    one,
    away('https://equipment.example', 'status-503', noonMs - 1000),
    away('tokens', 'No token.'),
  ];
  const [signal, ...others] = signalsOf(all);
  expect(others).toEqual([]);
  expect(signal).toMatchObject({ labels: {}, severity: 'critical', sinceMs: noonMs - 1000 });
  expect(signal?.annotations.description).toMatch(
    /^At https:\/\/equipment\.example: status-503\. At https:\/\/api\.example: timeout\. No token\. It has been so/,
  );
  let alerts = afterwards([one], [], noonMs + 15_000);
  alerts = afterwards(all, alerts, noonMs + 20_000);
  expect(alerts).toHaveLength(1);
});

test('an outage that an earlier version told by origin goes on as the one incident', () => {
  const labels = { origin: 'https://api.example' };
  const open = anAlert({ name: 'TramlineProviderUnavailable', labels, startsAtMs: noonMs - minuteMs });
  const condition: Condition = { name: 'provider-unavailable', sinceMs: noonMs, detail: 'timeout', labels };
  const alerts = afterwards([condition], [open], noonMs);
  expect(alerts).toMatchObject([
    { labels: {}, state: 'firing', startsAtMs: noonMs - minuteMs },
    { labels, state: 'resolved', annotations: { folded_into: 'TramlineProviderUnavailable' } },
  ]);
});

test('what several processes tell is told as who loses by it tells it', () => {
  const told = { name: 'delivery-secret-unopened', sinceMs: noonMs } as const;
  const taken = { ...told, detail: 'A replaced value is accepted.', losesNothing: true };
  const refused = { ...told, detail: 'Deliveries are refused.', losesNothing: false };
  for (const conditions of [
    [taken, refused],
    [refused, taken],
  ]) {
    const [{ annotations, severity }] = signalsOf(conditions) as [Signal];
    expect(severity).toBe('critical');
    expect(annotations.description).toMatch(/^Deliveries are refused\./);
    expect(annotations.until_when).toMatch(/^not known/);
  }
  const [{ annotations }] = signalsOf([taken]) as [Signal];
  expect(annotations.description).toBe(
    'A replaced value is accepted. It has been so since 2026-03-01T12:00:00Z.',
  );
  expect(annotations.until_when).toBe('no end: nothing is lost by it, however long it lasts');
});

test('a cause that took over an open alert has not been so since that began: both times are told', () => {
  const full: Condition = { name: 'store-unavailable', sinceMs: noonMs, detail: 'The disk is full.' };
  const open = afterwards([full], [], noonMs);
  const grown = { ...full, sinceMs: noonMs + minuteMs, detail: 'STORE_BYTES_MAX is reached.' };
  const said = (conditions: Condition[]) => signalsOf(conditions, open)[0]?.annotations.description;
  expect(said([grown])).toContain(
    'STORE_BYTES_MAX is reached. The alert is open since 2026-03-01T12:00:00Z; this is known since 2026-03-01T12:01:00Z.',
  );
  expect(said([grown, full])).toContain('; this is known since 2026-03-01T12:01:00Z.');
  expect(said([full])).toContain('It has been so since 2026-03-01T12:00:00Z.');
});

test('what two processes say in the same words is known since the first of them knew it, whoever leads', () => {
  const first: Condition = { name: 'store-unavailable', sinceMs: noonMs, detail: 'It does not answer.' };
  const later = { ...first, sinceMs: noonMs + 10_000 };
  for (const conditions of [
    [first, later],
    [later, first],
  ]) {
    const [signal] = signalsOf(conditions) as [Signal];
    expect(signal.annotations.description).toContain('It has been so since 2026-03-01T12:00:00Z.');
  }
  // Of another cause that one did not know.
  expect(signalsOf([{ ...later, detail: 'It refuses us.' }, first])[0]?.annotations.description).toContain(
    'It refuses us. The alert is open since 2026-03-01T12:00:00Z; this is known since 2026-03-01T12:00:10Z.',
  );
});

describe('a log that is stuck', () => {
  const moving = "The store's log cannot be moved into its file";
  const stuck: Condition = {
    name: 'store-log-stuck',
    sinceMs: noonMs,
    detail: `${moving}: database or disk is full.`,
  };
  const away: Condition = {
    name: 'store-unavailable',
    sinceMs: noonMs + 20_000,
    detail: 'database or disk is full',
  };
  const grown = { ...away, detail: 'The store holds 10 bytes, and STORE_BYTES_MAX allows 10.' };
  const states = (alerts: Alert[]) =>
    Object.fromEntries(
      alerts.map(({ name, state, quietSinceMs }) => [name, quietSinceMs === null ? state : 'held']),
    );
  const [log, store] = ['TramlineStoreLogStuck', 'TramlineStoreUnavailable'];

  test('is told beside a store that takes nothing for another cause, with nothing that is untrue there', () => {
    const failing = { ...stuck, detail: `${moving}: disk I/O error.` };
    for (const whole of [grown, { ...away, detail: 'the store does not answer' }, away]) {
      const [told, ...others] = signalsOf([whole, failing]).filter(({ name }) => name === log);
      expect(others).toEqual([]);
      expect(told?.annotations.description).toContain('disk I/O error. It has been so since');
      expect(told?.annotations.description).not.toContain('Deliveries are taken');
    }
  });

  test('that ends beside a store that takes nothing for another cause is over, and goes on nowhere', () => {
    const before = afterwards([grown, stuck], [], noonMs + 20_000);
    expect(states(before)).toEqual({ [log]: 'firing', [store]: 'firing' });
    const over = afterwards([grown], before, noonMs + 30_000);
    const ended = afterwards([grown], over, noonMs + 30_000 + holdMs).find(({ name }) => name === log);
    expect(ended).toMatchObject({
      state: 'resolved',
      annotations: expect.not.objectContaining({ folded_into: store }),
    });
  });

  test('is told alone while the store takes writes, and with the store while it takes none', () => {
    expect(signalsOf([stuck]).map(({ name }) => name)).toEqual([log]);
    expect(signalsOf([stuck, away]).map(({ name }) => name)).toEqual([store]);
    // Of two causes the store's alert tells one.
    expect(signalsOf([away, grown, stuck]).map(({ name }) => name)).toEqual([store]);
    expect(signalsOf([grown, away, stuck]).map(({ name }) => name)).toEqual([store, log]);
  });

  test('goes on in the store’s alert where it was told before, and says so', () => {
    const before = afterwards([stuck], [], noonMs);
    const both = afterwards([stuck, away], before, noonMs + 20_000);
    expect(states(both)).toEqual({ [log]: 'held', [store]: 'firing' });
    const later = afterwards([stuck, away], both, noonMs + 20_000 + holdMs);
    expect(later.find(({ name }) => name === log)).toMatchObject({
      state: 'resolved',
      annotations: { folded_into: store },
    });
  });

  test('that is seen last when a full disk has room again pages nobody; one that stays so does when the store’s alert has closed', () => {
    const before = afterwards([stuck, away], [], noonMs);
    const held = afterwards([stuck], before, noonMs + 1000);
    expect(states(held)).toEqual({ [store]: 'held' });
    const closed = afterwards([stuck], held, noonMs + 1000 + holdMs);
    expect(states(closed)).toEqual({ [store]: 'resolved' });
    expect(states(afterwards([stuck], closed, noonMs + 2000 + holdMs))).toMatchObject({ [log]: 'firing' });
  });
});
