// Goal: an action that the provider announced for a time is told before the block, more urgent as the time comes near.
import { converge } from '../../../src/alert/converge';
import { evaluate, openOf } from '../../../src/alert/evaluate';
import { announcedSignals } from '../../../src/alert/evaluate-announced';
import type { Alert } from '../../../src/model/alert';
import { noonMs } from './samples';

const dayMs = 86_400_000;
const dueAtMs = noonMs + 10 * dayMs;
const one = { organizationId: '4711', name: 'Green Acres', dueAtMs };
const severities = (nowMs: number) =>
  announcedSignals([one], 50, nowMs, null).map(({ severity }) => severity);

test('it says who must act, and by when', () => {
  expect(announcedSignals([one], 50, noonMs, null)).toMatchObject([
    {
      name: 'TramlineRequiredActionDue',
      severity: 'warning',
      labels: { organization_id: '4711' },
      annotations: {
        owner: 'customer-success',
        description: expect.stringMatching(
          /^Green Acres \(organization 4711\) must act at the provider by 2026-03-11T12:00:00Z\./,
        ),
        first_step: expect.stringMatching(/^Tell the organization/),
        until_when: '2026-03-11T12:00:00Z',
      },
    },
  ]);
  const [unnamed] = announcedSignals([{ ...one, name: null }], 50, noonMs, null);
  expect(unnamed?.annotations.description).toMatch(/^Organization 4711 must/);
});

test('it says where the organization looks, and that the announcement does not say what is asked', () => {
  const [signal] = announcedSignals([one], 50, noonMs, null, (id) => `https://provider.example/${id}`);
  expect(signal!.annotations).toMatchObject({
    action_url: 'https://provider.example/4711',
    description: expect.stringContaining('The announcement names neither the action nor its place'),
    first_step: expect.stringContaining('`tramline organizations get 4711`'),
  });
});

describe('while it is blocked for something else', () => {
  const blocked = { ...one, blockedBy: 'refused-grant' as const };
  const at = (nowMs: number) => announcedSignals([blocked], 50, nowMs, null)[0]!;

  test('it stands, as urgent as before, and says that the other remedy is none for it', () => {
    expect(at(noonMs)).toMatchObject({
      severity: 'warning',
      annotations: { until_when: '2026-03-11T12:00:00Z' },
    });
    expect(at(dueAtMs - dayMs).severity).toBe('critical');
    expect(at(noonMs).annotations.description).toMatch(/blocked for something else .*TramlineReauthorize/);
    expect(at(noonMs).annotations.description).not.toContain('read as always');
  });

  test('a connection that an operator revoked here is no refusal of the provider', () => {
    const [signal] = announcedSignals([{ ...blocked, revoked: true }], 50, noonMs, null);
    expect(signal!.annotations.description).toContain(
      'was revoked here by an operator; see TramlineReauthorize',
    );
    expect(signal!.annotations.description).not.toContain('refuses');
    expect(at(noonMs).annotations.description).toContain('the provider refuses the consent');
  });

  test('it stands after its time too, since nothing shows whether the customer acted', () => {
    const { severity, annotations } = at(dueAtMs + 9 * dayMs);
    expect(severity).toBe('critical');
    expect(annotations.description).toContain('was to act at the provider by 2026-03-11T12:00:00Z');
    expect(annotations.first_step).toMatch(/^Tell the organization/);
  });
});

test('it begins thirty days before, is critical in the last two, and is over a day after', () => {
  expect(severities(dueAtMs - 31 * dayMs)).toEqual([]);
  expect(severities(dueAtMs - 29 * dayMs)).toEqual(['warning']);
  expect(severities(dueAtMs - dayMs)).toEqual(['critical']);
  expect(severities(dueAtMs + dayMs / 2)).toEqual(['critical']);
  expect(severities(dueAtMs + dayMs)).toEqual([]);
});

test('its first step helps: until its time the customer is told, after it the provider is asked', () => {
  const stepAt = (nowMs: number) => announcedSignals([one], 50, nowMs, null)[0]!.annotations.first_step;
  expect(stepAt(dueAtMs - 1)).not.toContain('probe');
  expect(stepAt(dueAtMs)).toContain('tramline organizations probe 4711');
  const [past] = announcedSignals([one], 50, dueAtMs, null);
  expect(past!.annotations.description).not.toContain('Until then');
});

test('many are one, which names the first twenty', () => {
  const many = Array.from({ length: 60 }, (_, index) => ({
    organizationId: `${index}`,
    name: null,
    dueAtMs: dueAtMs + index * 1000,
  }));
  const signals = announcedSignals(many.toReversed(), 50, noonMs, null);
  expect(signals).toMatchObject([
    { labels: { scope: 'many' }, severity: 'warning', covers: { names: ['TramlineRequiredActionDue'] } },
  ]);
  expect(signals[0]?.annotations.description).toMatch(
    /^60 organizations .* first by 2026-03-11T12:00:00Z: Organization 0, .* and 40 more\./,
  );
  expect(announcedSignals(many, 60, noonMs, null)).toHaveLength(60);
});

