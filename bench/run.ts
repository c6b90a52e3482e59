// The bench: takes the figures one after the other, prints them as a table, and writes all that was measured as JSON
// where `--json FILE` says. `--only NAME` takes one. Exit code 1 when a figure falls short. How each is taken: README.md.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { kafkaAvailable } from '../test/support/kafka';
import type { Figure, Line } from './figure';
import { accept } from './figures/accept';
import { acceptPostgres } from './figures/accept-postgres';
import { alerts } from './figures/alerts';
import { claim } from './figures/claim';
import { drain } from './figures/drain';
import { drainPostgres } from './figures/drain-postgres';
import { fairness } from './figures/fairness';
import { freshness } from './figures/freshness';
import { memory } from './figures/memory';
import { merge } from './figures/merge';
import { replay } from './figures/replay';
import { signing } from './figures/signing';
import { start } from './figures/start';
import { sync } from './figures/sync';
import { telemetry } from './figures/telemetry';
import { unpark } from './figures/unpark';
import { workers } from './figures/workers';
import { arrive } from './place';
import { machine, tableOf } from './table';

const figures: Figure[] = [
  accept,
  drain,
  merge,
  freshness,
  memory,
  start,
  sync,
  signing,
  claim,
  alerts,
  telemetry,
  acceptPostgres,
  drainPostgres,
  workers,
  unpark,
  replay,
  fairness,
];
const minutesMax = 30;

async function run(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: 'string' }, json: { type: 'string' } } });
  const wanted = figures.filter(({ name }) => values.only === undefined || values.only === name);
  if (wanted.length === 0) {
    process.stderr.write(`--only takes one of ${figures.map(({ name }) => name).join(', ')}\n`);
    return 2;
  }
  const kafka = kafkaAvailable();
  if (!kafka.available) {
    process.stderr.write(`The bench needs a real Kafka: ${kafka.reason}\n`);
    return 2;
  }
  const lines: Line[] = [];
  for (const figure of wanted) {
    const startedAt = performance.now();
    const place = arrive(figure.world);
    try {
      lines.push(...(await figure.measure(place)));
    } finally {
      await place.leave();
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`${figure.name}: ${seconds} s\n`);
  }
  process.stdout.write(`${tableOf(lines)}\n`);
  if (values.json !== undefined) {
    const result = { at: new Date().toISOString(), machine: machine(), figures: lines };
    writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  }
  return lines.every(({ holds }) => holds !== false) ? 0 : 1;
}

const overdue = setTimeout(() => {
  process.stderr.write(`Not done within ${minutesMax} minutes.\n`);
  process.exit(1);
}, minutesMax * 60_000);

run().then(
  (code) => {
    clearTimeout(overdue);
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
