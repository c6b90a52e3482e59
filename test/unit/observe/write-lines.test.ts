import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeLines } from '../../../src/observe/write-lines';
import { temporaryFolder } from '../../support/service';

describe('lines', () => {
  test('are written in order, and each once, whatever is under way at the end', async () => {
    const file = join(temporaryFolder(), 'log');
    const fd = openSync(file, 'a');
    const writer = writeLines(fd);
    const bundles = Array.from({ length: 60 }, (_, at) => `${String(at).padStart(20_000, '0')}\n`);
    for (const bundle of bundles) writer.write(bundle);
    await delay(50);
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
    writer.flush();
    await delay(50);
    writer.flush();
    await delay(50);
    expect(() => writer.flushSync()).toThrow('ENOSPC');
    closeSync(fd);
  });
});
