// Ends a test run with what a reader wants to know: how long each suite took, which neighbours were missing and why,
// which rows of the provider's contract no story exercised, and, as the very last line, the count
// `N passed, N failed[, N skipped]`. With CI=true a row that a whole run never exercised is a failure of the run; a
// missing neighbour is made one in test/support/neighbour.ts, not here.
const { writeSync } = require('node:fs');
const { relative } = require('node:path');
const { addUp, isWhole, judge, variable } = require('./contract-rows.cjs');

const missingNeighbour = / \[skipped: (.+)\]$/;

class Reporter {
  constructor(globalConfig) {
    this.rootDir = globalConfig.rootDir;
    this.whole = isWhole(globalConfig);
    this.error = undefined;
  }

  /** Asked by jest after `onRunComplete`; an error makes the run fail. */
  getLastError() {
    return this.error;
  }

  onRunComplete(_contexts, results) {
    const rows = judge(addUp(process.env[variable] ?? ''), this.whole);
    if (rows.short && process.env.CI === 'true')
      this.error = new Error('a row of the contract was never exercised');
    const neighbours = skippedNeighbours(results);
    const lines = ['', 'Time per suite', ...suiteTimes(results, this.rootDir), ...neighbours, ...rows.lines];
    process.stdout.write(`${lines.join('\n')}\n`);
    // Jest prints its summary after its reporters, so the count waits for the end of the process.
    const line = countLine(results, this.error === undefined ? 0 : 1);
    process.once('exit', () => writeSync(1, `${line}\n`));
  }
}

/** One line per suite, slowest first: seconds, path, number of tests. */
function suiteTimes(results, rootDir) {
  return results.testResults
    .filter((suite) => !suite.skipped)
    .map((suite) => ({ ms: suite.perfStats.end - suite.perfStats.start, suite }))
    .sort((left, right) => right.ms - left.ms)
    .map(({ ms, suite }) => {
      const seconds = (ms / 1000).toFixed(1).padStart(7);
      return `${seconds} s  ${relative(rootDir, suite.testFilePath)} (${suite.testResults.length} tests)`;
    });
}

/** The neighbours that were not there, each once with its reason and how many tests did not run because of it. */
function skippedNeighbours(results) {
  const counts = new Map();
  for (const suite of results.testResults) {
    for (const test of suite.testResults) {
      if (test.status !== 'pending') continue;
      const reason = test.ancestorTitles.map((title) => missingNeighbour.exec(title)?.[1]).find(Boolean);
      if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return [];
  return ['', 'Skipped neighbours', ...[...counts].map(([reason, count]) => `  ${reason} (${count} tests)`)];
}

/**
 * A suite that could not even be loaded counts as one failure, and so does what else failed the run, so that `0 failed`
 * is never said of a broken one.
 */
function countLine(results, others = 0) {
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites + others;
  const skipped = results.numPendingTests + results.numTodoTests;
  const parts = [`${results.numPassedTests} passed`, `${failed} failed`];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return parts.join(', ');
}

module.exports = Reporter;
module.exports.countLine = countLine;
module.exports.skippedNeighbours = skippedNeighbours;
module.exports.suiteTimes = suiteTimes;
