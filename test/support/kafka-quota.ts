// A quota of a real Kafka, set as an administrator sets it: by AlterClientQuotas, which kafkajs does not have.
import { once } from 'node:events';
import { connect } from 'node:net';

const alterClientQuotas = 49;

/** From now on the brokers let this client send so many bytes a second; each broker counts for itself. Throws what Kafka says. */
export async function limitProducer(broker: string, clientId: string, bytesPerSecond: number): Promise<void> {
  await limit(broker, clientId, 'producer_byte_rate', bytesPerSecond);
}

/** From now on the brokers spend at most so much of a thread's time on this client's requests. Throws what Kafka says. */
export async function limitRequests(broker: string, clientId: string, percentage: number): Promise<void> {
  await limit(broker, clientId, 'request_percentage', percentage);
}

async function limit(broker: string, clientId: string, name: string, most: number): Promise<void> {
  const [host = '', port = ''] = broker.split(':');
  const socket = connect(Number(port), host);
  try {
    await once(socket, 'connect');
    socket.write(sized(requestOf(clientId, name, most)));
    let answer = Buffer.alloc(0);
    while (answer.length < 4 || answer.length < 4 + answer.readInt32BE()) {
      const [piece] = (await once(socket, 'data')) as [Buffer];
      answer = Buffer.concat([answer, piece]);
    }
    // Behind its size: the number of the request, a time, the number of entries, the code of the first.
    const code = answer.readInt16BE(16);
    if (code !== 0) throw new Error(`the quota was refused with the code ${code}`);
  } finally {
    socket.destroy();
  }
}

/** Version 0: a header, one entry of one client, one value, and that it is meant. */
function requestOf(clientId: string, name: string, most: number): Buffer {
  const header = [int16(alterClientQuotas), int16(0), int32(1), text('test')];
  const entity = [int32(1), text('client-id'), text(clientId)];
  const value = Buffer.alloc(8);
  value.writeDoubleBE(most);
  const change = [int32(1), text(name), value, Buffer.from([0])];
  return Buffer.concat([...header, int32(1), ...entity, ...change, Buffer.from([0])]);
}

function sized(request: Buffer): Buffer {
  return Buffer.concat([int32(request.length), request]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
