// Goal: whatever is lost, delayed, repeated or held up, each key's events first appear in order, what repeats is the
// same bytes, and the last record of a key is its newest.
// Method: random histories of two relays on one outbox, against a model of brokers that keep epochs for each partition.
// Sends are written or not, answered or not, arrive after their producer was given up, or take longer than the lease
// while the other relay works; relays vanish without a word.
import { slotOf } from '../../../src/model/event';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, Outcome, PublishTarget } from '../../../src/publish/target';
import { type HandClock, makeHandClock } from '../../support/hand-clock';
import { type MemoryOutbox, makeMemoryOutbox } from '../../support/memory-outbox';
import fc from '../../support/properties';
import { failure } from '../../support/scripted-target';

type Fate = 'acknowledged' | 'unanswered' | 'lost' | 'late' | 'not-led' | 'held-up';
type Move =
  | { do: 'add'; key: string }
  | { do: 'step'; relay: 0 | 1; fates: Fate[] }
  | { do: 'advance'; ms: number }
  | { do: 'arrive' }
  | { do: 'vanish'; relay: 0 | 1 };

const partitions = 3;

class Brokers {
  epoch = 0;
  log: { key: string; sequence: number; bytes: string; partition: number }[] = [];
  late: { batch: Batch; epoch: number }[] = [];
  fates: Fate[] = [];
  whileHeldUp: () => Promise<void> = async () => {};
  private readonly epochs = new Map<number, number>();

  /** False when a newer producer has written here. */
  write({ partition, rows }: Batch, epoch: number): boolean {
    if (epoch < (this.epochs.get(partition) ?? 0)) return false;
    this.epochs.set(partition, epoch);
    for (const { key, sequence, headers, value } of rows) {
      expect(slotOf(key) % partitions).toBe(partition);
      this.log.push({ key, sequence, bytes: JSON.stringify([headers, value]), partition });
    }
    return true;
  }

  arrive(): void {
    const late = this.late.shift();
    if (late !== undefined) this.write(late.batch, late.epoch);
  }

  target(): PublishTarget {
    let mine = 0;
    return {
      name: 'kafka',
      open: async () => {
        this.epoch += 1;
        mine = this.epoch;
      },
      partitionsOf: async () => partitions,
      readOn: async () => ({ unread: [], denied: [], ends: [] }),
      send: async (batches) => {
        const outcomes: Outcome[] = [];
        for (const batch of batches) outcomes.push(await this.decide(batch, mine));
        return {
          outcomes,
          spent: outcomes.some((outcome) => !outcome.sent && outcome.code !== 'LEADER_NOT_AVAILABLE'),
        };
      },
      discard: async () => {},
      close: async () => {},
    };
  }

  private async decide(batch: Batch, epoch: number): Promise<Outcome> {
    const fate = this.fates.shift() ?? 'acknowledged';
    if (fate === 'not-led') return failure('retry', 'LEADER_NOT_AVAILABLE');
    if (fate === 'lost') return failure('retry', 'CONNECTION');
    if (fate === 'late') {
      this.late.push({ batch, epoch });
      return failure('retry', 'TIMED_OUT');
    }
    if (!this.write(batch, epoch)) return failure('fenced', 'INVALID_PRODUCER_EPOCH');
    if (fate === 'unanswered') return failure('retry', 'TIMED_OUT');
    if (fate === 'held-up') await this.whileHeldUp();
    return { sent: true, firstOffset: String(this.log.length - batch.rows.length) };
  }
}

class World {
  readonly clock: HandClock = makeHandClock(1_000_000);
  readonly outbox: MemoryOutbox = makeMemoryOutbox(this.clock);
  readonly brokers = new Brokers();
  private holders = 0;
  private readonly relays: [Relay, Relay] = [this.makeRelay(), this.makeRelay()];

  async play(moves: Move[]): Promise<void> {
    for (const move of moves) {
      if (move.do === 'add') this.outbox.add({ topic: 't', key: move.key });
      else if (move.do === 'advance') await this.clock.advance(move.ms);
      else if (move.do === 'arrive') this.brokers.arrive();
      else if (move.do === 'vanish') this.relays[move.relay] = this.makeRelay();
      else await this.step(move.relay, move.fates);
    }
    this.brokers.fates = [];
    while (this.brokers.late.length > 0) this.brokers.arrive();
    for (let turn = 0; turn < 400 && (await this.outbox.unsentCount()) > 0; turn += 1) {
      await this.relays[turn % 2]?.step();
      await this.clock.advance(1_000);
    }
  }

  private async step(index: 0 | 1, fates: Fate[]): Promise<void> {
    this.brokers.fates = [...fates];
    // Held up for longer than the lease, while the other takes over and sends what it finds.
    this.brokers.whileHeldUp = async () => {
      this.brokers.whileHeldUp = async () => {};
      await this.clock.advance(70_000);
      await this.relays[1 - index]?.step();
    };
    await this.relays[index].step();
  }

  private makeRelay(): Relay {
    this.holders += 1;
    // Of different sizes, so that one relay leaves off in the middle of what another has sent.
    const batchRows = 1 + (this.holders % 4);
    const options = { ...relayDefaults, batchRows, random: () => 0.5, clock: this.clock };
    return makeRelay(this.outbox, this.brokers.target(), { ...options, holder: String(this.holders) });
  }
}

const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fate>('acknowledged') },
  { weight: 5, arbitrary: fc.constantFrom<Fate>('unanswered', 'lost', 'late', 'not-led', 'held-up') },
);
const relay = fc.constantFrom<0 | 1>(0, 1);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      relay,
      fates: fc.array(fate, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(100, 5_000, 25_000, 61_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('arrive' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('vanish' as const), relay }) },
);

test('first appearances in order, repeats byte for byte, the last record the newest', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 60, size: 'max' }), async (moves) => {
      const world = new World();
      await world.play(moves);
      const { log } = world.brokers;
      expect(await world.outbox.unsentCount()).toBe(0);
      for (const key of ['a', 'b', 'c', 'd']) {
        const records = log.filter((record) => record.key === key);
        const sequences = records.map(({ sequence }) => sequence);
        const newest = world.outbox.rows.findLast((row) => row.key === key)?.sequence;
        expect([...new Set(sequences)]).toEqual(Array.from({ length: newest ?? 0 }, (_, index) => index + 1));
        expect(sequences.at(-1)).toBe(newest);
        const bytes = Map.groupBy(records, ({ sequence }) => sequence);
        for (const repeats of bytes.values())
          expect(new Set(repeats.map((record) => record.bytes)).size).toBe(1);
      }
    }),
    { numRuns: 400 },
  );
});
