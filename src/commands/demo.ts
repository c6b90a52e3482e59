/**
 * `tramline demo`: the whole path on a laptop, told in plain sentences, with a ledger at its end. Exit code 1 when the
 * ledger does not add up, 130 when it is interrupted before that; nothing of it stays on the disk in either case. With
 * `--json` the story goes to standard error, and the ledger is what is printed.
 */
import { type Command, InvalidArgumentError } from 'commander';
import pico from 'picocolors';
import { makePager, type Pager } from '../demo/pager';
import { reckon } from '../demo/reckoning';
import { setStage } from '../demo/stage';
import { type Scene, tellStory } from '../demo/story';
import { makeTeller } from '../demo/tell';
import { endsWithin, systemClock } from '../tools/clock';
import { createDeclaredTopics } from '../wire/topics';
import { exitCodes } from './exit-code';

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('the whole path on a laptop: no credentials, under a minute')
    .option('--kafka <host:port>', 'publish to a real Kafka instead of the embedded event log', brokers)
    .option('--stay', 'keep running afterwards')
    .action(async (_given: unknown, command: Command) => {
      const { kafka = null, stay = false, json = false } = command.optsWithGlobals<DemoOptions>();
      process.exitCode = await demo({ kafka, stay, json });
    });
}

interface DemoOptions {
  kafka: string | null;
  stay: boolean;
  json: boolean;
}

function brokers(text: string): string {
  if (/^[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*$/.test(text)) return text;
  throw new InvalidArgumentError('host:port is needed, several with commas between them.');
}

/**
 * How long an interrupt waits for what is still being set up: a store that opens while the process ends may make its
 * folder anew behind it. Brokers that do not answer take longer, and nothing is opened before they do.
 */
const setupEndMsMax = 3000;

async function demo({ kafka, stay, json }: DemoOptions): Promise<number> {
  const interrupted = firstInterrupt();
  let silent = false;
  void interrupted.then(() => {
    silent = true;
  });
  const storyTo = json ? process.stderr : process.stdout;
  const write = (text: string) => void (silent || storyTo.write(text));
  // What is known of colours is known of standard output.
  const isColoured = json
    ? process.stderr.isTTY === true && process.stderr.hasColors()
    : pico.isColorSupported;
  const teller = makeTeller(write, isColoured);
  const pager = makePager();
  const setting = setStage({ kafka, sink: pager.sink, createTopics: createDeclaredTopics });
  const stage = await Promise.race([setting, interrupted]);
  if (stage === 'interrupted') {
    const ended = setting.then((set) => set.close()).catch(() => {});
    await endsWithin(ended, setupEndMsMax, systemClock);
    process.exit(exitCodes.interrupted);
  }
  try {
    const faults = await Promise.race([tellAll({ stage, teller, pager }, kafka), interrupted]);
    if (faults === 'interrupted') return exitCodes.interrupted;
    if (json) {
      const ledger = await stage.ask<object>('/api/ledger');
      process.stdout.write(`${JSON.stringify({ ...ledger, faults })}\n`);
    }
    if (stay) {
      teller.say(
        `It goes on running: operations at ${stage.service.ready.operations}, the provider’s page at ${stage.simulator.control.replace('_simulator/', '')}. Ctrl-C ends it.`,
      );
      await interrupted;
    }
    return faults.length === 0 ? exitCodes.done : exitCodes.failed;
  } finally {
    await stage.close();
  }
}

/** Resolves to what does not add up. */
async function tellAll({ stage, teller, pager }: Told, kafka: string | null): Promise<string[]> {
  const { ready } = stage.service;
  teller.title('Tramline: farm-data webhooks in, ordered events out');
  teller.say(
    `A simulated provider and the service run in this process. Deliveries go to ${ready.public}, ` +
      `events to ${kafka === null ? 'the embedded event log' : `Kafka at ${kafka}`}, pages to this terminal.`,
  );
  for (const few of stage.fewCopies)
    teller.say(`Topics have fewer copies than declared: fewer lost disks lose what was sent. ${few}.`);
  await stage.control('PUT', 'deliver-to', { url: `${ready.public}/webhooks` });
  await tellStory({ stage, teller, pager });
  return reckon(stage, teller, pager);
}

interface Told extends Scene {
  pager: Pager;
}

/** The first asks for an end; a second one ends the process at once. Its terminal's end is one too. */
function firstInterrupt(): Promise<'interrupted'> {
  return new Promise((resolve) => {
    let isHeard = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (isHeard) process.exit(exitCodes.interrupted);
        isHeard = true;
        resolve('interrupted');
      });
    }
  });
}
