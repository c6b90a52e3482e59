/**
 * D10 on the embedded store: a flush of its log that the disk fails. Nobody knows then what of it is on disk: nothing that
 * waited for it is promised, the store begins anew with what its file shows, and every delivery that was answered 204 before
 * or after is in it.
 */
import { join } from 'node:path';
import { evidenceOf } from '../support/evidence';
import { buildFailingFlush } from '../support/failing-flush';
import { checkLedger } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const gcc = buildFailingFlush();

describeWithNeighbour('gcc', gcc, 'an embedded store whose disk fails a flush', () => {
  let story: Story;
  afterAll(() => story?.end());

  test('D10: a log that cannot be flushed is begun anew: 503 meanwhile, and nothing that was answered 204 is lost', async () => {
    const { flush } = gcc;
    story = await beginStory({
      delivers: false,
      flags: { organizations: 1, equipment: 20 },
      settings: flush!.environment,
    });
    const machines = await story.equipment();
    let posted = 0;
    const postNext = async () => {
      const { status } = await story.post([notificationOf(machines[posted % machines.length]!)]);
      posted += 1;
      return status;
    };
    expect(await postNext()).toBe(204);
    await story.untilRest();
    for (let times = 0; times < 3; times += 1) {
      // Somebody else's flush may be the one that fails: then the next is told to.
      await until(async () => {
        flush!.failNext();
        return (await postNext()) === 503;
      }, soon);
      await until(async () => (await postNext()) === 204, soon);
    }
    expect(new Set(story.answers)).toEqual(new Set([204, 503]));
    const accepted = story.answers.filter((status) => status === 204).length;
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ lost: 0, waiting: 0 });
    expect(ledger.accepted).toBeGreaterThanOrEqual(accepted);
    await story.service.stop();
    const evidence = await evidenceOf(join(story.dataFolder, 'tramline.db'), accepted, 'embedded');
    expect(checkLedger(evidence)).toEqual([]);
  }, 120_000);
});
