// What real brokers need, before anybody waits for one: the jars, an archive of a broker's classes, with which it starts
// in a third of the time (class data sharing, JEP 310), and what its storage was formatted with. A program, run once by
// .ci/run; without it brokers start slower.
import { existsSync } from 'node:fs';
import { archiveKafkaClasses } from './kafka';
import { bringKafkaJars, kafkaClassesFile } from './kafka-jars';

async function bring(): Promise<void> {
  await bringKafkaJars();
  if (!existsSync(kafkaClassesFile())) await archiveKafkaClasses();
  process.stdout.write('Kafka is there.\n');
}

bring().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
