/**
 * D12 with several processes on one PostgreSQL, under load: the database is replaced by its dumps, taken while they serve, by
 * empty ones, and by a replica that lacks the last commits, while processes are killed, also at the steps of reading on, or stand
 * still with what they had in hand.
 */
import { expectRestores } from '../prove/expect-proof';
import { postgresUnderProof } from '../prove/store';
import { kafkaAvailable } from '../support/kafka';
import { describeWithNeighbour } from '../support/neighbour';
import { installedPostgresAvailable } from '../support/postgres';

const availability = kafkaAvailable().available ? installedPostgresAvailable() : kafkaAvailable();

describeWithNeighbour(
  'Kafka and pg_dump',
  availability,
  'D12: topics hold over the lives of a database',
  () => {
    test(
      'D12: of two processes on PostgreSQL',
      () => expectRestores(() => postgresUnderProof(true), 2, 2, 4),
      600_000,
    );
  },
);
