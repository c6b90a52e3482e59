// Answers of real brokers to produce requests, said otherwise on their way: the records are appended, and the client is
// told an error code of the test's choice, or hears that its connection was reset. Knows the frames of the Kafka protocol as far as that needs (produce requests
// below version 9: a correlation id, then topics, then partitions).
import type { Socket } from 'node:net';

// The module itself, since a namespace that was imported is a copy.
const net = require('node:net') as typeof import('node:net');

const produceKey = 0;

export type TamperedProduce = {
  /** How many answers were changed so far. */
  changed(): number;
  restore(): void;
};

/**
 * The first `times` answers to produce requests on connections that are made from now on say this error code for every
 * partition, or never come: their connection is reset instead.
 */
export function tamperProduce(errorCode: number | 'reset', times: number): TamperedProduce {
  let changed = 0;
  const connect = net.connect as (...given: unknown[]) => Socket;
  const spy = jest.spyOn(net, 'connect').mockImplementation((...given: unknown[]) => {
    const socket = connect(...given);
    const asked = new Set<number>();
    const write = socket.write.bind(socket) as (...values: unknown[]) => boolean;
    const emit = socket.emit.bind(socket) as (...values: unknown[]) => boolean;
    socket.write = (chunk: unknown, ...more: unknown[]) => {
      if (Buffer.isBuffer(chunk) && chunk.length > 12 && chunk.readInt16BE(4) === produceKey)
        asked.add(chunk.readInt32BE(8));
      return write(chunk, ...more);
    };
    socket.emit = (event: string | symbol, ...values: unknown[]) => {
      if (event === 'data') {
        for (const frame of framesOf(values[0] as Buffer)) {
          if (changed >= times || !asked.delete(frame.readInt32BE(4))) continue;
          changed += 1;
          if (errorCode === 'reset') {
            socket.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
            return true;
          }
          sayError(frame, errorCode);
        }
      }
      return emit(event, ...values);
    };
    return socket;
  });
  return { changed: () => changed, restore: () => spy.mockRestore() };
}

/** Whole answers that begin where the chunk does; they share its memory. */
function framesOf(chunk: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + 8 <= chunk.length; ) {
    const end = at + 4 + chunk.readInt32BE(at);
    if (end > chunk.length) break;
    frames.push(chunk.subarray(at, end));
    at = end;
  }
  return frames;
}

/** Of the first topic: tests send to one. */
function sayError(frame: Buffer, errorCode: number): void {
  const partitionsAt = 14 + frame.readInt16BE(12);
  for (let left = frame.readInt32BE(partitionsAt), at = partitionsAt + 4; left > 0; left -= 1) {
    frame.writeInt16BE(errorCode, at + 4);
    // index, error code, base offset, append time, log start offset
    at += 4 + 2 + 8 + 8 + 8;
  }
}
