// Goal: whoever is paged learns until when nothing is lost, and is hurried by that time alone.
// Method: one thing that waits, looked at before, at and after each of its two times.
import { keptUntil } from '../../../src/alert/kept-until';
import type { Severity } from '../../../src/model/alert';
import fc from '../../support/properties';
import { noonMs } from './samples';

const dayMs = 86_400_000;
const journalMs = 30 * dayMs;
const boundMs = noonMs + journalMs;

function keptAt(nowMs: number, consentEndsAtMs: number | null = null, severity: Severity = 'warning') {
  return keptUntil({ sinceMs: noonMs, consentEndsAtMs }, journalMs, severity, nowMs);
}

test('what waits is kept one by one until the journal’s bound, counted from the oldest of it', () => {
  expect(keptAt(noonMs)).toEqual({
    severity: 'warning',
    annotations: { until_when: '2026-03-31T12:00:00Z', kept_until: '2026-03-31T12:00:00Z' },
    sentence: 'Until 2026-03-31T12:00:00Z everything that waits is kept one by one; nothing is lost.',
  });
});

test('two days before the bound it is urgent, and not a millisecond earlier', () => {
  expect([2 * dayMs + 1, 2 * dayMs, 0].map((leftMs) => keptAt(boundMs - leftMs).severity)).toEqual([
    'warning',
    'critical',
    'critical',
  ]);
});

test('where the journal is short, it is urgent in the last quarter of it', () => {
  const severityAfter = (shareOfDay: number) =>
    keptUntil({ sinceMs: noonMs, consentEndsAtMs: null }, dayMs, 'warning', noonMs + shareOfDay * dayMs)
      .severity;
  expect([0, 0.74, 0.75, 1].map(severityAfter)).toEqual(['warning', 'warning', 'critical', 'critical']);
});

test('from the bound on it is said what is kept of it, and nothing is promised any more', () => {
  expect(keptAt(boundMs - 1).sentence).toContain('nothing is lost');
  expect(keptAt(boundMs).sentence).toBe(
    'Since 2026-03-31T12:00:00Z notifications that wait longer than the journal reaches back are kept as first, last ' +
      'and count; their resources are still read.',
  );
});

test('a consent that ends before the bound is the time that counts; the bound is said beside it', () => {
  const endsMs = noonMs + 10 * dayMs;
  expect(keptAt(noonMs, endsMs)).toEqual({
    severity: 'warning',
    annotations: {
      until_when: '2026-03-11T12:00:00Z',
      kept_until: '2026-03-31T12:00:00Z',
      consent_ends: '2026-03-11T12:00:00Z',
    },
    sentence:
      'Until 2026-03-31T12:00:00Z everything that waits is kept one by one; nothing is lost. A consent that reading ' +
      'needs ends at 2026-03-11T12:00:00Z: from then on a new one is needed too.',
  });
  expect([2 * dayMs + 1, 2 * dayMs].map((leftMs) => keptAt(endsMs - leftMs, endsMs).severity)).toEqual([
    'warning',
    'critical',
  ]);
});

test('a consent that ends with the bound or after it hurries nobody before', () => {
  for (const laterMs of [0, 1, dayMs]) {
    const kept = keptAt(boundMs - 2 * dayMs - 1, boundMs + laterMs);
    expect(kept).toEqual(keptAt(boundMs - 2 * dayMs - 1));
  }
});

test('of a consent that has ended it is said so, whether it ended before the bound or after it', () => {
  const early = keptAt(noonMs + 10 * dayMs, noonMs + 10 * dayMs);
  expect(early.sentence).toMatch(
    /A consent that reading needs ended at 2026-03-11T12:00:00Z: a new one is needed too\.$/,
  );
  expect(early.severity).toBe('critical');
  const late = keptAt(boundMs + 2 * dayMs, boundMs + dayMs);
  expect(late.annotations).toEqual({
    until_when: '2026-03-31T12:00:00Z',
    kept_until: '2026-03-31T12:00:00Z',
    consent_ends: '2026-04-01T12:00:00Z',
  });
  expect(late.sentence).toMatch(/ended at 2026-04-01T12:00:00Z: a new one is needed too\.$/);
});

test('severity never falls while time passes, nor below what the alert has; the first loss is the time that is named', () => {
  const rank = { info: 0, warning: 1, critical: 2 };
  const time = fc.integer({ min: -400, max: 400 }).map((hours) => noonMs + hours * 3_600_000);
  const severity = fc.constantFrom<Severity>('info', 'warning', 'critical');
  fc.assert(
    fc.property(
      time,
      fc.integer({ min: 1, max: 400 }),
      fc.option(time),
      severity,
      fc.array(time, { minLength: 2, maxLength: 5 }),
      (sinceMs, hours, consentEndsAtMs, usual, times) => {
        const kept = times
          .toSorted((left, right) => left - right)
          .map((nowMs) => keptUntil({ sinceMs, consentEndsAtMs }, hours * 3_600_000, usual, nowMs));
        const ranks = [rank[usual], ...kept.map((one) => rank[one.severity])];
        expect(ranks).toEqual(ranks.toSorted((left, right) => left - right));
        const lossMs = Math.min(sinceMs + hours * 3_600_000, consentEndsAtMs ?? Number.POSITIVE_INFINITY);
        for (const { annotations } of kept) expect(Date.parse(annotations.until_when)).toBe(lossMs);
      },
    ),
  );
});
