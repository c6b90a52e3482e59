// Goal: a missing neighbour is a named skip on a laptop and a failure in CI.
// Method: a toy suite run by the real test runner, with and without CI.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

const root = repositoryRoot();
let folder: string;

beforeAll(() => {
  mkdirSync(join(root, '.cache'), { recursive: true });
  folder = mkdtempSync(join(root, '.cache', 'toy-suite-'));
  const support = JSON.stringify(join(root, 'test', 'support', 'neighbour'));
  writeFileSync(
    join(folder, 'toy.test.ts'),
    `import { describeWithNeighbour } from ${support};
     const missing = { available: false, reason: 'not installed' } as const;
     describeWithNeighbour('Oven', missing, 'bread', () => { test('is baked', () => {}); });
     describeWithNeighbour('Water', { available: true }, 'tea', () => { test('is brewed', () => {}); });`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function runToySuite(ci: string): { status: number | null; output: string } {
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const pattern = ['--testMatch', join(folder, '*.test.ts')];
  // Named, so that nobody takes it for a run of the whole suite.
  const named = ['--testPathPatterns', 'toy'];
  const words = [jest, '--config', join(root, '.ci', 'jest.config.cjs'), ...pattern, ...named];
  const done = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    cwd: root,
    env: { ...process.env, CI: ci },
  });
  return { status: done.status, output: done.stdout + done.stderr };
}

test('a missing neighbour is skipped, and the run ends with its name, its reason and the count', () => {
  const { status, output } = runToySuite('false');
  expect(output).toContain('Skipped neighbours\n  Oven: not installed (1 tests)\n');
  expect(output).toMatch(/^1 passed, 0 failed, 1 skipped$/m);
  expect(status).toBe(0);
});

test('under CI=true a missing neighbour fails and says why', () => {
  const { status, output } = runToySuite('true');
  expect(output).toContain('Oven: not installed');
  expect(output).toMatch(/^1 passed, 1 failed$/m);
  expect(status).toBe(1);
});
