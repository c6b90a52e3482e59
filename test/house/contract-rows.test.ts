// Goal: a row of the provider's contract that no story exercises cannot go unseen.
// Method: the judge of .ci/contract-rows.cjs on files as stand-ins leave them, one of them doctored, and the reporter.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/ready-process';
import { repositoryRoot } from '../support/repository';
import { startSimulatorHere } from '../support/simulator';

const ci = join(repositoryRoot(), '.ci');
const { addUp, isWhole, judge } = require(join(ci, 'contract-rows.cjs')) as {
  addUp(folder: string): Map<string, Record<string, number>>;
  isWhole(globalConfig: object): boolean;
  judge(sums: Map<string, Record<string, number>>, whole: boolean): { lines: string[]; short: boolean };
};
const Reporter = require(join(ci, 'reporter.cjs')) as new (
  globalConfig: object,
) => { onRunComplete(contexts: unknown, results: object): void; getLastError(): Error | undefined };

const patterns = (...given: string[]) => ({ isSet: () => given.length > 0 });
const whole = { rootDir: '/r', testPathPatterns: patterns(), testNamePattern: undefined };
const results = { testResults: [], numPassedTests: 1, numFailedTests: 0, numRuntimeErrorTestSuites: 0 };

let folder: string;
const variable = process.env.TRAMLINE_TEST_ROWS;
const ofCi = process.env.CI;
beforeEach(() => {
  folder = temporaryFolder();
  process.env.TRAMLINE_TEST_ROWS = folder;
});
afterEach(() => {
  process.env.TRAMLINE_TEST_ROWS = variable;
  process.env.CI = ofCi;
  jest.restoreAllMocks();
});

const leave = (name: string, ...lines: Record<string, Record<string, number>>[]) =>
  writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

const offset = (count: number) => ({ 'paging.offset': { 'paging-offset': count } });
const files = (count: number) => ({ 'endpoint.files': { 'files-list': count } });
const reference = (makes: number, models: number) => ({
  'equipment.reference-data': { 'equipment-makes': makes, 'equipment-models': models },
});

test('counts of all stand-ins are added up, and a row at zero in all of them is named', () => {
  leave('1.jsonl', { ...offset(2), ...files(0) }, { ...offset(1), ...files(0) });
  leave('2.jsonl', { ...offset(0), ...files(0) });
  expect(judge(addUp(folder), true)).toEqual({
    lines: ['', 'Rows of the contract: 1 of 2 exercised', '  never: endpoint.files (files-list)'],
    short: true,
  });
  leave('3.jsonl', files(1));
  expect(judge(addUp(folder), true).short).toBe(false);
});

test('a row of several parts is exercised when every part was, in whichever stand-in', () => {
  leave('1.jsonl', reference(7, 0));
  expect(judge(addUp(folder), true)).toMatchObject({
    lines: expect.arrayContaining(['  never: equipment.reference-data (equipment-models)']),
    short: true,
  });
  leave('2.jsonl', reference(0, 1));
  expect(judge(addUp(folder), true).short).toBe(false);
});

test('a run that counted nothing falls short too', () => {
  expect(judge(addUp(folder), true).short).toBe(true);
  expect(judge(addUp(join(folder, 'not-there')), true).short).toBe(true);
});

test.each<[string, object]>([
  ['files', { ...whole, testPathPatterns: patterns('test/unit') }],
  ['names', { ...whole, testNamePattern: 'a name' }],
  ['what changed', { ...whole, onlyChanged: true }],
  ['a share', { ...whole, shard: { shardIndex: 1, shardCount: 2 } }],
])('a run of some tests, chosen by %s, is not judged', (_what, config) => {
  expect(isWhole(config)).toBe(false);
  expect(judge(new Map(Object.entries(offset(0))), false)).toEqual({ lines: [], short: false });
});

/** The reporter at the end of a run, and what it printed; its last line is left out. */
function endRun(config: object): { failed: boolean; printed: string } {
  jest.spyOn(process, 'once').mockReturnValue(process);
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const reporter = new Reporter(config);
  reporter.onRunComplete([], results);
  return { failed: reporter.getLastError() !== undefined, printed: String(write.mock.calls[0]?.[0]) };
}

test('with CI=true a whole run with a doctored count of zero fails; elsewhere it only says so', () => {
  leave('1.jsonl', { ...offset(2), ...files(0) });
  process.env.CI = 'true';
  expect(endRun(whole)).toEqual({ failed: true, printed: expect.stringContaining('never: endpoint.files') });
  expect(endRun({ ...whole, testNamePattern: 'a name' }).failed).toBe(false);
  process.env.CI = '';
  expect(endRun(whole)).toEqual({ failed: false, printed: expect.stringContaining('never: endpoint.files') });
  leave('2.jsonl', files(1));
  process.env.CI = 'true';
  expect(endRun(whole).failed).toBe(false);
});

test('a stand-in of a story leaves every row of the contract at its end', async () => {
  const simulator = await startSimulatorHere({ organizations: 1, heartbeatMs: 0 });
  const rows = (await simulator.coverage()) as { row: string }[];
  await fetch(simulator.catalog).then((response) => response.text());
  await simulator.close();
  expect([...addUp(folder).keys()].sort()).toEqual(rows.map(({ row }) => row).sort());
});

/** A run of its own, of one suite that asks no provider; whole as jest sees it unless the suite is named. */
function runOf(...words: string[]): { code: number | null; said: string } {
  const suite = '<rootDir>/test/unit/tools/backoff.test.ts';
  const config = join(folder, 'one-suite.cjs');
  const settings = `{ ...require(${JSON.stringify(join(ci, 'jest.config.cjs'))}), testMatch: ['${suite}'] }`;
  writeFileSync(
    config,
    `module.exports = { ...${settings}, rootDir: ${JSON.stringify(repositoryRoot())} };\n`,
  );
  const jest = join(repositoryRoot(), 'node_modules', 'jest', 'bin', 'jest.js');
  const { status, stdout } = spawnSync(process.execPath, [jest, '--config', config, ...words], {
    encoding: 'utf8',
    env: { ...process.env, CI: 'true' },
  });
  return { code: status, said: stdout };
}

test('a real run in which no story asks the provider ends with 1, though all its tests pass; a part of one ends with 0', () => {
  const whole = runOf();
  expect(whole.said).toContain('Rows of the contract: none was counted');
  expect(whole.said).toMatch(/\n\d+ passed, 1 failed\n$/);
  expect(whole.code).toBe(1);
  expect(runOf('test/unit/tools')).toEqual({
    code: 0,
    said: expect.stringMatching(/\d+ passed, 0 failed\n$/),
  });
});
