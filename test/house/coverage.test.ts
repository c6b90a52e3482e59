// Goal: a room that must not be wrong cannot fall below nine tenths of its branches unseen.
// Method: the judge of .ci/coverage.cjs on summaries as the test runner writes them.
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

type Counts = { total: number; covered: number };
const { judge } = require(join(repositoryRoot(), '.ci', 'coverage.cjs')) as {
  judge(summary: object, rootDir: string): { lines: string[]; short: string[] };
};

const file = (branches: Counts) => ({ branches, lines: { total: 10, covered: 10 } });
const guarded = ['inbox', 'fetch', 'normalize', 'publish', 'alert'];
const full = Object.fromEntries(
  guarded.map((room) => [`/r/src/${room}/a.ts`, file({ total: 10, covered: 9 })]),
);

test('nine tenths of the branches of each guarded room are enough', () => {
  expect(judge({ total: {}, ...full }, '/r').short).toEqual([]);
});

test('a guarded room below nine tenths is named, its files taken together', () => {
  const more = {
    '/r/src/fetch/b.ts': file({ total: 100, covered: 89 }),
    '/r/src/alert/b.ts': file({ total: 90, covered: 90 }),
  };
  expect(judge({ ...full, ...more }, '/r').short).toEqual(['fetch']);
});

test('a guarded room of which nothing was measured is named', () => {
  const { '/r/src/publish/a.ts': _gone, ...rest } = full;
  expect(judge(rest, '/r').short).toEqual(['publish']);
});

test('another room is printed and not judged', () => {
  const { lines, short } = judge({ ...full, '/r/src/sync/a.ts': file({ total: 3, covered: 1 }) }, '/r');
  expect(lines.find((line) => line.includes('sync'))).toMatch(/33\.3 +100\.0$/);
  expect(short).toEqual([]);
});
