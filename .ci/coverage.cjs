// Reads what `npm test -- --coverage` measured and says whether the rooms that must not be wrong are tested through:
// one line per room, and exit 1 when the branch coverage of a guarded room is below the least. Measures nothing itself.
const { readFileSync } = require('node:fs');
const { join, relative } = require('node:path');

const guardedRooms = ['inbox', 'fetch', 'normalize', 'publish', 'alert'];
const leastBranchPercent = 90;

/**
 * Sums the summary of istanbul by room. Answers the lines to print and the guarded rooms that fall short, among them
 * those with no measured file at all.
 */
function judge(summary, rootDir) {
  const rooms = new Map();
  for (const [file, counts] of Object.entries(summary)) {
    if (file === 'total') continue;
    const [top, room, rest] = relative(rootDir, file).split(/[/\\]/);
    if (top !== 'src') continue;
    const name = rest === undefined ? '(top files)' : room;
    const sum = rooms.get(name) ?? { branches: 0, coveredBranches: 0, lines: 0, coveredLines: 0 };
    sum.branches += counts.branches.total;
    sum.coveredBranches += counts.branches.covered;
    sum.lines += counts.lines.total;
    sum.coveredLines += counts.lines.covered;
    rooms.set(name, sum);
  }
  const lines = ['Coverage of src by room   branches    lines'];
  for (const [name, sum] of [...rooms].sort()) {
    const branches = percent(sum.coveredBranches, sum.branches);
    lines.push(`  ${name.padEnd(22)} ${format(branches)} ${format(percent(sum.coveredLines, sum.lines))}`);
  }
  const short = guardedRooms.filter((name) => {
    const sum = rooms.get(name);
    return sum === undefined || percent(sum.coveredBranches, sum.branches) < leastBranchPercent;
  });
  return { lines, short };
}

function percent(covered, total) {
  return total === 0 ? 100 : (100 * covered) / total;
}

/** Cut, not rounded: 89.99 is not 90. */
function format(value) {
  return `${(Math.floor(value * 10) / 10).toFixed(1).padStart(8)}`;
}

module.exports = { judge };

if (require.main === module) {
  const rootDir = join(__dirname, '..');
  const summary = JSON.parse(readFileSync(join(rootDir, 'coverage', 'coverage-summary.json'), 'utf8'));
  const { lines, short } = judge(summary, rootDir);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (short.length > 0) {
    process.stderr.write(`Below ${leastBranchPercent} % of branches: ${short.join(', ')}\n`);
    process.exitCode = 1;
  }
}
