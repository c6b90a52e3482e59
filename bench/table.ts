// The table on standard output, and the machine that the figures are of. Pure but for the questions to the system.
import { cpus, totalmem } from 'node:os';
import type { Line } from './figure';

export function tableOf(lines: Line[]): string {
  const head = ['figure', 'measured', 'floor', 'judged', 'bound', ''];
  const rows = lines.map((one) => [
    one.figure,
    `${rounded(one.measured)} ${one.unit}`,
    one.floor === null ? '–' : rounded(one.floor),
    one.bound === null ? `${rounded(one.judged)} ×` : rounded(one.judged),
    one.bound === null ? '' : `${one.bound.kind} ${one.bound.value} ${one.bound.of}`,
    one.holds === null ? '' : one.holds ? 'holds' : 'FALLS SHORT',
  ]);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Three digits, and all of a large number. */
function rounded(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

export function machine(): Record<string, unknown> {
  const processors = cpus();
  return {
    node: process.version,
    platform: process.platform,
    processors: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryMegabytes: Math.round(totalmem() / 2 ** 20),
  };
}
