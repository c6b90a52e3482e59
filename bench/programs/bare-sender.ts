// The floor of a replay: what is on one topic now is read into memory, and sent to another by kafkajs as it stands, 500
// records at a time and one send in flight, whenever it is posted. Nothing is chosen, looked up or marked.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Kafka, type KafkaMessage, logLevel, type Message, Partitioners } from 'kafkajs';

const { BROKERS = '', FROM = '', TO = '' } = process.env;
const batchMax = 500;
const kafka = new Kafka({ brokers: BROKERS.split(','), logLevel: logLevel.ERROR });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });

async function held(): Promise<Message[]> {
  const admin = kafka.admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(FROM);
  await admin.disconnect();
  const wanted = offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  const messages: Message[] = [];
  const consumer = kafka.consumer({ groupId: `bench-${TO}` });
  await consumer.connect();
  await consumer.subscribe({ topic: FROM, fromBeginning: true });
  await new Promise<void>((resolve) => {
    const eachMessage = async ({ message }: { message: KafkaMessage }) => {
      const { key, value, headers = {} } = message;
      messages.push({ key, value, headers });
      if (messages.length === wanted) resolve();
    };
    void consumer.run({ eachMessage });
  });
  await consumer.disconnect();
  return messages;
}

async function run(): Promise<void> {
  const messages = await held();
  await producer.connect();
  const server = createServer(async (_request, response) => {
    for (let from = 0; from < messages.length; from += batchMax) {
      await producer.send({ topic: TO, messages: messages.slice(from, from + batchMax) });
    }
    response.end(JSON.stringify({ sent: messages.length }));
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
  });
}

run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
