/**
 * Words from the shell to one command: the table of commands, their common option, and how their problems become exit
 * codes. Commands that bring the whole service or the simulator with them are loaded only when they are named.
 */
import { Command, CommanderError, Option } from 'commander';
import { isProblem, Problem } from '../model/problem';
import { shellValue, shellWord } from '../model/shell-word';
import { registerAlerts } from './alerts';
import { registerCheck } from './check';
import { registerConfig } from './config';
import { registerConnect } from './connect';
import { registerConnections } from './connections';
import type { Action, CommandDoors } from './context';
import type * as Demo from './demo';
import { registerEquipment } from './equipment';
import { registerReference } from './equipment-reference';
import { registerEvents } from './events';
import { exitCodeOf, exitCodes } from './exit-code';
import { registerExplain } from './explain';
import { registerFieldOperations } from './field-operations';
import { registerFiles } from './files';
import { registerLedger } from './ledger';
import { registerMigrate } from './migrate';
import { registerOrganizations } from './organizations';
import { makeOutput, type Streams } from './output';
import { registerParked } from './parked';
import { registerQuarantine } from './quarantine';
import { registerReplay } from './replay';
import type * as Serve from './serve';
import type * as Simulate from './simulate';
import { registerDelivery, registerSubscriptions } from './subscriptions';
import { registerSync } from './sync';
import { whereToLook } from './where-to-look';

const light = [
  registerMigrate,
  registerConfig,
  registerCheck,
  registerOrganizations,
  registerEquipment,
  registerReference,
  registerFieldOperations,
  registerFiles,
  registerConnect,
  registerConnections,
  registerSubscriptions,
  registerDelivery,
  registerEvents,
  registerParked,
  registerQuarantine,
  registerExplain,
  registerAlerts,
  registerLedger,
  registerSync,
  registerReplay,
];

/** Required by name, or all of them for the help. */
const heavy: Record<string, (program: Command) => void> = {
  serve: (program) => (require('./serve') as typeof Serve).registerServe(program),
  demo: (program) => (require('./demo') as typeof Demo).registerDemo(program),
  simulate: (program) => (require('./simulate') as typeof Simulate).registerSimulate(program),
};

/** Runs the command that the words name and resolves to its exit code. Never rejects. */
export async function runCommandLine(
  words: string[],
  streams: Streams,
  doors: CommandDoors,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  let asked: Command | null = null;
  const program = new Command('tramline')
    .description('Farm-data webhooks in, correct, ordered, stable Kafka events out.')
    .version(doors.version())
    .exitOverride()
    .configureOutput({ writeOut: streams.out, writeErr: streams.error })
    .showHelpAfterError('(tramline --help lists the commands)');
  const action: Action =
    (run) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      asked = command;
      const options = command.optsWithGlobals<{ json?: boolean }>();
      const context = { ...doors, output: makeOutput(streams, options.json === true) };
      const list = [given[0]].flat().filter((word) => typeof word === 'string');
      // It would name the list that the id stands in.
      if (list.includes('')) throw new Problem('command.usage', `<${argumentNameOf(command)}> is empty`);
      exitCode = await run(context, list[0], options, list);
    };
  try {
    register(program, words, action);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    // Commander has already said what is wrong; help and version are no mistakes.
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownOption') hintAtDashes(program, words, streams);
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    }
    const { warn } = makeOutput(streams, false);
    for (const sentence of sentencesOf(error).split('\n')) warn(sentence);
    exitCode = exitCodeOf(error);
  }
  if (exitCode === exitCodes.notFound && asked !== null) tellWhereToLook(asked, streams);
  return exitCode;
}

function argumentNameOf({ registeredArguments: [first] }: Command): string {
  return first?.name() ?? 'argument';
}

/** Beside the complaint, so that what reads the answer of a command never meets it. */
function tellWhereToLook(command: Command, streams: Streams): void {
  const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
  makeOutput({ ...streams, out: streams.error }, json).next(whereToLook(command));
}

/** An id may begin as an option does: the command as it is written then, where one is missing. */
function hintAtDashes(program: Command, words: string[], streams: Streams): void {
  let command = program;
  const path = words.filter((word) => !word.startsWith('-'));
  while (command.commands.length > 0) {
    const next = command.commands.find((one) => one.name() === path[0]);
    if (next === undefined) return;
    command = next;
    path.shift();
  }
  const id = words.findLast((word) => word.startsWith('-') && !isOptionOf(command, word));
  if (id === undefined || path.length > 0 || command.registeredArguments.length === 0) return;
  const others = words.filter((word) => word !== id).map(shellValue);
  const output = makeOutput({ ...streams, out: streams.error }, false);
  output.next(`If that is an id: tramline ${[...others, shellWord(id)].join(' ')}`);
}

function isOptionOf(command: Command, word: string): boolean {
  return command.options.some(({ short, long }) => word === short || word === long);
}

function register(program: Command, words: string[], action: Action): void {
  const named = words.find((word) => !word.startsWith('-'));
  const load = named === undefined ? undefined : heavy[named];
  if (load !== undefined) load(program);
  else for (const add of light) add(program, action);
  if (named === undefined || named === 'help') for (const each of Object.values(heavy)) each(program);
  addJson(program);
  inherit(program);
  refuseRepeats(program);
}

/** Every command has it, in whatever place it is written. */
function addJson(command: Command): void {
  const has = command.options.some(({ long }) => long === '--json');
  if (!has) command.addOption(new Option('--json', 'print JSON'));
  for (const child of command.commands) addJson(child);
}

/** Of what is given twice the last would count, and whoever meant both would not hear of it; what gathers its values is a list. */
function refuseRepeats(command: Command): void {
  for (const option of command.options.filter(({ required, optional }) => required || optional)) {
    let given = false;
    command.on(`option:${option.name()}`, () => {
      if (given && !Array.isArray(command.getOptionValue(option.attributeName())))
        throw new Problem('command.usage', `${option.long} is given more than once, and takes one value`);
      given = true;
    });
  }
  for (const child of command.commands) refuseRepeats(child);
}

/** Commands made by others end the process neither, and write where we do. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}

function sentencesOf(error: unknown): string {
  if (isProblem(error, 'settings.invalid')) return error.message;
  return `tramline: ${error instanceof Error ? error.message : String(error)}`;
}
