// Replay of 100,000 published events, each the newest of its key, to their live topic: from the request until the last
// record is on the topic and the replay has ended. The floor is kafkajs sending the same records from memory, in batches
// of as many. Printed beside: the same as history, to another topic. The events come from a full sync.
import { until } from '../../test/support/until';
import { type Figure, type Line, line, medianMicros } from '../figure';
import { inTurns, median, medianRatio } from '../measure';
import { drained, type Place, type Receiver } from '../place';
import { type MicrosEach, microsEach, processorTime } from '../usage';

const rounds = 5;
const organizations = 100;
const equipment = 1000;
const events = organizations * equipment;
const endMsMax = 300_000;
const lookMs = 20;

interface Turn {
  perSecond: number;
  /** Of the measured process, for one event. */
  micros: MicrosEach;
}

export const replay: Figure = { name: 'replay', world: { organizations, equipment }, measure };

async function measure(place: Place): Promise<Line[]> {
  for (const prefix of ['live', 'past', 'bare']) await place.createTopics(`replay-${prefix}`);
  const serve = await place.serve({ SYNC_INTERVAL_SECONDS: '0' }, 'replay-live');
  const live = serve.topic as string;
  const past = 'replay-past.equipment.v1';
  const to = 'replay-bare.equipment.v1';
  await ended(serve, 'sync', '');
  await drained(place, live, events, endMsMax);
  const bare = await place.bareSender(live, to);
  const whole = 'kind=equipment';
  const turns = await inTurns(
    {
      bare: () =>
        turnOf(
          place,
          bare.pid,
          to,
          async () => void (await fetch(String(bare.ready.url), { method: 'POST' })),
        ),
      newest: () => turnOf(place, serve.pid, live, () => ended(serve, 'replay', whole)),
      history: () => turnOf(place, serve.pid, past, () => ended(serve, 'replay', `${whole}&toTopic=${past}`)),
    },
    rounds,
  );
  for (const one of [bare, serve]) await one.kill();
  return [
    lineOf('replay of 100,000 events to their topic', turns.newest, turns.bare, turns),
    { ...lineOf('… as history, to another topic', turns.history, turns.bare, {}), bound: null, holds: null },
  ];
}

async function turnOf(place: Place, pid: number, topic: string, send: () => Promise<void>): Promise<Turn> {
  const records = await place.records(topic);
  const before = processorTime(pid);
  const startedAt = performance.now();
  await send();
  await drained(place, topic, records + events, endMsMax);
  const tookMs = performance.now() - startedAt;
  return { perSecond: (events * 1000) / tookMs, micros: microsEach(before, processorTime(pid), events) };
}

/** Asks the service for it and waits for its end. */
async function ended({ ready }: Receiver, what: 'sync' | 'replay', of: string): Promise<void> {
  const address = `${String(ready.operations)}/api/${what}`;
  const asked = await fetch(`${address}?${of}`, { method: 'POST' });
  if (!asked.ok) throw new Error(`${what}: ${asked.status} ${await asked.text()}`);
  const view = await until(
    async () => {
      const now = (await (await fetch(address)).json()) as { state: string };
      return now.state === 'running' ? null : now;
    },
    { withinMs: endMsMax, everyMs: lookMs, what: `the ${what} to end` },
  );
  if (view.state !== 'ended') throw new Error(`the ${what}: ${JSON.stringify(view)}`);
}

function lineOf(figure: string, measured: Turn[], bare: Turn[], turns: Record<string, unknown>): Line {
  const rates = (of: Turn[]) => of.map(({ perSecond }) => perSecond);
  const micros = (of: Turn[]) => medianMicros(of.map((turn) => turn.micros));
  return line({
    figure,
    measured: median(rates(measured)),
    floor: median(rates(bare)),
    unit: 'events/s',
    turns,
    judged: medianRatio(rates(measured), rates(bare)),
    bound: { kind: 'at least', value: 0.7, of: '× the floor' },
    processor: { measured: micros(measured), floor: micros(bare) },
  });
}
