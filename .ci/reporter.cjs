// Ends a test run with what a reader wants to know: how long each suite took, which neighbours were missing and why,
// and, as the very last line, the count `N passed, N failed[, N skipped]`.
// It decides nothing: a missing neighbour is made a failure in test/support/neighbour.ts, not here.
const { writeSync } = require('node:fs');
const { relative } = require('node:path');

const missingNeighbour = / \[skipped: (.+)\]$/;

class Reporter {
  constructor(globalConfig) {
    this.rootDir = globalConfig.rootDir;
  }

  onRunComplete(_contexts, results) {
    const lines = ['', 'Time per suite', ...suiteTimes(results, this.rootDir), ...skippedNeighbours(results)];
    process.stdout.write(`${lines.join('\n')}\n`);
    // Jest prints its summary after its reporters, so the count waits for the end of the process.
    const line = countLine(results);
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

/** A suite that could not even be loaded counts as one failure, so that `0 failed` is never said of a broken run. */
function countLine(results) {
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const skipped = results.numPendingTests + results.numTodoTests;
  const parts = [`${results.numPassedTests} passed`, `${failed} failed`];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return parts.join(', ');
}

module.exports = Reporter;
module.exports.countLine = countLine;
module.exports.skippedNeighbours = skippedNeighbours;
module.exports.suiteTimes = suiteTimes;
