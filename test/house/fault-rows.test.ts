// Goal: every fault that must be survived has a test that is named after it, or says why not, and the list is up to date.
// Method: the pure parts of .ci/fault-rows.cjs, each shown a bad example first, then on the repository.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

type Row = { id: string; priority: number; what: string; without?: string };
type Files = Map<string, string[]>;
type Suite = { path: string; text: string };

const root = repositoryRoot();
const { documentOf, faultsOf, idsIn, readRows, shownBy, suitesOf } = require(
  join(root, '.ci', 'fault-rows.cjs'),
) as {
  documentOf(rows: Row[], files: Files): string;
  faultsOf(rows: Row[], files: Files): string[];
  idsIn(text: string): string[];
  readRows(root: string): Row[];
  shownBy(suites: Suite[]): Files;
  suitesOf(root: string): Suite[];
};

const titled = (title: string): string => `test(${JSON.stringify(title)}, () => {});`;
const row = (id: string, more: Partial<Row> = {}): Row => ({ id, priority: 0, what: 'x', ...more });

test.each([
  ['K1: killed', ['K1']],
  ['F-9, A-11: both', ['F-9', 'A-11']],
  ['S1–S3, S8: several', ['S1', 'S2', 'S3', 'S8']],
  ['S6 renewed', []],
  ['it says K1: killed', []],
  ['SHA256: a digest', []],
])('a title of %j names %j', (title, ids) => {
  expect(idsIn(titled(title))).toEqual(ids);
});

// Where the title belongs stands a sign, so that this file names no row itself.
const placed = (text: string): string => text.replace('@', "'K1: killed'");

test.each([
  ['of a table of cases', 'test.each([[1], [2]])(@, () => {});'],
  ['of a table below', 'test.each`\n  one\n  1\n`(\n  @, () => {});'],
  ['of a suite', '\n  describe(@, () => {});'],
  ['of a suite beside a neighbour', "describeWithNeighbour('Kafka', kafkaAvailable(), @, () => {});"],
])('a title %s names its row', (_what, text) => {
  expect(idsIn(placed(text))).toEqual(['K1']);
});

test.each([
  ['in a table of cases', "test.each([\n  [@, ['K1']],\n])('%s names it', () => {});"],
  ['told to another function', "test('it is killed', () => kill(@));"],
  ['in a list', 'const rows = [\n  @,\n];'],
])('a text %s that begins as a title does names no row', (_what, text) => {
  expect(idsIn(placed(text))).toEqual([]);
});

test('a row without a test is caught, unless it says why', () => {
  const files = shownBy([{ path: 'test/faults/kill.test.ts', text: titled('K1: killed') }]);
  const rows = [row('K1'), row('K2'), row('K3', { without: 'it cannot be done here' })];
  expect(faultsOf(rows, files)).toEqual(['K2 has no test, and does not say why']);
});

test('every row is listed with the suites that show it, from the folder of the list', () => {
  const paths = ['test/faults/kill.test.ts', 'test/unit/alert/lane.test.ts'];
  const files = shownBy(paths.map((path) => ({ path, text: titled('K1: killed') })));
  const text = documentOf([row('K1'), row('K3', { priority: 1, without: 'it cannot be done here' })], files);
  const lines = text.split('\n').filter((line) => /^\| K\d/.test(line));
  expect(lines).toEqual([
    '| K1 | P0 | x | [kill.test.ts](kill.test.ts), [lane.test.ts](../unit/alert/lane.test.ts) |',
    '| K3 | P1 | x | none: it cannot be done here |',
  ]);
});

test('every row has a test here or says why it has none, once', () => {
  const rows = readRows(root);
  expect(faultsOf(rows, shownBy(suitesOf(root)))).toEqual([]);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});

test('test/faults/README.md is as written by .ci/fault-rows.cjs', () => {
  const written = documentOf(readRows(root), shownBy(suitesOf(root)));
  expect(readFileSync(join(root, 'test', 'faults', 'README.md'), 'utf8')).toBe(written);
});
