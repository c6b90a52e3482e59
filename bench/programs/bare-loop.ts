// The floor of the whole path: Express, an array in memory, a fixed number of reads in flight through a keep-alive agent
// of node:http, and kafkajs sending what was read. Nothing is stored, checked, judged or logged; what the provider
// answered is the record. With BATCH=each every record is sent by itself as soon as it was read, otherwise up to 500
// at a time and one send in flight.
import * as http from 'node:http';
import express from 'express';
import { Kafka, logLevel, Partitioners } from 'kafkajs';

const { BROKERS = '', TOPIC = '', TOKEN = '', CONCURRENCY = '50', BATCH = '500' } = process.env;
const readsMax = Number(CONCURRENCY);
const batchMax = 500;

const agent = new http.Agent({ keepAlive: true, maxSockets: readsMax });
const headers = { Authorization: `Bearer ${TOKEN}`, Accept: 'application/json' };
const kafka = new Kafka({ brokers: BROKERS.split(','), logLevel: logLevel.ERROR });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });

const due: string[] = [];
const read: { key: string; value: string }[] = [];
let reads = 0;
let sending = false;

function readMore(): void {
  while (reads < readsMax && due.length > 0) {
    reads += 1;
    readOne(due.shift() as string);
  }
}

function readOne(address: string): void {
  const { hostname, port, pathname } = new URL(address);
  const request = http.get({ agent, headers, hostname, port, path: pathname }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      reads -= 1;
      read.push({
        key: pathname.slice(pathname.lastIndexOf('/') + 1),
        value: Buffer.concat(chunks).toString(),
      });
      readMore();
      void (BATCH === 'each' ? sendOne() : sendBatches());
    });
  });
  request.on('error', fail);
}

async function sendOne(): Promise<void> {
  await producer.send({ topic: TOPIC, messages: read.splice(0) }).catch(fail);
}

async function sendBatches(): Promise<void> {
  if (sending) return;
  sending = true;
  while (read.length > 0) {
    await producer.send({ topic: TOPIC, messages: read.splice(0, batchMax) }).catch(fail);
  }
  sending = false;
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

const app = express();
app.post('/webhooks', express.json({ limit: '4mb' }), (request, response) => {
  for (const { targetResource } of request.body as { targetResource: string }[]) due.push(targetResource);
  readMore();
  response.status(204).end();
});

void producer.connect().then(() => {
  const server = app.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number };
    process.stdout.write(`${JSON.stringify({ public: `http://127.0.0.1:${port}` })}\n`);
  });
  server.keepAliveTimeout = 65_000;
}, fail);
