/**
 * `tramline demo`: the whole path on a laptop, told in plain sentences, with a ledger at its end. Exit code 1 when the
 * ledger does not add up.
 */
import type { Command } from 'commander';
import pico from 'picocolors';
import { makePager } from '../demo/pager';
import { reckon } from '../demo/reckoning';
import { setStage } from '../demo/stage';
import { tellStory } from '../demo/story';
import { makeTeller } from '../demo/tell';
import { createDeclaredTopics } from '../wire/topics';

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('the whole path on a laptop: no credentials, under a minute')
    .option('--kafka <host:port>', 'publish to a real Kafka instead of the embedded event log')
    .option('--stay', 'keep running afterwards')
    .action(async (given: { kafka?: string; stay?: boolean }) => {
      process.exitCode = await demo(given.kafka ?? null, given.stay ?? false);
    });
}

async function demo(kafka: string | null, stay: boolean): Promise<number> {
  const teller = makeTeller((text) => process.stdout.write(text), pico.isColorSupported);
  const pager = makePager();
  const stage = await setStage({ kafka, sink: pager.sink, createTopics: createDeclaredTopics });
  try {
    const { ready } = stage.service;
    teller.title('Tramline: farm-data webhooks in, ordered events out');
    teller.say(
      `A simulated provider and the service run in this process. Deliveries go to ${ready.public}, ` +
        `events to ${kafka === null ? 'the embedded event log' : `Kafka at ${kafka}`}, pages to this terminal.`,
    );
    await stage.control('PUT', 'deliver-to', { url: `${ready.public}/webhooks` });
    await tellStory({ stage, teller, pager });
    const faults = await reckon(stage, teller, pager);
    if (stay) {
      teller.say(
        `It goes on running: operations at ${ready.operations}, the provider’s page at ${stage.simulator.control.replace('_simulator/', '')}. Ctrl-C ends it.`,
      );
      await new Promise<void>((resolve) => {
        process.once('SIGINT', () => resolve());
        process.once('SIGTERM', () => resolve());
      });
    }
    return faults.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}
