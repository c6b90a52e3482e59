/**
 * The announced times of an organization as a set, against a model that keeps what is due and what is met apart: whatever
 * happens in whatever order, no time that lies ahead is lost, and none that is met comes back.
 */
import type { Cause, CauseSet, Observation } from '../../../src/model/organization';
import {
  type AnnouncedAction,
  type AnnouncedColumns,
  announcedAfter,
  announcedColumns,
  announcedOf,
  askedAtDueMs,
  withAnnounced,
} from '../../../src/store/announced-actions';
import fc from '../../support/properties';

const text = (dueAtMs: number) => new Date(dueAtMs).toISOString();
const nothing: AnnouncedColumns = { announced: null, action_due_at: null, action_met: null };
const opened = { organizationId: '1', epoch: 1, by: 'probe', found: { cause: null } } as const;
const causesOf = (names: Cause[]): CauseSet =>
  Object.fromEntries(names.map((name) => [name, { sinceMs: 1, actionUrl: null, message: null }]));
const dueIn = (actions: AnnouncedAction[]) => actions.filter(({ met }) => !met).map(({ dueAtMs }) => dueAtMs);

/** Something that happens: an announcement for a time, time that passes, or an answer where these causes were known. */
const happening = fc.oneof(
  fc.record({ announcedForMs: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ passedMs: fc.integer({ min: 0, max: 8 }) }),
  fc.record({
    causes: fc.subarray<Cause>(['terms', 'required-action', 'not-connected', 'refused-grant']),
    open: fc.boolean(),
  }),
);

test('no time ahead is lost, whatever is announced and answered, and each is asked for in its turn', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
      let columns = nothing;
      let nowMs = 0;
      const due = new Set<number>();
      const met = new Set<number>();
      for (const what of happenings) {
        const before = announcedOf(columns);
        let after = before;
        if ('passedMs' in what) nowMs += what.passedMs;
        else if ('announcedForMs' in what) {
          after = withAnnounced(before, text(what.announcedForMs), nowMs);
          if (what.announcedForMs > nowMs && !met.has(what.announcedForMs)) due.add(what.announcedForMs);
        } else {
          const action = { cause: 'required-action', actionUrl: null, message: null } as const;
          const said: Observation = what.open ? opened : { ...opened, found: action };
          after = announcedAfter(before, causesOf(what.causes), said, nowMs);
          const ends = what.causes.includes('terms') || what.causes.includes('required-action');
          const isPast = [...due].some((timeMs) => timeMs <= nowMs);
          if (what.open && ends && !isPast && due.size > 0) met.add(Math.min(...due));
          if (what.open) for (const timeMs of due) if (timeMs <= nowMs || met.has(timeMs)) due.delete(timeMs);
        }
        columns = announcedColumns(after);
        const sorted = [...due].sort((left, right) => left - right);
        expect(dueIn(announcedOf(columns))).toEqual(sorted);
        expect(columns.action_due_at).toBe(sorted[0] === undefined ? null : text(sorted[0]));
        const next = sorted.find((timeMs) => timeMs > nowMs) ?? null;
        expect(askedAtDueMs(announcedOf(columns), nowMs)).toBe(next);
      }
    }),
    { numRuns: 500 },
  );
});

describe('what a version before wrote', () => {
  test('is read where nothing else is known', () => {
    expect(announcedOf({ ...nothing, action_due_at: text(5) })).toEqual([{ dueAtMs: 5, met: false }]);
    expect(announcedOf({ ...nothing, action_due_at: text(5), action_met: text(5) })).toEqual([
      { dueAtMs: 5, met: true },
    ]);
  });

  test('is one more time, and takes no other one’s place', () => {
    const columns = announcedColumns([
      { dueAtMs: 5, met: false },
      { dueAtMs: 9, met: true },
    ]);
    expect(columns).toMatchObject({ action_due_at: text(5), action_met: text(9) });
    expect(dueIn(announcedOf({ ...columns, action_due_at: text(7) }))).toEqual([5, 7]);
    expect(dueIn(announcedOf({ ...columns, action_due_at: text(5), action_met: text(5) }))).toEqual([]);
  });
});

test('of very many times the nearest are kept', () => {
  const times = Array.from({ length: 120 }, (_, index) => 1 + ((index * 7) % 120));
  const actions = times.reduce<AnnouncedAction[]>(
    (known, timeMs) => withAnnounced(known, text(timeMs), 0),
    [],
  );
  expect(dueIn(actions)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
});

test('a time that cannot be read announces nothing', () => {
  expect(withAnnounced([], 'soon', 0)).toEqual([]);
  expect(withAnnounced([], null, 0)).toEqual([]);
});
