/**
 * D12 on the embedded store, under load: it is replaced by its backups and by new ones while the process is killed, also at the
 * steps of reading on. `npm run prove -- --restores N` runs longer ones. Over all these lives no number is given twice, what is on a
 * topic twice is the same bytes, and at last the topics say what the provider has.
 */
import { expectRestores } from '../prove/expect-proof';
import { sqliteUnderProof } from '../prove/store';
import { kafkaAvailable } from '../support/kafka';
import { describeWithNeighbour } from '../support/neighbour';

describeWithNeighbour('Kafka', kafkaAvailable(), 'D12: topics hold over the lives of a store', () => {
  test('D12: of one process on SQLite', () => expectRestores(sqliteUnderProof, 1, 1, 3), 600_000);
});
