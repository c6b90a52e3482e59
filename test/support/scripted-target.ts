// A publish target that does what the test says: each send takes the next line of its script, and every call is kept
// in order. Without a line it acknowledges everything, with offsets that rise for each partition.
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
  /** Writes the batches and answers as a broker would. */
  write(batches: Batch[]): Outcome[];
};

export function makeScriptedTarget(name: PublishTarget['name'] = 'kafka'): ScriptedTarget {
  const offsets = new Map<string, number>();
  const target: ScriptedTarget = {
    name,
    calls: [],
    sends: [],
    script: [],
    openProblems: [],
    written: [],
    partitions: new Map(),
    write: (batches) =>
      batches.map(({ topic, partition, rows }) => {
        const place = `${topic}/${partition}`;
        const firstOffset = String(offsets.get(place) ?? 0);
        offsets.set(place, Number(firstOffset) + rows.length);
        for (const { key, sequence, headers, value } of rows) {
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
    readOn: async () => ({ unread: [], denied: [] }),
    async send(batches) {
      target.calls.push('send');
      target.sends.push(batches);
      const line = target.script.shift();
      if (line !== undefined) return line(batches);
      return { outcomes: target.write(batches), spent: false };
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
