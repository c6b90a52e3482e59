/**
 * D3: the disk that holds the log alone is full. Deliveries are taken all the same, probes answer, what was told meanwhile
 * is written when there is room again, and a signal ends the process in order.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port';
import { describeWithNeighbour } from '../support/neighbour';
import { endWithRunner } from '../support/reaper';
import { repositoryRoot } from '../support/repository';
import { temporaryFolder } from '../support/service';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const folder = mkdtempSync(join(tmpdir(), 'tramline-full-log-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
let story: Story;
let service: ChildProcess | undefined;
afterAll(async () => {
  service?.kill('SIGKILL');
  await story?.end();
  spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true });
});

describeWithNeighbour(
  'tmpfs',
  mounted ? { available: true } : { available: false, reason: 'this user may mount none' },
  'a log whose disk is full',
  () => {
    test('D3: stops nothing: deliveries are taken, and the log goes on where there is room again', async () => {
      story = await beginStory({ delivers: false });
      const [machine] = await story.equipment();
      const [port, operationsPort] = [await freePort(), await freePort()];
      const log = join(folder, 'log');
      const program = [process.execPath, 'dist/src/cli.js', 'serve'];
      service = spawn('sh', ['-c', `exec "$0" "$@" > ${log} 2>&1`, ...program], {
        cwd: repositoryRoot(),
        env: story.settings({
          DATABASE_URL: `sqlite:${join(temporaryFolder(), 'tramline.db')}`,
          ...{ HOST: '127.0.0.1', OPERATIONS_HOST: '127.0.0.1', DRAIN_SECONDS: '0' },
          ...{ PORT: String(port), OPERATIONS_PORT: String(operationsPort) },
        }),
      });
      endWithRunner(service);
      const ended = new Promise((resolve) => service!.once('close', resolve));
      const probe = async (path: string) =>
        (await fetch(`http://127.0.0.1:${operationsPort}/${path}`, { signal: AbortSignal.timeout(4000) }))
          .status;
      const post = () =>
        story.post([notificationOf(machine!)], {}, { publicUrl: `http://127.0.0.1:${port}` });
      await until(() => readFileSync(log, 'utf8').includes('"operations"'), soon);

      fillUp(join(folder, 'ballast'));
      const full = readFileSync(log, 'utf8').length;
      // More lines than the last block of the log has room for.
      for (let count = 0; count < 40; count += 1) expect((await post()).status).toBe(204);
      await until(() => readFileSync(log, 'utf8').length > full, soon);
      // Longer than lines are gathered: their write has failed.
      await delay(600);
      expect((await post()).status).toBe(204);
      expect([await probe('healthz'), await probe('readyz')]).toEqual([200, 200]);

      rmSync(join(folder, 'ballast'));
      const deliveries = () => readFileSync(log, 'utf8').match(/"line":"delivery"\}/g) ?? [];
      await until(() => deliveries().length === 41, soon);
      service.kill('SIGTERM');
      expect(await ended).toBe(0);
      for (const line of readFileSync(log, 'utf8').trimEnd().split('\n')) JSON.parse(line);
    }, 90_000);
  },
);

/** Leaves no room at all where this file is. */
function fillUp(ballast: string): void {
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size, 1), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
