// Goal: an action that the provider announced for a time is told before the block, more urgent as the time comes near.
import { announcedSignals } from '../../../src/alert/evaluate-announced';
import { noonMs } from './samples';

const dayMs = 86_400_000;
const dueAtMs = noonMs + 10 * dayMs;
const one = { organizationId: '4711', name: 'Green Acres', dueAtMs };
const severities = (nowMs: number) => announcedSignals([one], 50, nowMs).map(({ severity }) => severity);

test('it says who must act, and by when', () => {
  expect(announcedSignals([one], 50, noonMs)).toMatchObject([
    {
      name: 'TramlineRequiredActionDue',
      severity: 'warning',
      labels: { organization_id: '4711' },
      annotations: {
        owner: 'customer-success',
        description: expect.stringMatching(
          /^Green Acres \(organization 4711\) must act at the provider by 2026-03-11T12:00:00Z\./,
        ),
        first_step: expect.stringContaining('probe 4711'),
      },
    },
  ]);
  const [unnamed] = announcedSignals([{ ...one, name: null }], 50, noonMs);
  expect(unnamed?.annotations.description).toMatch(/^Organization 4711 must/);
});

test('it begins thirty days before, is critical in the last two, and is over a day after', () => {
  expect(severities(dueAtMs - 31 * dayMs)).toEqual([]);
  expect(severities(dueAtMs - 29 * dayMs)).toEqual(['warning']);
  expect(severities(dueAtMs - dayMs)).toEqual(['critical']);
  expect(severities(dueAtMs + dayMs / 2)).toEqual(['critical']);
  expect(severities(dueAtMs + dayMs)).toEqual([]);
});

test('many are one, which names the first twenty', () => {
  const many = Array.from({ length: 60 }, (_, index) => ({
    organizationId: `${index}`,
    name: null,
    dueAtMs: dueAtMs + index * 1000,
  }));
  const signals = announcedSignals(many.toReversed(), 50, noonMs);
  expect(signals).toMatchObject([
    { labels: { scope: 'many' }, severity: 'warning', covers: { names: ['TramlineRequiredActionDue'] } },
  ]);
  expect(signals[0]?.annotations.description).toMatch(
    /^60 organizations .* first by 2026-03-11T12:00:00Z: Organization 0, .* and 40 more\./,
  );
  expect(announcedSignals(many, 60, noonMs)).toHaveLength(60);
});
