/**
 * Words from the shell to one command: the table of commands, their common option, and how their problems become exit
 * codes. A command is loaded when it is named, and all of them for the help.
 */
import { Command, CommanderError, Option } from 'commander';
import { isProblem, Problem } from '../model/problem';
import { shellValue, shellWord } from '../model/shell-word';
import type * as Alerts from './alerts';
import type * as Check from './check';
import type * as Config from './config';
import type * as Connect from './connect';
import type * as Connections from './connections';
import type { Action, CommandDoors } from './context';
import type * as Demo from './demo';
import type * as Equipment from './equipment';
import type * as Reference from './equipment-reference';
import type * as Events from './events';
import { exitCodeOf, exitCodes } from './exit-code';
import type * as Explain from './explain';
import type * as FieldOperations from './field-operations';
import type * as Files from './files';
import type * as Ledger from './ledger';
import type * as Migrate from './migrate';
import type * as Organizations from './organizations';
import { makeOutput, type Streams } from './output';
import type * as Parked from './parked';
import type * as Quarantine from './quarantine';
import type * as Replay from './replay';
import type * as Serve from './serve';
import type * as Simulate from './simulate';
import type * as Subscriptions from './subscriptions';
import type * as Sync from './sync';
import { whereToLook } from './where-to-look';

type Register = (program: Command, action: Action) => void;

const reference: Register = (...to) =>
  (require('./equipment-reference') as typeof Reference).registerReference(...to);

/** In the order of the help. */
const light: Record<string, Register> = {
  migrate: (...to) => (require('./migrate') as typeof Migrate).registerMigrate(...to),
  config: (...to) => (require('./config') as typeof Config).registerConfig(...to),
  check: (...to) => (require('./check') as typeof Check).registerCheck(...to),
  organizations: (...to) => (require('./organizations') as typeof Organizations).registerOrganizations(...to),
  equipment: (...to) => (require('./equipment') as typeof Equipment).registerEquipment(...to),
  makes: reference,
  types: reference,
  models: reference,
  'field-operations': (...to) =>
    (require('./field-operations') as typeof FieldOperations).registerFieldOperations(...to),
  files: (...to) => (require('./files') as typeof Files).registerFiles(...to),
  connect: (...to) => (require('./connect') as typeof Connect).registerConnect(...to),
  connections: (...to) => (require('./connections') as typeof Connections).registerConnections(...to),
  subscriptions: (...to) => (require('./subscriptions') as typeof Subscriptions).registerSubscriptions(...to),
  delivery: (...to) => (require('./subscriptions') as typeof Subscriptions).registerDelivery(...to),
  events: (...to) => (require('./events') as typeof Events).registerEvents(...to),
  parked: (...to) => (require('./parked') as typeof Parked).registerParked(...to),
  quarantine: (...to) => (require('./quarantine') as typeof Quarantine).registerQuarantine(...to),
  explain: (...to) => (require('./explain') as typeof Explain).registerExplain(...to),
  alerts: (...to) => (require('./alerts') as typeof Alerts).registerAlerts(...to),
  ledger: (...to) => (require('./ledger') as typeof Ledger).registerLedger(...to),
  sync: (...to) => (require('./sync') as typeof Sync).registerSync(...to),
  replay: (...to) => (require('./replay') as typeof Replay).registerReplay(...to),
};

/** They bring the whole service or the simulator with them: required by name, or for the help. */
const heavy: Record<string, Register> = {
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
  for (const add of namedBy(words)) add(program, action);
  addJson(program);
  inherit(program);
  refuseRepeats(program);
}

/** Each once; a name that none has is told from all of the light ones. */
function namedBy(words: string[]): Set<Register> {
  if (words[0] === '--version' || words[0] === '-V') return new Set();
  const table = { ...light, ...heavy };
  // What is asked for help before a command is named helps with all of them.
  const named = words.find((word) => !word.startsWith('-') || word === '--help' || word === '-h');
  if (named === undefined || ['help', '--help', '-h'].includes(named)) return new Set(Object.values(table));
  return new Set(Object.hasOwn(table, named) ? [table[named]!] : Object.values(light));
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
