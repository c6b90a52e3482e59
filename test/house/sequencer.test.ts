// Goal: the slow suites begin first, whatever their size. Method: the sequencer of .ci/sequencer.cjs on paths.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from 'jest';
import { repositoryRoot } from '../support/repository';

type Paths = { path: string; context: { config: Config } }[];
const Sequencer = require('../../.ci/sequencer.cjs') as {
  new (options: object): { sort(tests: Paths): Paths };
  slowFirst: string[];
};

test('each suite that begins first is there', () => {
  const files = Sequencer.slowFirst.map((name) => join(repositoryRoot(), 'test', `${name}.test.ts`));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test('they begin in the order of the list, and before all others', () => {
  const [first, second] = Sequencer.slowFirst as [string, string];
  const sequencer = new Sequencer({ contexts: [], globalConfig: {} });
  const pathOf = (name: string) => join(repositoryRoot(), 'test', `${name}.test.ts`);
  const config = { id: 'tramline', cacheDirectory: repositoryRoot() } as Config;
  const context = { config, hasteFS: { getSize: () => 1 } };
  const tests = ['unit/large', second, 'unit/small', first].map((name) => ({ path: pathOf(name), context }));
  const sorted = sequencer.sort(tests as Paths).map(({ path }) => path);
  expect(sorted.slice(0, 2)).toEqual([pathOf(first), pathOf(second)]);
  expect(sorted).toHaveLength(4);
});
