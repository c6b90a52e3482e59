/**
 * K10 on the embedded store: the process is killed sixty times, at each named step among others, while a seeded load
 * goes in and brokers fall. `npm run prove` runs longer ones. Nothing is lost, nothing invented, nothing out of order, and what is
 * on a topic twice is the same bytes.
 */
import { expectProof } from '../prove/expect-proof';
import { sqliteUnderProof } from '../prove/store';
import { kafkaAvailable } from '../support/kafka';
import { describeWithNeighbour } from '../support/neighbour';
import { limitWith, minuteMs } from '../support/real-durations';

describeWithNeighbour('Kafka', kafkaAvailable(), 'K10: the ledger holds through sixty kills', () => {
  test(
    'K10: of one process on SQLite',
    () => expectProof(sqliteUnderProof, 1),
    limitWith(900_000, 0, 60 * minuteMs),
  );
});
