// Goal: the end of a test run tells the truth about what ran, what did not and why.
// Method: the reporter's own functions on results as jest gives them.
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

const reporter = require(join(repositoryRoot(), '.ci', 'reporter.cjs')) as {
  countLine(results: object): string;
  skippedNeighbours(results: object): string[];
  suiteTimes(results: object, rootDir: string): string[];
};

const counts = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
};

test('the last line counts what passed and failed', () => {
  expect(reporter.countLine(counts)).toBe('5 passed, 0 failed');
});

test('the last line counts what was skipped when something was', () => {
  expect(reporter.countLine({ ...counts, numPendingTests: 2, numTodoTests: 1 })).toBe(
    '5 passed, 0 failed, 3 skipped',
  );
});

test('a suite that could not be loaded counts as failed', () => {
  expect(reporter.countLine({ ...counts, numRuntimeErrorTestSuites: 1 })).toBe('5 passed, 1 failed');
});

test('a missing neighbour is named once with its reason and its number of tests', () => {
  const skipped = {
    status: 'pending',
    ancestorTitles: ['a real Kafka [skipped: Kafka: Java 17 is missing]'],
  };
  const other = { status: 'pending', ancestorTitles: ['skipped by hand'] };
  const results = { testResults: [{ testResults: [skipped, other] }, { testResults: [skipped] }] };
  expect(reporter.skippedNeighbours(results)).toEqual([
    '',
    'Skipped neighbours',
    '  Kafka: Java 17 is missing (2 tests)',
  ]);
});

test('nothing is said of neighbours when none was missing', () => {
  const passed = { status: 'passed', ancestorTitles: [] };
  expect(reporter.skippedNeighbours({ testResults: [{ testResults: [passed] }] })).toEqual([]);
});

test('each suite is named with its time, the slowest first', () => {
  const suite = (name: string, end: number) => ({
    testFilePath: join('/repository', name),
    perfStats: { start: 0, end },
    testResults: [{}],
  });
  const results = { testResults: [suite('quick.test.ts', 100), suite('slow.test.ts', 2500)] };
  expect(reporter.suiteTimes(results, '/repository')).toEqual([
    '    2.5 s  slow.test.ts (1 tests)',
    '    0.1 s  quick.test.ts (1 tests)',
  ]);
});
