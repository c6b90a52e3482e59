// Goal: a file fits a reader's head (350 lines) and a function fits a screen (70 lines).
// Method: the linter counts, with the repository's own settings, when `npm run check` runs; here it is shown files just
// inside and just outside the bounds.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../support/repository';

const root = repositoryRoot();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-sizes-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The names of the rules that the linter finds broken. */
function brokenRules(path: string, text: string): string[] {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const words = [biome, 'lint', `--config-path=${join(root, '.ci', 'lint.json')}`, '--reporter=json', file];
  // Where it is started it looks at every file first, which takes seconds in the repository.
  const done = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' });
  const report = JSON.parse(done.stdout) as { diagnostics: { category: string }[] };
  return [...new Set(report.diagnostics.map((diagnostic) => diagnostic.category))];
}

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `  seen(${index});`).join('\n');
const fileOf = (count: number): string =>
  Array.from({ length: count }, (_, index) => `export const value${index} = ${index};\n`).join('');
const functionOf = (count: number): string =>
  `export function look(seen: (index: number) => void): void {\n${lines(count)}\n}\n`;

test('a source file of 351 lines is refused, one of 350 is not', () => {
  expect(brokenRules('src/inbox/long.ts', fileOf(351))).toEqual(['lint/style/noExcessiveLinesPerFile']);
  expect(brokenRules('src/inbox/long.ts', fileOf(350))).toEqual([]);
});

test('a function whose body has 71 lines is refused, one of 70 is not', () => {
  expect(brokenRules('src/inbox/function.ts', functionOf(71))).toEqual([
    'lint/complexity/noExcessiveLinesPerFunction',
  ]);
  expect(brokenRules('src/inbox/function.ts', functionOf(70))).toEqual([]);
});

test('a test may be longer, since its suites are functions', () => {
  expect(brokenRules('test/unit/inbox/long.test.ts', functionOf(400))).toEqual([]);
});
