// A Kafka broker that can be met and says where the brokers are, and nothing else: it answers ApiVersions, Metadata and
// FindCoordinator (Kafka protocol, versions 0 to 1), each time with the one address that it was told to advertise, and InitProducerId
// with the epochs that it was given.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export type AdvertisingBroker = {
  /** `host:port` at which it listens. */
  address: string;
  close(): Promise<void>;
};

const apiVersions = 18;
const metadata = 3;
const findCoordinator = 10;
const initProducerId = 22;

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([int16(value.length), Buffer.from(value)]);
const list = (...items: Buffer[]): Buffer => Buffer.concat([int32(items.length), ...items]);

export type Advertised = {
  /** Kafka's error code of the coordinator; 0 when left out: it is there. */
  coordinatorCode?: number;
  /** Of one partition; no topic is there when it is left out. */
  topic?: string;
  /** Given out one after the other, of one producer id; whoever asks for more gets no answer. */
  epochs?: number[];
};

/** Every topic, partition and coordinator is said to be at `advertised`. */
export async function startAdvertisingBroker(
  advertised: { host: string; port: number },
  { coordinatorCode = 0, topic, epochs = [] }: Advertised = {},
): Promise<AdvertisingBroker> {
  const place = Buffer.concat([int32(1), text(advertised.host), int32(advertised.port)]);
  const nodes = list(int32(1));
  const partition = Buffer.concat([int16(0), int32(0), int32(1), nodes, nodes]);
  const topics =
    topic === undefined ? [] : [Buffer.concat([int16(0), text(topic), Buffer.alloc(1), list(partition)])];
  const answers: Record<number, (version: number) => Buffer | undefined> = {
    [apiVersions]: (version) => {
      const known = [apiVersions, metadata, findCoordinator, initProducerId];
      const ranges = known.map((key) => Buffer.concat([int16(key), int16(0), int16(1)]));
      return Buffer.concat([int16(0), list(...ranges), ...(version > 0 ? [int32(0)] : [])]);
    },
    [metadata]: () => Buffer.concat([list(Buffer.concat([place, int16(-1)])), int32(1), list(...topics)]),
    [initProducerId]: () => {
      const epoch = epochs.shift();
      return epoch === undefined ? epoch : Buffer.concat([Buffer.alloc(13), Buffer.of(7), int16(epoch)]);
    },
    [findCoordinator]: () => Buffer.concat([int32(0), int16(coordinatorCode), int16(-1), place]),
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    sockets.add(socket.on('error', () => {}));
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const answer = answers[received.readInt16BE(4)]?.(received.readInt16BE(6));
        const correlation = received.subarray(8, 12);
        received = received.subarray(4 + received.readInt32BE(0));
        if (answer === undefined) socket.destroy();
        else socket.write(Buffer.concat([int32(4 + answer.length), correlation, answer]));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
