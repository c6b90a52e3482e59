// A publish target that does what the test says: each send takes the next line of its script, and every call is kept
// in order. Without a line it acknowledges everything, with offsets that rise for each partition. Whoever reads on is given
// what was written beyond the place that is known.
import { bytesHashOf } from '../../src/model/event';
import type { FoundRecord } from '../../src/model/topic-end';
import type { Batch, Failure, Outcome, PublishTarget, SendResult } from '../../src/publish/target';

export type ScriptLine = (batches: Batch[]) => SendResult | Promise<SendResult>;

export type ScriptedTarget = PublishTarget & {
  /** `open`, `send`, `discard`, `close` in the order in which they were called. */
  calls: string[];
  /** What each send was given. */
  sends: Batch[][];
  script: ScriptLine[];
  /** Thrown by the next `open`, one each. */
  openProblems: Error[];
  /** What would stand on the topics, in order. */
  written: { topic: string; partition: number; key: string; sequence: number; bytes: string }[];
  partitions: Map<string, number>;
  /** Tells whoever listens, as a quota of brokers does. */
  heldBack(forMs: number): void;
  /** Writes the batches and answers as a broker would. */
  write(batches: Batch[]): Outcome[];
};

export function makeScriptedTarget(name: PublishTarget['name'] = 'kafka'): ScriptedTarget {
  const stands = new Map<string, { topic: string; partition: number; records: FoundRecord[] }>();
  const target: ScriptedTarget = {
    name,
    calls: [],
    sends: [],
    script: [],
    openProblems: [],
    written: [],
    partitions: new Map(),
    heldBack: () => {},
    onHeldBack(heard) {
      target.heldBack = heard;
    },
    write: (batches) =>
      batches.map(({ topic, partition, rows }) => {
        const place = `${topic}/${partition}`;
        const records: FoundRecord[] = stands.get(place)?.records ?? [];
        stands.set(place, { topic, partition, records });
        const firstOffset = String(records.length);
        for (const { key, sequence, eventId, headers, value } of rows) {
          const bytesHash = bytesHashOf(JSON.stringify(headers), value);
          const offset = String(records.length);
          records.push({ key, sequence, eventId, bytesHash, deleted: false, offset });
          target.written.push({
            topic,
            partition,
            key,
            sequence,
            bytes: JSON.stringify([key, headers, value]),
          });
        }
        return { sent: true, firstOffset };
      }),
    async open() {
      target.calls.push('open');
      const problem = target.openProblems.shift();
      if (problem !== undefined) throw problem;
    },
    partitionsOf: async (topic) => target.partitions.get(topic) ?? 1,
    async readOn(known, heard) {
      for (const { topic, partition, records } of stands.values()) {
        const end = known.find((one) => one.topic === topic && one.partition === partition);
        const from = end?.nextOffset ?? '0';
        const beyond = records.slice(Number(from));
        const nextOffset = String(records.length);
        const page = { topic, partition, from, nextOffset, records: beyond };
        if (beyond.length > 0 && !(await heard(page))) return null;
      }
      return { unread: [], denied: [], ends: [] };
    },
    async send(batches) {
      target.calls.push('send');
      target.sends.push(batches);
      const line = target.script.shift();
      if (line === undefined) return { outcomes: target.write(batches), spent: false };
      const result = await line(batches);
      if (result.heldBackMs !== undefined) target.heldBack(result.heldBackMs);
      return result;
    },
    async discard() {
      target.calls.push('discard');
    },
    async close() {
      target.calls.push('close');
    },
  };
  return target;
}

/** Every batch fails in this way, and nothing is written. */
export function failAll(kind: Failure['kind'], code: string): ScriptLine {
  return (batches) => ({ outcomes: batches.map(() => failure(kind, code)), spent: true });
}

export function failure(kind: Failure['kind'], code: string): Failure {
  return { sent: false, kind, code, detail: `${code} was said` };
}
