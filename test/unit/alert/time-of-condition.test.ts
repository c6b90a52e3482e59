// Goal: each state of the platform says until when nothing is lost, or why nobody knows, and grows urgent by that time.
// Method: every name of the catalogue, before, at and after the times that matter to it.
import { conditionRows } from '../../../src/alert/catalogue';
import { timeOf } from '../../../src/alert/time-of-condition';
import type { Condition, ConditionName } from '../../../src/model/alert';
import fc from '../../support/properties';
import { noonMs } from './samples';

const dayMs = 86_400_000;
const journalMs = 30 * dayMs;
const names = Object.keys(conditionRows) as ConditionName[];
const holdReads: ConditionName[] = [
  'client-refused',
  'decryption-failed',
  'organization-unread',
  'provider-unavailable',
  'rate-limited',
];
const keptAtProvider: ConditionName[] = [
  'store-unavailable',
  'subscription-ended',
  'subscription-expired',
  'subscription-silent',
];
const others = names.filter((name) => ![...holdReads, ...keptAtProvider].includes(name));

function timeAfter(name: ConditionName, passedMs: number, of: Partial<Condition> = {}) {
  return timeOf({ name, sinceMs: noonMs, detail: '', ...of }, journalMs, 'warning', noonMs + passedMs);
}

test.each(holdReads)('%s holds reads, which the journal keeps until its bound', (name) => {
  expect(timeAfter(name, 0)).toEqual({
    severity: 'warning',
    annotations: { until_when: '2026-03-31T12:00:00Z', kept_until: '2026-03-31T12:00:00Z' },
    sentence: expect.stringMatching(/^Until 2026-03-31T12:00:00Z everything that waits is kept/),
  });
  expect([28 * dayMs - 1, 28 * dayMs].map((ms) => timeAfter(name, ms).severity)).toEqual([
    'warning',
    'critical',
  ]);
});

test.each(keptAtProvider)(
  '%s leaves it to the provider what is kept: no time is invented, and after a day it is urgent',
  (name) => {
    const { annotations, sentence } = timeAfter(name, 0);
    expect(annotations).toEqual({
      until_when: expect.stringMatching(/^not known: the provider does not say/),
    });
    expect(sentence).toMatch(/not known\..*`tramline sync` finds/);
    expect([dayMs - 1, dayMs].map((ms) => timeAfter(name, ms).severity)).toEqual(['warning', 'critical']);
  },
);

test('a store that fails may take deliveries all the same: only what is refused for it is told again', () => {
  expect(timeAfter('store-unavailable', 0).sentence).toMatch(
    /^What is answered 503 for it, the provider announces again;/,
  );
});

test.each(others)('%s names no time of its own, and grows no more urgent by lasting', (name) => {
  const { annotations, severity } = timeAfter(name, 365 * dayMs);
  expect(annotations).toEqual({
    until_when: expect.stringMatching(/^(not known: .+|no end(:| while) .+|nothing waits yet)$/),
  });
  expect(severity).toBe('warning');
});

test('what is decided and cannot be sent waits in the store, and that is said', () => {
  for (const name of ['kafka-unavailable', 'topic-denied'] as const)
    expect(timeAfter(name, 0).sentence).toMatch(/wait in the store in their order, .* none is lost/);
});

describe('a consent with an end', () => {
  const endsAtMs = noonMs + 30 * dayMs;
  const leftAt = (leftMs: number) => timeAfter('token-expiring', 30 * dayMs - leftMs, { endsAtMs });

  test('names it, and is urgent from seven days before', () => {
    expect(leftAt(7 * dayMs + 1)).toEqual({
      severity: 'warning',
      annotations: { until_when: '2026-03-31T12:00:00Z', consent_ends: '2026-03-31T12:00:00Z' },
      sentence:
        'From 2026-03-31T12:00:00Z nothing is read with it; what waits then is kept, and read with a new one.',
    });
    expect(leftAt(7 * dayMs).severity).toBe('critical');
    expect(leftAt(1).sentence).toMatch(/^From /);
  });

  test('that has passed is told as passed, and stays urgent', () => {
    for (const leftMs of [0, -dayMs]) {
      expect(leftAt(leftMs)).toMatchObject({
        severity: 'critical',
        annotations: { until_when: '2026-03-31T12:00:00Z' },
        sentence: 'It has not been refused yet: once it is, what waits is kept, and read with a new one.',
      });
    }
  });
});

test.each(['sandbox-near', 'sandbox-limit'] as const)('%s with an end names it, of no consent', (name) => {
  const endsAtMs = noonMs + 30 * dayMs;
  const at = (leftMs: number) => timeAfter(name, 30 * dayMs - leftMs, { endsAtMs });
  expect(at(7 * dayMs + 1)).toEqual({
    severity: 'warning',
    annotations: { until_when: '2026-03-31T12:00:00Z' },
    sentence: 'From 2026-03-31T12:00:00Z a sync waits for the move to production.',
  });
  expect(at(7 * dayMs).severity).toBe('critical');
  expect(at(0).sentence).toBe('Since 2026-03-31T12:00:00Z a sync waits for the move to production.');
});

test('what is over by itself says when, and is no more urgent as that comes near', () => {
  const overAtMs = noonMs + dayMs;
  for (const passedMs of [0, dayMs - 1]) {
    expect(timeAfter('sandbox-limit', passedMs, { overAtMs })).toEqual({
      severity: 'warning',
      annotations: { until_when: 'nothing is lost: it is over by itself at 2026-03-02T12:00:00Z' },
      sentence: '',
    });
  }
});

test.each(['clock-off', 'delivery-secret-unopened'] as const)(
  '%s that loses nothing says so and pages nobody, whatever its name stands for otherwise',
  (name) => {
    const condition: Condition = { name, sinceMs: noonMs, detail: '', losesNothing: true };
    for (const passedMs of [0, 40 * dayMs]) {
      expect(timeOf(condition, journalMs, 'critical', noonMs + passedMs)).toEqual({
        severity: 'warning',
        annotations: { until_when: 'no end: nothing is lost by it, however long it lasts' },
        sentence: '',
      });
    }
  },
);

test('a clock that is off says nothing of refusals that it may not cause', () => {
  const off: Condition = { name: 'clock-off', sinceMs: noonMs, detail: '' };
  expect(timeOf(off, journalMs, 'critical', noonMs)).toEqual({
    severity: 'critical',
    annotations: { until_when: 'not known: it depends on what is refused for it, and on how far off it is' },
    sentence: '',
  });
});

test('whatever holds, its severity never falls while time passes, nor below its row’s', () => {
  const rank = { info: 0, warning: 1, critical: 2 };
  const hours = (min: number) => fc.integer({ min, max: 2000 }).map((count) => noonMs + count * 3_600_000);
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.option(hours(-2000), { nil: undefined }),
      fc.array(hours(0), { minLength: 2, maxLength: 5 }),
      (name, endsAtMs, times) => {
        const usual = conditionRows[name].severity;
        const condition = {
          name,
          sinceMs: noonMs,
          detail: '',
          ...(endsAtMs === undefined ? {} : { endsAtMs }),
        };
        const told = times
          .toSorted((left, right) => left - right)
          .map((nowMs) => timeOf(condition, journalMs, usual, nowMs));
        const ranks = [rank[usual], ...told.map(({ severity }) => rank[severity])];
        expect(ranks).toEqual(ranks.toSorted((left, right) => left - right));
        for (const { annotations } of told) expect(annotations.until_when).not.toBe('');
      },
    ),
  );
});
