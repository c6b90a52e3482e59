/**
 * D3 on the embedded store: the disk is full in earnest. Deliveries are answered 503 in time and nothing is promised, a
 * person is told, and when there is room again everything goes on by itself, with every delivery that was answered 204.
 */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { evidenceOf } from '../support/evidence';
import { checkLedger } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { temporaryFolder } from '../support/service';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const folder = temporaryFolder();
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder]).status === 0;

describeWithNeighbour(
  'a small disk',
  mounted ? { available: true } : { available: false, reason: 'nothing may be mounted here' },
  'D3 on a disk of six megabytes',
  () => {
    let story: Story;
    const ballast = join(folder, 'ballast');

    afterAll(async () => {
      await story?.end();
      spawnSync('umount', [folder]);
    });

    /** Leaves no room at all. */
    function fill(): void {
      for (const size of [1_048_576, 65_536, 4096, 1]) {
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(size, 1), { flag: 'a' });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    }

    test('D3: 503 with Retry-After while it is full, a page, and recovery by itself when there is room', async () => {
      story = await beginStory({
        delivers: false,
        flags: { equipment: 20 },
        settings: { DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}` },
      });
      const { equipment } = await story.simulator.state();
      const statuses: number[] = [];
      let accepted = 0;
      const post = async (index: number) => {
        const began = performance.now();
        const machine = equipment[index % equipment.length]!;
        // Enough in one delivery that the room is soon used up.
        const notifications = Array.from({ length: 100 }, () => notificationOf(machine));
        const answer = await story.post(notifications);
        expect(performance.now() - began).toBeLessThan(5000);
        statuses.push(answer.status);
        if (answer.status === 204) accepted += notifications.length;
        return answer;
      };
      await post(0);
      await story.untilRest();
      fill();
      const refused = await until(async () => {
        const answer = await post(statuses.length);
        return answer.status === 503 ? answer : null;
      }, soon);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      await until(async () => (await fetch(`${story.service.operationsUrl}/readyz`)).status === 503, soon);
      expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
      const page = await until(
        () =>
          story.service
            .records()
            .find((record) => record.line === 'alert' && record.name === 'TramlineStoreUnavailable') ?? null,
        soon,
      );
      expect(page).toMatchObject({ state: 'firing' });

      rmSync(ballast);
      await until(async () => (await post(statuses.length)).status === 204, soon);
      const ledger = await story.untilRest();
      expect(ledger.accepted).toBeGreaterThanOrEqual(accepted);
      expect(ledger).toMatchObject({ lost: 0, waiting: 0 });
      await until(
        () =>
          story.service
            .records()
            .some(({ line, name, state }) => line === 'alert' && name === page.name && state === 'resolved'),
        soon,
      );
      await story.service.stop();
      const evidence = await evidenceOf(join(folder, 'tramline.db'), accepted, 'embedded');
      expect(checkLedger(evidence)).toEqual([]);
    }, 120_000);
  },
);
