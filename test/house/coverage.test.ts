// Goal: a room that must not be wrong cannot fall below nine tenths of its branches unseen.
// Method: the judge of .ci/coverage.cjs on summaries as the test runner writes them, and what .ci/environment.cjs leaves of
// the counts that suites hand over.
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

type Counts = { total: number; covered: number };
const { judge } = require(join(repositoryRoot(), '.ci', 'coverage.cjs')) as {
  judge(summary: object, rootDir: string): { lines: string[]; short: string[] };
};

type Counted = { s: Record<string, number>; f: Record<string, number>; b: Record<string, number[]> };
const { keepNews } = require(join(repositoryRoot(), '.ci', 'environment.cjs')) as {
  keepNews(files: Record<string, Counted>, before: Map<string, boolean[]>): void;
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

test('a suite hands over the files that it took further than those before it, whole, and no others', () => {
  const before = new Map<string, boolean[]>();
  const handOver = (files: Record<string, Counted>) => {
    keepNews(files, before);
    return files;
  };
  const counted = (first: number, second: number, branch: number[]) => ({
    s: { 0: first, 1: second },
    f: { 0: first },
    b: { 0: branch },
  });
  const one = { '/r/a.ts': counted(1, 0, [0, 0]), '/r/b.ts': counted(0, 0, [0, 0]) };
  expect(handOver({ ...one })).toEqual(one);
  expect(handOver({ '/r/a.ts': counted(5, 0, [0, 0]), '/r/b.ts': counted(0, 0, [0, 0]) })).toEqual({});
  const branch = { '/r/a.ts': counted(0, 0, [0, 2]) };
  expect(handOver({ ...branch, '/r/b.ts': counted(0, 0, [0, 0]) })).toEqual(branch);
  expect(handOver({ '/r/a.ts': counted(3, 0, [0, 1]) })).toEqual({});
  expect(handOver({ '/r/a.ts': counted(3, 1, [0, 1]) })).toHaveProperty(['/r/a.ts']);
});
