import { timeThatCame } from '../../../src/model/modification-time';

const observedAt = '2026-03-01T12:00:00.000Z';

test.each([
  ['2020-01-01T00:00:00Z', true],
  [observedAt, true],
  ['2026-03-01T12:05:00Z', true],
  ['2026-03-01T14:05:00+02:00', true],
  ['2026-03-01T12:05:00.001Z', false],
  ['9999-12-31T23:59:59Z', false],
])('a document read at noon that says %s: it has come is %p', (modifiedTime, came) => {
  expect(timeThatCame(modifiedTime, observedAt)).toBe(came ? modifiedTime : null);
});

test.each([null, 'yesterday'])('%p orders nothing', (modifiedTime) => {
  expect(timeThatCame(modifiedTime, observedAt)).toBeNull();
});
