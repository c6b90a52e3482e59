/**
 * `tramline connections`: whose consents there are, how long each lasts and what it sees; and the end of one.
 */

import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { ConnectionView, RevokedView } from '../model/consent';
import { shellValue } from '../model/shell-word';
import { withoutAddresses } from '../model/without-addresses';
import { type Action, allPages, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { firstNamed } from './first-named';
import { type Column, shortTime } from './output';

const columns: Column<ConnectionView>[] = [
  { title: 'ID', of: shownId },
  { title: 'USER', of: ({ user }) => user, gives: true },
  { title: 'METHOD', of: ({ auth }) => auth },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'ENDS', of: endOf },
  { title: 'SEES', of: ({ organizations }) => organizations.length },
];

const namedMax = 20;

export function registerConnections(program: Command, action: Action): void {
  const connections = program.command('connections').description('whose consents there are');
  connections
    .command('list', { isDefault: true })
    .description('all of them')
    .action(action((context) => withApi(context, (api) => list(context, api))));
  connections
    .command('revoke')
    .argument('<id>', 'the connection')
    .description('give the consent back, and erase its tokens')
    .action(action((context, id) => withApi(context, (api) => revoke(context, api, id ?? ''))));
}

async function list({ output }: CommandContext, api: Api): Promise<number> {
  const all = await allPages<ConnectionView>((page) => api.connections.list(page));
  if (output.json) output.value(all);
  else if (all.length === 0) {
    output.line('No user’s consent is known here.');
    output.next('tramline connect');
  } else {
    output.table(all, columns);
    for (const connection of all) {
      if (connection.unlisted !== undefined) output.prose(`${shownId(connection)}: `, connection.unlisted);
    }
  }
  const refused = all.find(({ status }) => status === 'refused');
  if (refused !== undefined) {
    const { user, auth } = refused;
    const switchOver =
      auth === 'oauth1'
        ? `, or, where the provider has ended OAuth 1: tramline connect --auth oauth2 --user ${shellValue(user)}`
        : '';
    output.next(`Let its user consent anew: tramline connect --user ${shellValue(user)}${switchOver}`);
  }
  return exitCodes.done;
}

async function revoke({ output }: CommandContext, api: Api, id: string): Promise<number> {
  const revoked = await api.connections.revoke(id);
  if (output.json) output.value(revoked);
  else {
    output.line(`${id} is erased here.`);
    const unsaid =
      'The provider did not say that it took its tokens back: its user can end the consent there.';
    output.prose('', revoked.atProvider ? 'The provider took its tokens back.' : unsaid);
    showUnattended(output, revoked);
    output.next('See who waits for a new consent: tramline organizations list');
  }
  return exitCodes.done;
}

/** What was subscribed with a connection that is revoked, where there is any: the first 20 by name. */
export function showUnattended(
  output: CommandContext['output'],
  { subscriptions = [] }: Pick<RevokedView, 'subscriptions'>,
): void {
  if (subscriptions.length === 0) return;
  const named = firstNamed(subscriptions, namedMax);
  output.prose(
    '',
    `What was subscribed with it is looked after no more, unless another connection lists it: ${named}`,
  );
}

/** With the name that alerts and the log give it, where that is another. */
function shownId({ id }: ConnectionView): string {
  const told = withoutAddresses(id);
  return told === id ? id : `${id} (${told})`;
}

function endOf({ expiresAt, renews, status }: ConnectionView): string {
  if (status === 'refused') return 'ended';
  if (renews) return 'renewed';
  return expiresAt === null ? 'not named' : shortTime(expiresAt);
}
