/**
 * Record batches as brokers hand them out where a topic's `compression.type` made them so: zstd, lz4 and snappy, beside the
 * gzip that kafkajs knows. Formats: RFC 8878; the LZ4 frame format 1.6; Google's snappy format, also in the blocks of
 * snappy-java, which Kafka writes. Pure. Throws where the bytes are not that, or would become too many.
 */
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';

/** A batch is bounded by what brokers take; what it becomes is bounded here. */
const bytesMax = 134_217_728;

const unzstd = promisify(zstdDecompress);

/** Rejects where the bytes are not that, or become more than 128 MiB. */
export async function decompressZstd(bytes: Buffer): Promise<Buffer> {
  return unzstd(bytes, { maxOutputLength: bytesMax });
}

const lz4Magic = 0x184d2204;

/** Throws `RangeError` where the bytes are no LZ4 frame, end early, or become more than 128 MiB. */
export function decompressLz4(bytes: Buffer): Buffer {
  if (bytes.readUInt32LE(0) !== lz4Magic) throw new RangeError('no LZ4 frame');
  const flags = bytes[4] as number;
  const hasContentSize = (flags & 0x08) !== 0;
  const hasDictionary = (flags & 0x01) !== 0;
  const blockChecksumBytes = (flags & 0x10) !== 0 ? 4 : 0;
  const output = makeOutput();
  let at = 7 + (hasContentSize ? 8 : 0) + (hasDictionary ? 4 : 0);
  for (;;) {
    const size = bytes.readUInt32LE(at);
    at += 4;
    if (size === 0) return output.bytes();
    const length = size & 0x7fffffff;
    const block = bytes.subarray(at, at + length);
    if (size >>> 31 === 1) output.write(block);
    else expandLz4(block, output);
    at += length + blockChecksumBytes;
  }
}

/** Pairs of plain bytes and a copy of what is before; the last has no copy. */
function expandLz4(block: Buffer, output: Output): void {
  let at = 0;
  const lengthFrom = (start: number): number => {
    let length = start;
    if (start < 15) return length;
    for (let more = 255; more === 255; ) {
      more = block.readUInt8(at);
      at += 1;
      length += more;
    }
    return length;
  };
  while (at < block.length) {
    const token = block.readUInt8(at);
    at += 1;
    const plain = lengthFrom(token >> 4);
    output.write(block.subarray(at, at + plain));
    at += plain;
    if (at >= block.length) return;
    const distance = block.readUInt16LE(at);
    at += 2;
    output.copy(distance, 4 + lengthFrom(token & 15));
  }
}

const snappyJavaHeader = Buffer.from('\x82SNAPPY\0', 'latin1');

/** Throws `RangeError` where a number is cut off, what is to be copied is not there, or more than 128 MiB come out. */
export function decompressSnappy(bytes: Buffer): Buffer {
  const output = makeOutput();
  if (!bytes.subarray(0, 8).equals(snappyJavaHeader)) {
    expandSnappy(bytes, output);
    return output.bytes();
  }
  // Behind the header stand its version and the oldest that can read it.
  for (let at = 16; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    expandSnappy(bytes.subarray(at + 4, at + 4 + length), output);
    at += 4 + length;
  }
  return output.bytes();
}

function expandSnappy(block: Buffer, output: Output): void {
  let at = 0;
  // Its length comes first, seven bits a byte.
  while (block.readUInt8(at) >= 128) at += 1;
  at += 1;
  while (at < block.length) {
    const tag = block.readUInt8(at);
    const kind = tag & 3;
    at += 1;
    if (kind === 0) {
      const short = tag >> 2;
      const lengthBytes = short < 60 ? 0 : short - 59;
      const length = 1 + (lengthBytes === 0 ? short : block.readUIntLE(at, lengthBytes));
      at += lengthBytes;
      output.write(block.subarray(at, at + length));
      at += length;
    } else if (kind === 1) {
      output.copy(((tag & 0xe0) << 3) | block.readUInt8(at), 4 + ((tag >> 2) & 7));
      at += 1;
    } else {
      const distanceBytes = kind === 2 ? 2 : 4;
      output.copy(block.readUIntLE(at, distanceBytes), 1 + (tag >> 2));
      at += distanceBytes;
    }
  }
}

interface Output {
  write(bytes: Buffer): void;
  /** Repeats what stands so far back, which may reach into what it makes. */
  copy(distance: number, length: number): void;
  bytes(): Buffer;
}

function makeOutput(): Output {
  let buffer = Buffer.allocUnsafe(65_536);
  let length = 0;
  function grow(by: number): void {
    if (length + by > bytesMax) throw new RangeError('the batch becomes too large');
    if (length + by <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, length + by));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  }
  return {
    write(bytes) {
      grow(bytes.length);
      bytes.copy(buffer, length);
      length += bytes.length;
    },
    copy(distance, count) {
      if (distance < 1 || distance > length) throw new RangeError('a copy of what is not there');
      grow(count);
      for (let end = length + count; length < end; length += 1)
        buffer[length] = buffer[length - distance] as number;
    },
    bytes: () => buffer.subarray(0, length),
  };
}