describe('of several times of one organization', () => {
  const at = (days: number, organizationId = '4711') => ({
    ...one,
    organizationId,
    dueAtMs: noonMs + days * dayMs,
  });
  const untils = (nowMs: number) =>
    announcedSignals([at(40), at(1), at(12)], 50, nowMs, null).map(
      ({ annotations }) => annotations.until_when,
    );

  test('the nearest is told, with those after it, until it is a day past', () => {
    const signals = announcedSignals([at(40), at(12), at(1)], 50, noonMs, null);
    expect(signals).toMatchObject([{ labels: { organization_id: '4711' }, severity: 'critical' }]);
    expect(signals[0]?.annotations.description).toContain(
      'must act at the provider by 2026-03-02T12:00:00Z. It must act again by 2026-03-13T12:00:00Z. Until',
    );
    expect(untils(noonMs + 1.5 * dayMs)).toEqual(['2026-03-02T12:00:00Z']);
    expect(untils(noonMs + 2 * dayMs)).toEqual(['2026-03-13T12:00:00Z']);
    expect(untils(noonMs + 13 * dayMs)).toEqual(['2026-04-10T12:00:00Z']);
  });

  test.each([
    [5, /2026-03-07T12:00:00Z\. Until/],
    [6, /2026-03-07T12:00:00Z and 1 more time\. Until/],
    [7, /2026-03-07T12:00:00Z and 2 more times\. Until/],
  ])('of %i further times the first five are named', (count, said) => {
    const [signal] = announcedSignals(
      Array.from({ length: count + 1 }, (_, index) => at(index + 1)),
      50,
      noonMs,
      null,
    );
    expect(signal?.annotations.description).toMatch(said);
  });

  test('many are one for all of them: none pages as the first times are met', () => {
    const ids = Array.from({ length: 51 }, (_, index) => `${index}`);
    const both = ids.flatMap((id) => [at(10, id), at(20, id)]);
    const [many] = announcedSignals(both, 50, noonMs, null);
    expect(many?.annotations.description).toMatch(/^51 organizations /);
    const half = both.filter(
      ({ organizationId, dueAtMs }) => +organizationId % 2 === 0 || dueAtMs > at(10).dueAtMs,
    );
    expect(announcedSignals(half, 50, noonMs, many!.covers!.untilMs)).toHaveLength(1);
  });
});

describe('an incident of many', () => {
  const many = (count: number, days = 10) =>
    Array.from({ length: count }, (_, index) => ({
      organizationId: `${days} ${index}`,
      name: null,
      dueAtMs: noonMs + days * dayMs,
    }));
  const scopes = (announced: ReturnType<typeof many>, until: number) =>
    announcedSignals(announced, 50, noonMs, until).map(({ labels }) => labels.scope ?? 'one');

  test('stays one, down through the bound to the last of them, and says how many are left', () => {
    const [first] = announcedSignals(many(51), 50, noonMs, null);
    const untilMs = first!.covers!.untilMs!;
    for (const count of [51, 50, 21, 2, 1]) expect(scopes(many(count), untilMs)).toEqual(['many']);
    const [last] = announcedSignals(many(1), 50, noonMs, untilMs);
    expect(last!.annotations.description).toMatch(/^1 organization must act .*: Organization 10 0\. Until/);
    expect(scopes([], untilMs)).toEqual([]);
  });

  test('does not swallow what is announced for later, unless that too is many', () => {
    const untilMs = noonMs + 10 * dayMs;
    expect(scopes([...many(3), ...many(2, 11)], untilMs)).toEqual(['many', 'one', 'one']);
    expect(scopes([...many(3), ...many(51, 11)], untilMs)).toEqual(['many']);
    expect(scopes(many(2, 11), untilMs)).toEqual(['one', 'one']);
  });

  test('goes on until all are over, without a page for each of the last', () => {
    let alerts: Alert[] = [];
    const pass = (count: number, nowMs: number) => {
      const inputs = {
        blocked: [],
        announced: many(count),
        quarantined: [],
        refusedConnections: [],
        suspected: 0,
        refused: 0,
        conditions: [],
        nowMs,
      };
      const signals = evaluate(inputs, {
        groupAbove: 50,
        runbookBase: 'https://runbooks.example',
        journalMs: 30 * dayMs,
        ownNames: [],
        ...openOf(alerts),
      });
      alerts = converge({ passed: signals, held: [] }, alerts, nowMs, { holdMs: 60_000 });
      return alerts.map(({ state, labels }) => `${labels.scope ?? 'one'} ${state}`);
    };
    const counts = [51, 50, 50, 30, 1, 1];
    counts.forEach((count, minute) => {
      expect(pass(count, noonMs + minute * 120_000)).toEqual(['many firing']);
    });
    pass(0, noonMs + 1_000_000);
    expect(pass(0, noonMs + 1_060_000)).toEqual(['many resolved']);
  });
});
