/**
 * The proof, small enough for every run: sixty interventions on the process, each named step among them, while a seeded
 * load goes in and brokers fail. `npm run prove` runs longer ones. Nothing is lost, nothing invented, nothing out of
 * order, and what is on a topic twice is the same bytes.
 */
import { failpoints } from '../prove/chaos';
import { prove } from '../prove/prove';
import { tableOf } from '../prove/run';
import { postgresUnderProof, type StoreUnderProof, sqliteUnderProof } from '../prove/store';
import { kafkaAvailable } from '../support/kafka';
import { describeWithNeighbour } from '../support/neighbour';
import { postgresAvailable } from '../support/postgres';

const kills = 60;

async function proveOn(store: StoreUnderProof, processes: number): Promise<void> {
  const report = await prove({ seed: 20_260, kills, minutes: 0, processes, store });
  // The whole table is worth more than the first difference.
  if (report.findings.length > 0) throw new Error(tableOf(report));
  expect(report.kills).toBeGreaterThanOrEqual(kills);
  expect(report.sent.accepted).toBeGreaterThan(500);
  expect(new Set(report.steps)).toEqual(new Set(failpoints));
  expect(report.announcedOnce * 5).toBeGreaterThanOrEqual(report.resources);
}

describeWithNeighbour('Kafka', kafkaAvailable(), 'K10: the ledger holds through sixty kills', () => {
  test('of one process on SQLite', () => proveOn(sqliteUnderProof(), 1), 480_000);
});

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'K10: the ledger holds through sixty kills', () => {
  test('of a receiver, a worker and one that is both, on one PostgreSQL that is killed as well', async () => {
    await proveOn(await postgresUnderProof(), 3);
  }, 480_000);
});
