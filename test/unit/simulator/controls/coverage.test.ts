// The table of the contract's rows: complete, each row with a name of its own, and nothing in it that nobody counts.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CONTRACT_ROWS } from '../../../../src/simulator/controls/contract-rows';
import { Coverage } from '../../../../src/simulator/controls/coverage';
import { EVENTS } from '../../../../src/simulator/controls/events';
import { startSimulator } from '../../../../src/simulator/simulator';
import { get } from '../caller';

const root = resolve(__dirname, '../../../../src/simulator');

test('every row has an id of its own, a sentence, and an event that exercises it', () => {
  expect(new Set(CONTRACT_ROWS.map(({ row }) => row)).size).toBe(CONTRACT_ROWS.length);
  for (const { text, events } of CONTRACT_ROWS) {
    expect(text.length).toBeGreaterThan(2);
    expect(events.length).toBeGreaterThan(0);
  }
});

test.each([
  ['1 What', 4],
  ['2 ', 24],
  ['3 ', 6],
  ['4 ', 32],
  ['5 ', 21],
  ['6 ', 1],
  ['7 ', 4],
  ['8 ', 7],
  ['9 ', 9],
])('section %s has %i rows', (section, count) => {
  expect(CONTRACT_ROWS.filter((row) => row.section.startsWith(section))).toHaveLength(count);
});

test('every event is counted somewhere', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/(events|contract-rows)\.ts$/.test(file),
  );
  const text = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const patterns = [...text.matchAll(/count\(`([^`]+)`\)/g)].map(
    ([, template]) => new RegExp(`^${template!.replaceAll(/\$\{[^}]+\}/g, '[a-z]+')}$`),
  );
  for (const event of Object.keys(EVENTS))
    expect([event, text.includes(`'${event}'`) || patterns.some((one) => one.test(event))]).toEqual([
      event,
      true,
    ]);
});

test('a row was exercised as often as the rarest of its events', () => {
  const coverage = new Coverage();
  const row = (name: string) => coverage.rows().find((one) => one.row === name);
  coverage.count('catalog-application');
  coverage.count('catalog-application');
  expect(row('endpoint.catalog')).toMatchObject({
    count: 0,
    events: { 'catalog-application': 2, 'catalog-user': 0 },
  });
  coverage.count('catalog-user');
  expect(['endpoint.catalog', 'catalog.links', 'paging.offset'].map((name) => row(name)?.count)).toEqual([
    1, 2, 0,
  ]);
});

test('the counts of a simulator are appended to a file when it closes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-coverage-'));
  const coverageFile = join(folder, 'coverage.jsonl');
  for (const _run of [1, 2]) {
    const simulator = await startSimulator({ coverageFile });
    await get(simulator, simulator.catalog);
    await simulator.close();
  }
  const lines = readFileSync(coverageFile, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line)['endpoint.catalog'])).toEqual(
    Array(2).fill({ 'catalog-application': 0, 'catalog-user': 1 }),
  );
  rmSync(folder, { recursive: true });
});
