// Notification → Kafka, sustained until everything is drained: distinct pieces of equipment, a provider that answers in
// 5 ms, 50 reads in flight, a real Kafka. Once over 64 connections with one element each, once over 4 with 50 each. The
// floor is the bare loop. Printed beside: what settling costs, which reads equipment a second time.
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import { drained, type Place, providerQuiet, type Receiver } from '../place';
import { type MicrosEach, microsEach, processorTime } from '../usage';

const rounds = 5;
const drainedMsMax = 120_000;
/** Longer than the settling of the contestant that settles. */
const quietMs = 1500;

export interface Shape {
  name: string;
  connections: number;
  elements: number;
  /** In each turn. */
  notifications: number;
}

export const shapes: Shape[] = [
  { name: '64 connections × 1 element', connections: 64, elements: 1, notifications: 6000 },
  { name: '4 connections × 50 elements', connections: 4, elements: 50, notifications: 6000 },
];

export interface Turn {
  perSecond: number;
  /** Of the measured process, for one notification. */
  micros: MicrosEach;
  callsEach: number;
}

export const drain: Figure = { name: 'drain', measure };

async function measure(place: Place): Promise<Line[]> {
  for (const prefix of ['bare', 'serve', 'settle']) await place.createTopics(`drain-${prefix}`);
  const bare = await place.bareLoop('drain-bare');
  const serve = await place.serve({}, 'drain-serve');
  const settle = await place.serve({ SETTLE_SECONDS: '1' }, 'drain-settle');
  const lines: Line[] = [];
  for (const [at, shape] of shapes.entries()) {
    const from = (turn: number) => (at * (rounds + 1) + turn) * shape.notifications;
    const turns = await inTurns(
      {
        bare: (turn) => drainOnce(place, bare, shape, from(turn)),
        serve: (turn) => drainOnce(place, serve, shape, from(turn)),
        settle: (turn) => drainOnce(place, settle, shape, from(turn)),
      },
      rounds,
    );
    lines.push(...linesOf(shape, turns));
  }
  for (const one of [bare, serve, settle]) await one.kill();
  return lines;
}

export async function drainOnce(place: Place, target: Receiver, shape: Shape, from: number): Promise<Turn> {
  const { connections, elements, notifications } = shape;
  const generator = await place.generator();
  const authorization = await place.authorization();
  const topic = target.topic as string;
  const records = await place.records(topic);
  const requests = await providerQuiet(place, quietMs);
  const before = processorTime(target.pid);
  const startedAt = performance.now();
  const distinct = notifications;
  const deliveries = notifications / elements;
  await generator.burst({
    port: target.port,
    authorization,
    connections,
    elements,
    deliveries,
    from,
    distinct,
  });
  await drained(place, topic, records + notifications, drainedMsMax);
  const tookMs = performance.now() - startedAt;
  const micros = microsEach(before, processorTime(target.pid), notifications);
  const callsEach = ((await providerQuiet(place, quietMs)) - requests) / notifications;
  return { perSecond: (notifications * 1000) / tookMs, micros, callsEach };
}

function linesOf({ name }: Shape, turns: Record<'bare' | 'serve' | 'settle', Turn[]>): Line[] {
  const rates = (of: Turn[]) => of.map(({ perSecond }) => perSecond);
  const floor = median(rates(turns.bare));
  const processor = (of: Turn[]) => ({
    measured: medianMicros(of.map(({ micros }) => micros)),
    floor: medianMicros(turns.bare.map(({ micros }) => micros)),
  });
  const unit = 'records/s';
  const calls = median(turns.settle.map(({ callsEach }) => callsEach));
  return [
    line({
      figure: `notification → Kafka, ${name}`,
      measured: median(rates(turns.serve)),
      floor,
      unit,
      judged: medianRatio(rates(turns.serve), rates(turns.bare)),
      bound: { kind: 'at least', value: 0.7, of: '× the floor' },
      processor: processor(turns.serve),
      turns,
    }),
    line({
      figure: `… settling after 1 s, ${calls.toFixed(2)} calls each`,
      measured: median(rates(turns.settle)),
      floor,
      unit,
      judged: medianRatio(rates(turns.settle), rates(turns.bare)),
      bound: null,
      processor: processor(turns.settle),
      turns: {},
    }),
  ];
}
