// 100,000 parked tasks of 100 organizations whose customers accept the terms: from the moment when somebody asks for
// their probes until the last record is on the topic. The floor reads as many resources through the service's own client,
// with as many reads in flight, and keeps nothing. Each round has a new store, filled by a receiver; two rounds.
import { join } from 'node:path';
import { accessReached, probeNow, setTerms } from '../access';
import { fillBacklog } from '../backlog';
import type { Resource } from '../deliveries';
import { type Figure, type Line, line, medianMicros } from '../figure';
import { median, medianRatio } from '../measure';
import { drained, equipmentOf, type Place } from '../place';
import { type MicrosEach, microsEach, processorTime } from '../usage';

const rounds = 2;
const organizations = 100;
const equipment = 1000;
const tasks = organizations * equipment;
const drainedMsMax = 600_000;

interface Turn {
  perSecond: number;
  /** Of the measured process, for one task. */
  micros: MicrosEach;
}

export const unpark: Figure = { name: 'unpark', world: { organizations, equipment }, measure };

async function measure(place: Place): Promise<Line[]> {
  const resources = await equipmentOf(await place.simulator());
  const bare: Turn[] = [];
  const serve: Turn[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await readOnce(place, resources));
    serve.push(await unparkOnce(place, resources, round));
  }
  const rates = (of: Turn[]) => of.map(({ perSecond }) => perSecond);
  const micros = (of: Turn[]) => medianMicros(of.map((turn) => turn.micros));
  return [
    line({
      figure: '100,000 parked tasks after acceptance → Kafka',
      measured: median(rates(serve)),
      floor: median(rates(bare)),
      unit: 'tasks/s',
      judged: medianRatio(rates(serve), rates(bare)),
      bound: { kind: 'at least', value: 0.7, of: '× the floor' },
      processor: { measured: micros(serve), floor: micros(bare) },
      turns: { serve, bare },
    }),
  ];
}

async function readOnce(place: Place, resources: Resource[]): Promise<Turn> {
  const bare = await place.bareReads();
  const before = processorTime(bare.pid);
  const answer = await fetch(String(bare.ready.url), { method: 'POST', body: JSON.stringify(resources) });
  if (!answer.ok) throw new Error(await answer.text());
  const { tookMs } = (await answer.json()) as { tookMs: number };
  const micros = microsEach(before, processorTime(bare.pid), tasks);
  await bare.kill();
  return { perSecond: (tasks * 1000) / tookMs, micros };
}

async function unparkOnce(place: Place, resources: Resource[], round: number): Promise<Turn> {
  const prefix = `unpark-${round}`;
  await place.createTopics(prefix);
  const provider = await place.simulator();
  const ids = [...new Set(resources.map(([id]) => id))];
  const database = { DATABASE_URL: `sqlite:${join(place.folder, `${prefix}.db`)}` };
  await fillBacklog(place, database, tasks);
  await setTerms(provider, ids, false);
  const serve = await place.serve({ ...database, SYNC_INTERVAL_SECONDS: '0' }, prefix);
  await accessReached(serve, 'terms-required', organizations);
  await setTerms(provider, ids, true);
  const topic = serve.topic as string;
  const before = processorTime(serve.pid);
  const startedAt = performance.now();
  await probeNow(serve, ids);
  await drained(place, topic, tasks, drainedMsMax);
  const tookMs = performance.now() - startedAt;
  const micros = microsEach(before, processorTime(serve.pid), tasks);
  await serve.kill();
  return { perSecond: (tasks * 1000) / tookMs, micros };
}
