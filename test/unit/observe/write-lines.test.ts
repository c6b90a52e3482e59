import fs, { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeLines } from '../../../src/observe/write-lines';
import { temporaryFolder } from '../../support/service';
import { until } from '../../support/until';

describe('lines', () => {
  let begun: number;
  let ended: number;
  beforeEach(() => {
    [begun, ended] = [0, 0];
    const write = fs.write as (fd: number, piece: Buffer, done: (...said: unknown[]) => void) => void;
    const counted: typeof write = (fd, piece, done) => {
      begun += 1;
      write(fd, piece, (...said) => {
        done(...said);
        ended += 1;
      });
    };
    jest.spyOn(fs, 'write').mockImplementation(counted as never);
  });
  afterEach(() => jest.restoreAllMocks());
  /** So many writes have begun, and none is under way. */
  const written = (count: number) =>
    until(async () => begun >= count && ended === begun, {
      withinMs: 10_000,
      everyMs: 1,
      what: 'what is written',
    });

  test('are written in order, and each once, whatever is under way at the end', async () => {
    const file = join(temporaryFolder(), 'log');
    const fd = openSync(file, 'a');
    const writer = writeLines(fd);
    const bundles = Array.from({ length: 60 }, (_, at) => `${String(at).padStart(20_000, '0')}\n`);
    for (const bundle of bundles) writer.write(bundle);
    await written(1);
    writer.write('last\n');
    writer.flushSync();
    expect(readFileSync(file, 'utf8')).toBe(`${bundles.join('')}last\n`);
    closeSync(fd);
  });

  test('that find no room fail nobody, wait, and are dropped beyond a bound; the end is told what the system says', async () => {
    const fd = openSync('/dev/full', 'a');
    const writer = writeLines(fd);
    for (let count = 0; count < 100; count += 1)
      writer.write(`${'x'.repeat(49_999)}\n${'y'.repeat(49_999)}\n`);
    // 4 MiB are kept, and what is being written.
    expect(writer.dropped()).toBeGreaterThan(100);
    expect(writer.dropped()).toBeLessThan(120);
    await written(1);
    writer.flush();
    await written(2);
    writer.flush();
    await written(3);
    expect(() => writer.flushSync()).toThrow('ENOSPC');
    closeSync(fd);
  });
});
