// Writes test/faults/README.md: every fault that must be survived, by its id, with the tests that show it. A test shows a
// row when its title, or that of a suite around it, begins with the row's id. The rows stand in test/faults/rows.json;
// a row that nothing shows yet says there why. Run it after naming a test: `node .ci/fault-rows.cjs`.
const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join, posix } = require('node:path');

const folder = 'test/faults';
const one = '(?:[KTBDWSR]\\d+|[FA]-\\d+)';
const title = new RegExp(`['"\`](${one}(?:(?:, | and |–)${one})*):`, 'g');

// What stands before a title: the name of the call, a table of cases, or a neighbour and whether it is there. Any other
// text that begins with an id is data of a test, and shows nothing.
const call =
  /(?:^|[\s;])(?:(?:test|it|describe)\(|(?:test|it|describe)\.each[^;]*[)`]\(|describeWithNeighbour\([^;]*,)\s*$/;

/** The ids at the beginning of titles in a suite's text; `S1–S3` names three. */
function idsIn(text) {
  const titles = [...text.matchAll(title)].filter(({ index }) => call.test(text.slice(0, index)));
  return titles.flatMap(([, ids]) => ids.split(/, | and /).flatMap(expand));
}

function expand(part) {
  const [from, to] = part.split('–');
  if (to === undefined) return [from];
  const [, letters] = /^(\D+)/.exec(from);
  const [first, last] = [from, to].map((id) => Number(id.slice(letters.length)));
  return Array.from({ length: last - first + 1 }, (_, at) => `${letters}${first + at}`);
}

/** Paths of the suites that name each id, from the root, in order. */
function shownBy(suites) {
  const files = new Map();
  for (const { path, text } of suites) {
    for (const id of new Set(idsIn(text))) files.set(id, [...(files.get(id) ?? []), path]);
  }
  return files;
}

/** The rows that nothing shows and that do not say why. */
function faultsOf(rows, files) {
  const silent = rows.filter(({ id, without }) => without === undefined && !files.has(id));
  return silent.map(({ id }) => `${id} has no test, and does not say why`);
}

function documentOf(rows, files) {
  const lines = rows.map(({ id, priority, what, without }) => {
    const paths = files.get(id) ?? [];
    const links = paths.map((path) => `[${posix.basename(path)}](${posix.relative(folder, path)})`);
    return `| ${id} | P${priority} | ${what} | ${links.length > 0 ? links.join(', ') : `none: ${without}`} |`;
  });
  return [
    '# Faults that are survived',
    '',
    'Each row is something that goes wrong, and what must become of it. P0 is the floor, P1 is expected of a service that',
    'is trusted. The last column names the suites whose titles begin with the id. Written by `node .ci/fault-rows.cjs` from',
    '`rows.json` and the titles; a row that nothing shows says why.',
    '',
    'K: the process dies. T: it is told to end. B: Kafka. D: the database. W: what senders do. S: addresses and credentials.',
    'F: the provider. A: alerting. R: settings, runtime and supply chain.',
    '',
    'What lasts for minutes in a row lasts for seconds when the tests run, or its clock is moved. `REAL_DURATIONS=1` makes it last:',
    'ten minutes of too few replicas (B4) and five without brokers (B1), a flood of ten minutes (W20, which writes gigabytes), an hour',
    'of load (R8), and in the proof (K10) five minutes without brokers and without PostgreSQL and half an hour without a pager (A-1).',
    'For one of them: `npm run build && REAL_DURATIONS=1 npx jest --config .ci/jest.config.cjs test/faults/kafka.test.ts -t B1`,',
    'or `REAL_DURATIONS=1 npm run prove`.',
    '',
    '| Row | | What goes wrong, and what must become of it | Shown by |',
    '|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

/** Every suite below test/, those shared by several test files among them. */
function suitesOf(root) {
  const entries = readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /(\.test|-suite)\.ts$/.test(entry.name))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function readRows(root) {
  return JSON.parse(readFileSync(join(root, folder, 'rows.json'), 'utf8'));
}

module.exports = { documentOf, faultsOf, idsIn, readRows, shownBy, suitesOf };

if (require.main === module) {
  const root = join(__dirname, '..');
  const rows = readRows(root);
  const files = shownBy(suitesOf(root));
  writeFileSync(join(root, folder, 'README.md'), documentOf(rows, files));
  const faults = faultsOf(rows, files);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
