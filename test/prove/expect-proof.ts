// The proof, small enough for every run of the tests: sixty processes killed by SIGKILL, told to end and stopped at named
// steps too, and every other way of breaking, each with something on its way that was announced once only.
import { kindsOf } from './lives';
import { prove } from './prove';
import { proveRestores } from './prove-restores';
import { findingsOf, restoresTableOf, tableOf } from './run';
import { failpoints } from './steps';
import type { StoreUnderProof } from './store';

const kills = 60;

/**
 * For a test: fails with what was found and the whole table when a promise is broken, and when the run was not what it
 * should have been. What was found comes first: a log may be cut after its first lines.
 */
export async function expectProof(store: () => Promise<StoreUnderProof>, processes: number): Promise<void> {
  const report = await prove({ seed: 20_260, kills, minutes: 0, processes, store });
  if (report.findings.length > 0) throw new Error([...findingsOf(report), tableOf(report)].join('\n'));
  expect(report.kills).toBeGreaterThanOrEqual(kills);
  expect(report.sent.accepted).toBeGreaterThan(500);
  expect(report.unreached).toEqual([]);
  expect(report.steps).toEqual(expect.arrayContaining(report.planned));
  expect(Object.keys(report.broken)).toEqual(expect.arrayContaining(report.musts));
  // Each step by SIGKILL, both owners that stand still, and others.
  expect(report.planned.length).toBeGreaterThan(failpoints.length + 2);
  expect(report.paged.blocks).toBeGreaterThan(0);
  expect(report.repeats).toBeGreaterThan(0);
  expect([report.moves, report.removed].every((count) => count > 0)).toBe(true);
  const near = Object.values(report.onceNear).reduce((sum, count) => sum + count, 0);
  expect(near * 5).toBeGreaterThanOrEqual(report.resources);
  const kinds = [...report.musts, ...report.planned];
  expect(Object.keys(report.onceNear)).toEqual(expect.arrayContaining(kinds));
  expect(Math.min(...report.onceByQuarter)).toBeGreaterThan(0);
  process.stdout.write(`${tableOf(report)}\n`);
}

/** The proof of restored stores, as small: of some lives of each store, after which it is a backup of itself, a new one, or its replica. */
export async function expectRestores(
  store: () => Promise<StoreUnderProof>,
  processes: number,
  seed: number,
  restores: number,
): Promise<void> {
  const report = await proveRestores({ seed, restores, strikes: 1, processes, store });
  const table = restoresTableOf(report);
  if (report.findings.length > 0) throw new Error([...findingsOf(report), table].join('\n'));
  expect(Object.keys(report.lives)).toEqual(expect.arrayContaining([...kindsOf(report.store)]));
  expect(report.acceptedLast).toBeGreaterThan(0);
  expect(report.accepted).toBeGreaterThan(report.acceptedLast);
  process.stdout.write(`${table}\n`);
}
