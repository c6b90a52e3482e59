/**
 * The bytes of a produce request, version 7, with one record batch (magic 2) for each partition, written once into one
 * buffer. kafkajs writes the same bytes, and is the oracle of the tests, with a buffer for every header: that is most of
 * what publishing costs. Pure. Source: the Kafka protocol's ProduceRequest and the record batch format.
 */

/** A record as it is written: text becomes UTF-8. */
export interface WireRecord {
  key: string;
  value: string;
  headers: [name: string, value: string][];
}

export interface WireBatch {
  topic: string;
  partition: number;
  firstSequence: number;
  records: WireRecord[];
}

export interface ProduceBody {
  producerId: string;
  producerEpoch: number;
  batches: WireBatch[];
  /** How long the leader waits for its replicas. */
  timeoutMs: number;
  /** Of all records, in milliseconds since the epoch. */
  timestampMs: number;
}

/** Of the whole body and each batch's head; generous, and only a first guess. */
const overheadBytes = 128;
const magic = 2;
const allReplicas = -1;

/** `crc32c` is the checksum of bytes [from, to) as an unsigned number. */
export function encodeProduceBody(body: ProduceBody, crc32c: (bytes: Buffer) => number): Buffer {
  const writer = new Writer(estimateBytes(body.batches));
  writer.reserve(overheadBytes);
  writer.int16(-1); // no transactional id: the epoch alone fences
  writer.int16(allReplicas);
  writer.int32(body.timeoutMs);
  const topics = Map.groupBy(body.batches, ({ topic }) => topic);
  writer.int32(topics.size);
  for (const [topic, batches] of topics) {
    const topicBytes = Buffer.byteLength(topic);
    writer.reserve(overheadBytes + topicBytes);
    writer.int16(topicBytes);
    writer.text(topic, topicBytes);
    writer.int32(batches.length);
    for (const batch of batches) {
      writer.reserve(overheadBytes);
      writer.int32(batch.partition);
      const sizeAt = writer.gap();
      writeBatch(writer, batch, body, crc32c);
      writer.fill(sizeAt, writer.at - sizeAt - 4);
    }
  }
  return writer.since();
}

function writeBatch(
  writer: Writer,
  { records, firstSequence }: WireBatch,
  { producerId, producerEpoch, timestampMs }: ProduceBody,
  crc32c: (bytes: Buffer) => number,
): void {
  writer.int64(0n); // base offset: the leader's to give
  const lengthAt = writer.gap();
  writer.int32(0); // partition leader epoch: the leader's to give
  writer.int8(magic);
  const checksumAt = writer.gap();
  writer.int16(0); // neither compressed nor transactional
  writer.int32(records.length - 1);
  writer.int64(BigInt(timestampMs));
  writer.int64(BigInt(timestampMs));
  writer.int64(BigInt(producerId));
  writer.int16(producerEpoch);
  writer.int32(firstSequence);
  writer.int32(records.length);
  for (const [offsetDelta, record] of records.entries()) writeRecord(writer, record, offsetDelta);
  writer.fill(lengthAt, writer.at - lengthAt - 4);
  writer.fill(checksumAt, crc32c(writer.since(checksumAt + 4)) | 0);
}

function writeRecord(writer: Writer, { key, value, headers }: WireRecord, offsetDelta: number): void {
  const keyBytes = Buffer.byteLength(key);
  const valueBytes = Buffer.byteLength(value);
  let bodyBytes =
    2 + varintBytes(offsetDelta) + varintBytes(keyBytes) + keyBytes + varintBytes(valueBytes) + valueBytes;
  bodyBytes += varintBytes(headers.length);
  const sizes: number[] = [];
  for (const [name, text] of headers) {
    const nameBytes = Buffer.byteLength(name);
    const textBytes = Buffer.byteLength(text);
    sizes.push(nameBytes, textBytes);
    bodyBytes += varintBytes(nameBytes) + nameBytes + varintBytes(textBytes) + textBytes;
  }
  writer.reserve(bodyBytes + 5);
  writer.varint(bodyBytes);
  writer.int8(0); // attributes
  writer.int8(0); // timestamp delta
  writer.varint(offsetDelta);
  writer.varint(keyBytes);
  writer.text(key, keyBytes);
  writer.varint(valueBytes);
  writer.text(value, valueBytes);
  writer.varint(headers.length);
  let at = 0;
  for (const [name, text] of headers) {
    writer.varint(sizes[at] as number);
    writer.text(name, sizes[at] as number);
    writer.varint(sizes[at + 1] as number);
    writer.text(text, sizes[at + 1] as number);
    at += 2;
  }
}

/** Of a number that is not negative, zigzag encoded. */
function varintBytes(value: number): number {
  if (value < 64) return 1;
  if (value < 8_192) return 2;
  if (value < 1_048_576) return 3;
  return value < 134_217_728 ? 4 : 5;
}

function estimateBytes(batches: WireBatch[]): number {
  let bytes = overheadBytes;
  for (const { topic, records } of batches) {
    bytes += overheadBytes + topic.length;
    for (const { value } of records) bytes += 768 + value.length;
  }
  return bytes;
}

class Writer {
  at = 0;
  private buffer: Buffer;

  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafe(bytes);
  }

  /** Room for so many more bytes: grown at least to double, so that copying stays rare. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }

  /** The numbers and texts below need room that was reserved. */
  int8(value: number): void {
    this.buffer[this.at] = value;
    this.at += 1;
  }

  int16(value: number): void {
    this.at = this.buffer.writeInt16BE(value, this.at);
  }

  int32(value: number): void {
    this.at = this.buffer.writeInt32BE(value, this.at);
  }

  int64(value: bigint): void {
    this.at = this.buffer.writeBigInt64BE(value, this.at);
  }

  /** Zigzag, seven bits a byte; not negative. */
  varint(value: number): void {
    let rest = value * 2;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.int8((rest % 128) | 128);
    this.int8(rest);
  }

  text(text: string, bytes: number): void {
    this.buffer.write(text, this.at, bytes);
    this.at += bytes;
  }

  /** Leaves out four bytes, to be filled later; answers where. */
  gap(): number {
    this.at += 4;
    return this.at - 4;
  }

  fill(at: number, value: number): void {
    this.buffer.writeInt32BE(value, at);
  }

  /** What was written since, or all of it; not a copy. */
  since(at = 0): Buffer {
    return this.buffer.subarray(at, this.at);
  }
}
