/**
 * `tramline migrate`: brings the store to this version, and creates the declared topics where brokers are named. Safe
 * to repeat; `serve` creates no topic.
 */
import type { Command } from 'commander';
import type { Action, CommandContext } from './context';
import { exitCodes } from './exit-code';

export function registerMigrate(program: Command, action: Action): void {
  program
    .command('migrate')
    .description('bring the store to this version, and create missing topics')
    .action(action(run));
}

async function run({ output, load, openStore, createTopics }: CommandContext): Promise<number> {
  const loaded = load();
  const store = await openStore(loaded);
  await store.close();
  const topics = await createTopics(loaded.settings);
  const shown = String(loaded.origins.DATABASE_URL.shown);
  if (output.json) {
    const lines = topics.map(({ topic, state, partitions, created }) => ({
      topic,
      state,
      partitions,
      created,
    }));
    output.value({ store: shown, topics: lines });
  } else {
    output.line(`The store ${shown} is at this version.`);
    for (const { topic, state, partitions, created } of topics) {
      output.line(`${topic}: ${created ? 'created' : state}, ${partitions} partitions`);
    }
    output.next('tramline check');
  }
  return topics.every(({ state }) => state === 'present') ? exitCodes.done : exitCodes.failed;
}
