// What the provider's stand-ins heard while the tests ran, by the rows of its contract. As a global setup of jest it
// names a new folder for the run; each stand-in of a story leaves its counts there as one line of JSON, for each row
// {event: count}. Adds them up and says which rows nobody exercised in all their parts; which of that is a failure is the
// reporter's to decide.
const { mkdirSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const variable = 'TRAMLINE_TEST_ROWS';

/** Before the workers are started, which inherit the variable. What a former run left is taken away. */
module.exports = function begin(globalConfig) {
  const folder = join(globalConfig.rootDir, '.cache', 'contract-rows', String(process.pid));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.env[variable] = folder;
};

/** The sums of each row's events over all lines of all files; a folder that is not there holds none. */
function addUp(folder) {
  const sums = new Map();
  let names = [];
  try {
    names = readdirSync(folder);
  } catch {
    return sums;
  }
  for (const name of names) {
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      if (line === '') continue;
      for (const [row, counts] of Object.entries(JSON.parse(line))) add(sums, row, counts);
    }
  }
  return sums;
}

function add(sums, row, counts) {
  const sum = sums.get(row) ?? {};
  for (const [event, count] of Object.entries(counts)) sum[event] = (sum[event] ?? 0) + count;
  sums.set(row, sum);
}

/**
 * The lines to print, and whether the run falls short: a row of which an event never happened, or no row at all. Only a
 * run of every test can fall short; any other is not spoken of.
 */
function judge(sums, whole) {
  if (!whole) return { lines: [], short: false };
  if (sums.size === 0) return { lines: ['', 'Rows of the contract: none was counted'], short: true };
  const never = [...sums].map(([row, sum]) => [row, missing(sum)]).filter(([, events]) => events.length > 0);
  const lines = ['', `Rows of the contract: ${sums.size - never.length} of ${sums.size} exercised`];
  return {
    lines: [...lines, ...never.map(([row, events]) => `  never: ${row} (${events.join(', ')})`)],
    short: never.length > 0,
  };
}

function missing(sum) {
  return Object.keys(sum).filter((event) => sum[event] === 0);
}

/** True when nothing narrows the run to some of the tests. */
function isWhole({ testPathPatterns, testNamePattern, onlyChanged, onlyFailures, findRelatedTests, shard }) {
  const narrowed = [
    testPathPatterns?.isSet(),
    testNamePattern,
    onlyChanged,
    onlyFailures,
    findRelatedTests,
    shard,
  ];
  return !narrowed.some(Boolean);
}

module.exports.addUp = addUp;
module.exports.judge = judge;
module.exports.isWhole = isWhole;
module.exports.variable = variable;
