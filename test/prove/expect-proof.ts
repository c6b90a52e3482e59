// The proof, small enough for every run of the tests: sixty interventions on processes, each named step among them.
import { failpoints } from './chaos';
import { prove } from './prove';
import { tableOf } from './run';
import type { StoreUnderProof } from './store';

const kills = 60;

/** For a test: fails with the whole table when a promise is broken, and when the run was not what it should have been. */
export async function expectProof(store: StoreUnderProof, processes: number): Promise<void> {
  const report = await prove({ seed: 20_260, kills, minutes: 0, processes, store });
  if (report.findings.length > 0) throw new Error(tableOf(report));
  expect(report.kills).toBeGreaterThanOrEqual(kills);
  expect(report.sent.accepted).toBeGreaterThan(500);
  expect(new Set(report.steps)).toEqual(new Set(failpoints));
  expect(report.announcedOnce * 5).toBeGreaterThanOrEqual(report.resources);
}
