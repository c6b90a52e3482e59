// Goal: whatever is lost, delayed, repeated or held up, each key's events first appear in order, what repeats is the
// same bytes, and the last record of a key is its newest.
// Method: random histories of two relays on one outbox, against a model of brokers that keep epochs for each partition.
// Sends are written or not, answered or not, arrive after their producer was given up, or take longer than the lease
// while the other relay works; relays vanish without a word. The store is slow, is away before or after it has taken a mark, and
// makes the newest of a key unsent again, as a replay does. Pages are small, or large enough for the next to be picked ahead.
import { slotOf } from '../../../src/model/event';
import { isProblem, Problem } from '../../../src/model/problem';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, Outcome, PublishTarget } from '../../../src/publish/target';
import { type HandClock, makeHandClock } from '../../support/hand-clock';
import { type MemoryOutbox, makeMemoryOutbox } from '../../support/memory-outbox';
import fc from '../../support/properties';
import { failure } from '../../support/scripted-target';

type Fate = 'acknowledged' | 'unanswered' | 'lost' | 'late' | 'not-led' | 'held-up';
type MarkFate = 'taken' | 'away' | 'unheard';
type Meanwhile = { do: 'add' | 'replay'; key: string };
type Move =
  | { do: 'add'; key: string; count: number }
  | { do: 'slow'; marks: MarkFate[]; turns: number[]; meanwhile: Meanwhile[] }
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
        // So long that the next page may be picked meanwhile.
        for (let turn = 0; turn < 12; turn += 1) await Promise.resolve();
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
  private readonly store = this.slowed();
  private readonly relays: [Relay, Relay] = [this.makeRelay(), this.makeRelay()];
  private marks: MarkFate[] = [];
  private turns: number[] = [];
  private meanwhile: Meanwhile[] = [];
  pickedAhead = 0;

  private slowed(): MemoryOutbox {
    const { outbox } = this;
    const markSent: MemoryOutbox['markSent'] = async (...told) => {
      await this.waits();
      const fate = this.marks.shift() ?? 'taken';
      if (fate === 'away') throw new Problem('store.unavailable', 'away');
      await outbox.markSent(...told);
      await this.waits();
      if (fate === 'unheard') throw new Problem('store.unavailable', 'unheard');
    };
    const pickUnsent: MemoryOutbox['pickUnsent'] = async (...asked) => {
      if ((asked[4] ?? []).length > 0) this.pickedAhead += 1;
      await this.waits();
      const rows = await outbox.pickUnsent(...asked);
      await this.waits();
      return rows;
    };
    return Object.assign(Object.create(outbox) as MemoryOutbox, { markSent, pickUnsent });
  }

  private async waits(): Promise<void> {
    for (let turn = this.turns.shift() ?? 0; turn > 0; turn -= 1) await Promise.resolve();
    const [act] = this.meanwhile.splice(0, 1);
    if (act?.do === 'add') this.add(act.key, 1);
    else if (act !== undefined) this.replay(act.key);
  }

  private add(key: string, count: number): void {
    const keys = ['a', 'b', 'c', 'd'];
    for (let at = keys.indexOf(key); count > 0; count -= 1, at += 1)
      this.outbox.add({ topic: 't', key: keys[at % 4]! });
  }

  private replay(key: string): void {
    const newest = this.outbox.rows.findLast((row) => row.key === key);
    if (newest !== undefined) newest.sent = null;
  }

  async play(moves: Move[]): Promise<void> {
    for (const move of moves) {
      if (move.do === 'add') this.add(move.key, move.count);
      else if (move.do === 'slow') Object.assign(this, structuredClone(move));
      else if (move.do === 'advance') await this.clock.advance(move.ms);
      else if (move.do === 'arrive') this.brokers.arrive();
      else if (move.do === 'vanish') this.relays[move.relay] = this.makeRelay();
      else await this.step(move.relay, move.fates);
    }
    this.brokers.fates = [];
    this.marks = [];
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
      await this.stepOf(1 - index);
    };
    await this.stepOf(index);
  }

  /** The store may be away. */
  private async stepOf(index: number): Promise<void> {
    await this.relays[index]!.step().catch((error: unknown) => {
      if (!isProblem(error, 'store.unavailable')) throw error;
    });
  }

  private makeRelay(): Relay {
    this.holders += 1;
    // Of different sizes, so that one relay leaves off in the middle of what another has sent.
    const batchRows = (this.holders % 3 === 0 ? 1 : 12) + (this.holders % 4);
    const options = { ...relayDefaults, batchRows, random: () => 0.5, clock: this.clock };
    return makeRelay(this.store, this.brokers.target(), { ...options, holder: String(this.holders) });
  }
}

const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fate>('acknowledged') },
  { weight: 5, arbitrary: fc.constantFrom<Fate>('unanswered', 'lost', 'late', 'not-led', 'held-up') },
);
const key = fc.constantFrom('a', 'b', 'c', 'd');
const relay = fc.constantFrom<0 | 1>(0, 1);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('add' as const), key, count: fc.integer({ min: 1, max: 20 }) }),
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
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('slow' as const),
      marks: fc.array(fc.constantFrom<MarkFate>('taken', 'taken', 'away', 'unheard'), { maxLength: 6 }),
      turns: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 }),
      meanwhile: fc.array(fc.record({ do: fc.constantFrom('add' as const, 'replay' as const), key }), {
        maxLength: 20,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('arrive' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('vanish' as const), relay }) },
);

test('first appearances in order, repeats byte for byte, the last record the newest', async () => {
  let pickedAhead = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 40, size: 'max' }), async (moves) => {
      const world = new World();
      await world.play(moves);
      pickedAhead += world.pickedAhead;
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
    { numRuns: 200 },
  );
  expect(pickedAhead).toBeGreaterThan(200);
});
