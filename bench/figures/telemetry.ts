// What telemetry costs of notification → Kafka: `serve` with logs, metrics and traces to a collector as they ship, with
// every trace kept, and with nothing but errors logged, the SDK off and nothing counted, which is the floor. The collector is
// a process of its own that takes everything and answers at once.
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import type { Place } from '../place';
import { drainOnce, type Shape, shapes, type Turn } from './drain';

const rounds = 5;
const shape = shapes[0] as Shape;

export const telemetry: Figure = { name: 'telemetry', measure };

async function measure(place: Place): Promise<Line[]> {
  for (const prefix of ['off', 'on', 'full']) await place.createTopics(`telemetry-${prefix}`);
  const endpoint = await place.collector();
  const without = { OTEL_SDK_DISABLED: 'true', LOG_LEVEL: 'error' };
  const shipped = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
  const off = await place.serve(without, 'telemetry-off', 'serve-uncounted');
  const on = await place.serve(shipped, 'telemetry-on');
  const full = await place.serve({ ...shipped, OTEL_TRACES_SAMPLER: 'always_on' }, 'telemetry-full');
  const from = (turn: number) => turn * shape.notifications;
  const turns = await inTurns(
    {
      off: (turn) => drainOnce(place, off, shape, from(turn)),
      on: (turn) => drainOnce(place, on, shape, from(turn)),
      full: (turn) => drainOnce(place, full, shape, from(turn)),
    },
    rounds,
  );
  for (const one of [off, on, full]) await one.kill();
  const common = { floor: median(rates(turns.off)), unit: 'records/s' };
  return [
    line({
      ...common,
      figure: 'notification → Kafka with telemetry as it ships',
      measured: median(rates(turns.on)),
      judged: medianRatio(rates(turns.on), rates(turns.off)),
      bound: { kind: 'at least', value: 0.85, of: '× without' },
      processor: { measured: micros(turns.on), floor: micros(turns.off) },
      turns,
    }),
    line({
      ...common,
      figure: '… with every trace kept',
      measured: median(rates(turns.full)),
      judged: medianRatio(rates(turns.full), rates(turns.off)),
      bound: null,
      processor: { measured: micros(turns.full), floor: micros(turns.off) },
      turns: {},
    }),
  ];
}

const rates = (turns: Turn[]) => turns.map(({ perSecond }) => perSecond);
const micros = (turns: Turn[]) => medianMicros(turns.map((turn) => turn.micros));
