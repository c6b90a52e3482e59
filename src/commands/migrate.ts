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
    .option('--reencrypt', 'seal every stored token with the first of ENCRYPTION_KEYS')
    .action(
      action((context, _argument, options: { reencrypt?: boolean }) =>
        options.reencrypt ? reencrypt(context) : run(context),
      ),
    );
}

/** Can be broken off and repeated; needs the former key until it has ended. */
async function reencrypt({ output, load, reencrypt: reseal }: CommandContext): Promise<number> {
  const counts = await reseal(load());
  if (output.json) output.value(counts);
  else {
    output.line(
      `${counts.resealed} connections were sealed with the first key, ${counts.kept} were already.`,
    );
    output.next('The other keys can be taken out of ENCRYPTION_KEYS.');
  }
  return exitCodes.done;
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
