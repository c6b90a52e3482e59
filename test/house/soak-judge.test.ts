/**
 * The judge of the soak is itself judged: of a server that loses something with each request it says what, of one that
 * loses nothing it says nothing, and a peak is no growth.
 */
import { judgeSoak } from '../prove/judge-soak';
import { startProcess } from '../support/ready-process';
import type { Resources } from '../support/tell-resources';
import { until } from '../support/until';

const calm = { resident: 2e8, living: 5e7, timers: 40, handles: 30, files: 50 };
const hourly = (of: (minute: number) => Partial<Resources>): Resources[] =>
  Array.from({ length: 60 }, (_, minute) => ({
    line: 'resources',
    atMs: minute * 60_000,
    ...calm,
    ...of(minute),
  }));
const growing = (samples: Resources[]) =>
  judgeSoak(samples)
    .filter(({ grows }) => grows)
    .map(({ quantity }) => quantity);

test('what fills at the beginning, swings or peaks does not grow', () => {
  expect(growing(hourly(() => ({})))).toEqual([]);
  expect(growing(hourly((minute) => ({ living: 5e7 + 2e7 * Math.min(minute, 15) })))).toEqual([]);
  expect(growing(hourly((minute) => ({ resident: 2e8 + 4e7 * (minute % 2) })))).toEqual([]);
  expect(growing(hourly((minute) => ({ timers: minute > 55 ? 900 : 40 })))).toEqual([]);
  expect(growing(hourly((minute) => ({ files: 90 - minute })))).toEqual([]);
});

test.each([
  ['resident', 1_000_000],
  ['living', 200_000],
  ['timers', 1],
  ['handles', 1],
  ['files', 1],
] as const)('%s that rises by %d a minute grows', (quantity, byMinute) => {
  const samples = hourly((minute) => ({ [quantity]: calm[quantity] + byMinute * minute }));
  expect(growing(samples)).toEqual([quantity]);
});

test('too few samples say nothing', () => {
  expect(() => judgeSoak(hourly(() => ({})).slice(0, 10))).toThrow('samples');
  expect(() => judgeSoak([])).toThrow('samples');
});

test.each([
  ['nothing', []],
  ['memory', ['resident', 'living']],
  ['timers', ['timers']],
  ['handles', ['handles', 'files']],
  ['files', ['files']],
])('of a server that loses %s with each request it says %j', async (leak, told) => {
  const server = await startProcess({
    entry: 'dist/test/support/serve-and-leak.js',
    environment: { LEAK: leak, TELL_RESOURCES_MS: '20' },
    readyKeys: ['port'],
  });
  const samples = () => server.records().filter(({ line }) => line === 'resources') as unknown as Resources[];
  const rounds: Resources[] = [];
  for (let round = 0; round < 24; round += 1) {
    const ask = async () => (await fetch(`http://127.0.0.1:${server.ready.port}`)).text();
    await Promise.all(Array.from({ length: 6 }, ask));
    const told = samples().length;
    await until(() => samples().length > told, { withinMs: 10_000, everyMs: 5 });
    // One a minute: a round that a busy machine made long counts like every other.
    rounds.push({ ...samples().at(-1)!, atMs: round * 60_000 });
  }
  expect(growing(rounds)).toEqual(told);
  await server.kill();
});
