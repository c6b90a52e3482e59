// The table on standard output, and the machine that the figures are of. Pure but for the questions to the system.
import { cpus, totalmem } from 'node:os';
import type { Line } from './figure';

export function tableOf(lines: Line[]): string {
  const head = ['figure', 'measured', 'floor', 'judged', 'bound', '', 'processor µs each (floor)'];
  const rows = lines.map((one) => [
    one.figure,
    `${rounded(one.measured)} ${one.unit}`,
    one.floor === null ? '–' : rounded(one.floor),
    one.bound === null ? `${rounded(one.judged)} ×` : rounded(one.judged),
    one.bound === null ? '' : `${one.bound.kind} ${one.bound.value} ${one.bound.of}`,
    one.holds === null ? '' : one.holds ? 'holds' : 'FALLS SHORT',
    processorOf(one),
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

/** Of one item: the main thread, the store's thread, what runs beside them; the same of the floor in brackets. */
function processorOf({ processor }: Line): string {
  if (processor === undefined) return '';
  const { measured, floor } = processor;
  const whole = (micros: number) => Math.round(micros);
  const threads = [measured.main, measured.store, measured.other].map(whole).join(' + ');
  return `${whole(measured.all)} = ${threads} (${whole(floor.all)})`;
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
