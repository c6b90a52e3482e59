/**
 * Goal: who waits for a sync at a terminal sees how far it is, in one line that is written over and never breaks: what is
 * done, the total, the rate and the time that is left; who reads it elsewhere sees its end alone.
 * Method: `tramline sync` under a pseudo-terminal beside a running service, of a provider that takes its time.
 */

import { join } from 'node:path';
import { runCommand } from '../support/command';
import { describeWithNeighbour } from '../support/neighbour';
import { beginStory, type Story, soon } from '../support/story';
import { runOnTerminal, type Shown, terminals } from '../support/terminal';
import { until } from '../support/until';

describeWithNeighbour('pseudo-terminals', terminals, 'a sync that somebody watches', () => {
  let story: Story;
  beforeAll(async () => {
    story = await beginStory({
      delivers: false,
      flags: { organizations: 6, equipment: 3, 'field-operations': 12, 'latency-ms': 40 },
      settings: { SYNC_INTERVAL_SECONDS: '0', PROVIDER_CONCURRENCY: '1' },
    });
  });
  afterAll(() => story.end());

  const words = ['sync', '--full'];
  const where = () => ({ TRAMLINE_URL: story.service.operationsUrl });
  const watch = (columns: number) => runOnTerminal(words, columns, where());
  const ended =
    /^\d+ listed: \d+ changed, \d+ unchanged, \d+ published, 0 left to a read; \d+ pages, \d+\s+calls, [\d.]+ s/;

  /** It rises, and is taken away before the end is told. */
  function expectToAdvance({ code, progress, rest }: Shown, line: RegExp, columns: number): void {
    expect([code, rest]).toEqual([0, expect.stringMatching(ended)]);
    const done = progress.map((shown) => Number(line.exec(shown)?.groups?.done));
    expect(done.length).toBeGreaterThan(2);
    expect(done).toEqual(done.toSorted((one, other) => one - other));
    expect(done.at(-1)).toBeGreaterThan(done[0]!);
    expect(Math.max(...progress.map(({ length }) => length))).toBeLessThan(columns);
  }

  const bar = /^\[=* *\] (?<done>\d+) of (at least |about )?\d+ listings · .*\d+\/s/;

  test('the first one says what was met so far, since its total is not known', async () => {
    const shown = await watch(120);
    expectToAdvance(shown, bar, 120);
    expect(shown.progress).toContainEqual(
      expect.stringMatching(
        / \d+ of at least \d+ listings · \d of 6 organizations · \d+ resources · \d+\/s$/,
      ),
    );
  });

  test('a later one says what is done, the total, the rate and the time that is left', async () => {
    const shown = await watch(120);
    expectToAdvance(shown, bar, 120);
    const whole = /^\[=+ *\] \d+ of (about )?\d+ listings · \d+ resources · \d+\/s · about \d+ s left$/;
    expect(shown.progress.filter((line) => whole.test(line)).length).toBeGreaterThan(1);
  });

  test('on a narrow terminal all of that stays, in fewer words, and the line does not break', async () => {
    const shown = await watch(40);
    expectToAdvance(shown, /^(?<done>\d+)(\/\d+\+?| of about \d+ listings) · \d+\/s/, 40);
    expect(shown.progress).toContainEqual(expect.stringMatching(/^\d+\/\d+ · \d+\/s · \d+ s left$/));
  });

  test('where nobody watches nothing is written over', async () => {
    const { code, out, error } = await runCommand(words, where());
    expect([code, out]).toEqual([0, expect.stringMatching(ended)]);
    for (const control of ['\r', '\x1b']) expect(out + error).not.toContain(control);
  });

  test('whoever wants no colour is shown none, and how far it is all the same', async () => {
    const { code, progress, rest } = await runOnTerminal(words, 120, { ...where(), NO_COLOR: '1' });
    expect([code, progress.length > 2]).toEqual([0, true]);
    const config = await runOnTerminal(['config'], 120, { ...where(), NO_COLOR: '1' });
    expect([config.code, config.rest]).toEqual([0, expect.stringContaining('NAME')]);
    expect((rest + config.rest).includes('\x1b[')).toBe(false);
  });

  test('where the service dies meanwhile, what is said of it stands in a line of its own', async () => {
    const asked = (await story.requests()).length;
    // It is in the middle for as long as that takes.
    const match = { path: '/fieldOperations($|\\?)' };
    await story.simulator.setFaults([{ match, held: true }]);
    const store = { DATABASE_URL: `sqlite:${join(story.dataFolder, 'tramline.db')}` };
    const watching = runOnTerminal(words, 120, { ...story.settings(), ...store, ...where() });
    const listing = async () =>
      (await story.requests()).slice(asked).some(({ path }) => path.endsWith('/fieldOperations'));
    await until(listing, { ...soon, what: 'field operations to be listed' });
    await story.service.kill();
    await story.simulator.setFaults([]);
    const { progress, rest } = await watching;
    // Whether it was asked at that moment or later: it ends there, or goes on by itself.
    const said = [...progress, rest].filter((text) => /the service at|using the store itself/.test(text));
    expect(said.length).toBeGreaterThan(0);
    expect(said.filter((text) => text.includes(' listings · '))).toEqual([]);
  });
});
