// Goal: a power cut is judged by what was on disk, which is less than what was written before a flush ended.
// Method: traces as strace writes them, of one file and two threads.
import { Disk, readTrace } from '../support/disk-trace';

const hexOf = (text: string) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`).join('');
const file = '/data/store.db-wal';
const write = (text: string, offset: number) =>
  `pwrite64(20<${hexOf(file)}>, "${hexOf(text)}", ${text.length}, ${offset}) = ${text.length}`;
const sync = `fdatasync(20<${hexOf(file)}>) = 0`;
const begins = (call: string) => `${call.slice(0, call.lastIndexOf(')'))} <unfinished ...>`;
const ends = (call: string) =>
  `<... ${call.slice(0, call.indexOf('('))} resumed>${call.slice(call.lastIndexOf(')'))}`;

/** What a cut leaves after these lines of a trace. */
function leftBy(...lines: string[]): string {
  const disk = new Disk();
  for (const event of readTrace(lines.join('\n'))) disk.apply(event);
  return disk.after(file)?.toString() ?? 'no file';
}

test('what was written before a flush began is on disk when it has ended', () => {
  expect(leftBy(`7 ${write('ab', 0)}`)).toBe('');
  expect(leftBy(`7 ${write('ab', 0)}`, `7 ${sync}`)).toBe('ab');
  expect(leftBy(`7 ${write('ab', 0)}`, `7 ${begins(sync)}`)).toBe('');
  expect(leftBy(`7 ${write('ab', 0)}`, `8 ${begins(sync)}`, `8 ${ends(sync)}`)).toBe('ab');
});

test('what was written while a flush was under way is not on disk before another one', () => {
  const during = [
    `7 ${write('ab', 0)}`,
    `8 ${begins(sync)}`,
    `7 ${write('cd', 2)}`,
    `7 ${begins(write('ef', 4))}`,
    `8 ${ends(sync)}`,
  ];
  expect(leftBy(...during)).toBe('ab');
  expect(leftBy(...during, `7 ${ends(write('ef', 4))}`, `7 ${sync}`)).toBe('abcdef');
});

test('nor is what began before the flush and ended while it was under way', () => {
  const late = write('cd', 2);
  const lines = [`7 ${write('ab', 0)}`, `7 ${begins(late)}`, `8 ${begins(sync)}`, `7 ${ends(late)}`];
  expect(leftBy(...lines, `8 ${ends(sync)}`)).toBe('ab');
});

test('of two flushes at once each holds what came before it began, and one that failed holds nothing', () => {
  const lines = [
    `7 ${write('ab', 0)}`,
    `8 ${begins(sync)}`,
    `7 ${write('cd', 2)}`,
    `9 ${begins(sync)}`,
    `9 ${ends(sync)}`,
    `7 ${write('ef', 4)}`,
    `8 ${ends(sync)}`,
  ];
  expect(leftBy(...lines)).toBe('abcd');
  expect(leftBy(...lines, `7 ${sync.replace('= 0', '= -1 EIO (Input/output error)')}`)).toBe('abcd');
});
