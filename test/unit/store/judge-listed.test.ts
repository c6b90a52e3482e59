import type { EventDraft } from '../../../src/model/event';
import { isKnownSince, judgeListed } from '../../../src/store/judge-listed';

const row = {
  published: 1,
  deleted: 0,
  organization_id: '4711',
  content_hash: 'c1',
  wire_hash: 'w1',
  normalizer_version: 1,
  modified_time: '2026-11-01T00:00:00Z',
  archived: 0,
  code: null,
};
const draft = {
  kind: 'equipment',
  id: '7',
  organizationId: '4711',
  archived: false,
  contentHash: 'c2',
  wireHash: 'w2',
  normalizerVersion: 1,
  modifiedTime: '2026-11-02T00:00:00Z',
} as EventDraft;
const since = { readSince: false, standsElsewhere: () => false };

test('a page that shows a resource at rest otherwise is a change of it, and an unchanged one is none', () => {
  expect(judgeListed(row, draft, since)).toEqual({ change: 'updated' });
  const same = { ...draft, contentHash: 'c1', wireHash: 'w1' };
  expect(judgeListed(row, same, since)).toEqual({ change: null });
});

test('what moved, or stands elsewhere by the topics, is left to a read', () => {
  expect(judgeListed(row, { ...draft, organizationId: '99' }, since)).toBe('left');
  expect(judgeListed(row, draft, { ...since, standsElsewhere: () => true })).toBe('left');
});

test('what was read since the page was asked for is left to another read, unless the page shows the same', () => {
  const readSince = { ...since, readSince: true };
  expect(judgeListed(row, draft, readSince)).toBe('left');
  expect(judgeListed(row, { ...draft, wireHash: 'w1' }, readSince)).toBe('unchanged');
  expect(judgeListed({ ...row, deleted: 1 }, { ...draft, wireHash: 'w1' }, readSince)).toBe('left');
});

test('what a newer version published is left to one unless the provider shows the same', () => {
  const newer = { ...row, normalizer_version: 2 };
  expect(judgeListed(newer, draft, since)).toBe('left');
  expect(judgeListed(newer, { ...draft, wireHash: 'w1' }, since)).toBe('unchanged');
});

test('a resource that a listing only names is known in the state that was modified last', () => {
  const hint = { organizationId: '4711', modifiedTime: '2026-11-01T00:00:00.000Z' };
  expect(isKnownSince(row, hint)).toBe(true);
  for (const other of [
    { modified_time: null },
    { content_hash: '' },
    { deleted: true },
    { code: 'absent-once' },
    { organization_id: '99' },
  ])
    expect(isKnownSince({ ...row, ...other }, hint)).toBe(false);
  expect(isKnownSince(row, { ...hint, modifiedTime: null })).toBe(false);
});
