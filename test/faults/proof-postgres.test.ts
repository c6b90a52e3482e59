/**
 * K10 with several processes: a receiver, a worker and one that is both share one PostgreSQL. Sixty of them are
 * killed, at each named step among others, while a seeded load goes in and brokers and the database fall.
 */
import { expectProof } from '../prove/expect-proof';
import { postgresUnderProof } from '../prove/store';
import { kafkaAvailable } from '../support/kafka';
import { describeWithNeighbour } from '../support/neighbour';
import { postgresAvailable } from '../support/postgres';
import { limitWith, minuteMs } from '../support/real-durations';

const availability = kafkaAvailable().available ? postgresAvailable() : kafkaAvailable();

describeWithNeighbour(
  'Kafka and PostgreSQL',
  availability,
  'K10: the ledger holds through sixty kills',
  () => {
    test(
      'K10: of three processes on one PostgreSQL that is killed as well',
      () => expectProof(() => postgresUnderProof(), 3),
      limitWith(900_000, 0, 60 * minuteMs),
    );
  },
);
