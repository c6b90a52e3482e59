/**
 * The next step of a command that was asked for something that is not there: the command that lists what there is. It
 * follows from the table of commands and from what was given, so that a command to come has one too. Pure.
 */
import type { Command } from 'commander';

/** What lists the values of an option; the first that was given is the one that may be wrong. */
const listingOfOption: Record<string, string> = {
  event: 'events --json',
  user: 'connections list',
  organization: 'organizations list',
  reason: 'quarantine list',
  all: 'quarantine list',
};

/** Commands that have no list beside them. */
const listingOfCommand: Record<string, string> = { explain: 'events --json', connect: 'connections list' };

/** One sentence that ends with a command: what is listed by whatever `command` looked into. Throws nothing. */
export function whereToLook(command: Command): string {
  return `See what there is: tramline ${listingBeside(command) ?? listingOfGiven(command)}`;
}

/** Where a word was given, it named one of its own kind, which the list beside the command shows. */
function listingBeside({ parent, args }: Command): string | null {
  const hasList = parent?.commands.some((one) => one.name() === 'list') === true;
  return hasList && args.length > 0 ? `${parent.name()} list` : null;
}

function listingOfGiven(command: Command): string {
  const given = Object.keys(listingOfOption).find((option) => command.getOptionValue(option) !== undefined);
  if (given !== undefined) return listingOfOption[given]!;
  // What has nothing of its own to be found was asked for an organization, as everything is.
  return listingOfCommand[command.name()] ?? 'organizations list';
}
