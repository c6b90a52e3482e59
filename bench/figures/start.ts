// From the start of the process to its ready line, with an empty store and with a store of 200,000 tasks that wait to be
// read. Each turn is a process of its own; what it prints as ready is held against its readiness probe.
import { join } from 'node:path';
import { fillBacklog } from '../backlog';
import { type Figure, type Line, line } from '../figure';
import { inTurns, median } from '../measure';
import type { Place } from '../place';

const rounds = 5;
const tasks = 200_000;

export const start: Figure = { name: 'start', measure };

async function measure(place: Place): Promise<Line[]> {
  const full = `sqlite:${join(place.folder, 'full.db')}`;
  await fillBacklog(place, { DATABASE_URL: full }, tasks);
  const turns = await inTurns(
    { empty: () => startOnce(place, {}), full: () => startOnce(place, { DATABASE_URL: full }) },
    rounds,
  );
  return (
    [
      ['an empty store', turns.empty, 1500],
      ['a store of 200,000 tasks', turns.full, 2000],
    ] as const
  ).map(([name, times, value]) =>
    line({
      figure: `start of serve to ready, ${name}`,
      measured: median(times),
      floor: null,
      unit: 'ms',
      judged: median(times),
      bound: { kind: 'at most', value, of: 'ms' },
      turns: { times },
    }),
  );
}

async function startOnce(place: Place, settings: Record<string, string>): Promise<number> {
  const serve = await place.serve(settings);
  const probe = await fetch(`${String(serve.ready.operations)}/readyz`);
  await serve.kill();
  if (probe.status !== 200) throw new Error(`said to be ready, but its probe answered ${probe.status}`);
  return serve.readyAfterMs;
}
