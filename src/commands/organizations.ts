/**
 * `tramline organizations`: those met in deliveries or seen by a token, and what each of them waits for.
 */

import type { Command } from 'commander';
import type { Api } from '../model/api';
import { oauth1Ending } from '../model/connection';
import { counted } from '../model/counted';
import type { AccessChange, ForgottenView, OrganizationView, ProbeAsker } from '../model/organization';
import { isProblem } from '../model/problem';
import { shellValue, shellWord } from '../model/shell-word';
import { agedTime } from './age';
import { showUnattended } from './connections';
import { type Action, allPages, type CommandContext, type Via, withApi } from './context';
import { exitCodes } from './exit-code';
import { firstRows } from './listing';
import { type Column, shortTime, visible } from './output';
import { beginningOf, textWidth } from './text-width';

const columnsAt = (nowMs: number): Column<OrganizationView>[] => [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => shownName(name), gives: true },
  { title: 'ACCESS', of: accessOf },
  { title: 'SINCE', of: ({ since }) => since && agedTime(since, nowMs) },
  { title: 'PARKED', of: ({ parked }) => parked },
];

/** What was forgotten waits for nobody; of what only deliveries named nobody knows whether it may be read. */
function accessOf(organization: OrganizationView): string {
  if (organization.forgotten) return 'forgotten';
  return isUnseen(organization) ? 'never seen' : organization.access;
}

function isUnseen({ access, seen }: OrganizationView): boolean {
  return access === 'active' && !seen;
}

const speakers: Record<AccessChange['by'], string> = {
  probe: 'probe',
  'connections-link': 'link',
  grant: 'token',
  sync: 'listing',
  operator: 'operator',
};

/** Who said so, and what: `probe after 403: terms`. */
function wordOf({ by, askedBy, cause }: AccessChange): string {
  if (by === 'operator' && cause === 'refused-grant') return 'operator: connection revoked';
  return `${speakers[by]}${askers[askedBy ?? 'schedule']}${cause === null ? '' : `: ${cause}`}`;
}

/** What a probe was made for; of one that came by itself nothing is said. */
const askers: Record<ProbeAsker, string> = {
  'refused-request': ' after 403',
  notification: ' after notification',
  listing: ' after listing',
  consent: ' after consent',
  operator: ' asked for by operator',
  schedule: '',
};

export function registerOrganizations(program: Command, action: Action<{ yes?: boolean }>): void {
  const organizations = program.command('organizations').description('organizations and their access');
  organizations
    .command('list', { isDefault: true })
    .description('all of them')
    .action(action((context) => withApi(context, (api) => list(context, api))));
  organizations
    .command('get')
    .argument('<id>', 'the organization')
    .description('one of them')
    .action(action((context, id) => withApi(context, (api) => get(context, api, id ?? ''))));
  organizations
    .command('probe')
    .argument('<id>', 'the organization')
    .description('ask the provider now whether it may be read')
    .action(action((context, id) => withApi(context, (api, via) => probe(context, api, via, id ?? ''))));
  organizations
    .command('forget')
    .argument('<id>', 'the organization')
    .option('--yes', 'do not ask')
    .description('end its connection, give up what waits for it, erase its name')
    .action(action((context, id, { yes }) => forget(context, id ?? '', yes === true)));
}

async function list({ output, clock }: CommandContext, api: Api): Promise<number> {
  const all = await allPages<OrganizationView>((page) => api.organizations(page));
  if (output.json) {
    output.value(all);
    return exitCodes.done;
  }
  if (all.length === 0) {
    output.line('No organization was met yet.');
    output.next('Let a customer connect: tramline connect');
    return exitCodes.done;
  }
  const isBlocked = ({ access, forgotten }: OrganizationView) => access !== 'active' && !forgotten;
  const blocked = all.filter(isBlocked).toSorted(compareBlocked);
  const rows = [...blocked, ...all.filter((organization) => !isBlocked(organization))];
  firstRows(output, rows, columnsAt(clock.nowMs()), 'tramline organizations --json');
  output.line('');
  output.prose('', countsOf(rows));
  const [first] = blocked;
  output.next(first === undefined ? 'What needs a person: tramline alerts' : whatToDo(first, clock.nowMs()));
  return exitCodes.done;
}

/** In sentences a name is cut where it would push all else off the screen. */
const nameColumnsMax = 60;

/** null where it shows nothing. */
function shownName(name: string | null): string | null {
  return name === null || visible(name).trim() === '' ? null : name;
}

/** As a sentence calls it. A name that shows nothing is none. */
function whoIs({ id, name }: Pick<OrganizationView, 'id' | 'name'>): string {
  if (shownName(name) === null) return `organization ${id}`;
  const shown = visible(name ?? '').trim();
  const cut = textWidth(shown) > nameColumnsMax ? `${beginningOf(shown, nameColumnsMax - 1)}…` : shown;
  return `${cut} (${id})`;
}

/** Those first that concern somebody, and of them the longest blocked: who never connected has always been so for longest. */
function compareBlocked(left: OrganizationView, right: OrganizationView): number {
  if (left.concerns !== right.concerns) return left.concerns ? -1 : 1;
  return Date.parse(left.since ?? '') - Date.parse(right.since ?? '');
}

/** `12 organizations: 2 terms-required, 10 active`. */
function countsOf(organizations: OrganizationView[]): string {
  const byAccess = [...Map.groupBy(organizations, accessOf)].map(
    ([access, { length }]) => `${length} ${access}`,
  );
  const { length } = organizations;
  return `${counted(length, 'organization')}: ${byAccess.join(', ')}`;
}

async function get({ output, clock }: CommandContext, api: Api, id: string): Promise<number> {
  show(output, clock.nowMs(), await api.organization(id));
  return exitCodes.done;
}

/** What says something about access: of all else who asked must not take what was known before for an answer. */
const answers = new Set(['ok', 'not-modified', 'gone', 'no-access', 'action-required', 'not-connected']);

/** What needs a consent: a refused token says something only where no other one sees the organization. */
const needsConsent = new Set(['reauthorize', 'no-connection']);

function isAnswered(probed: string, { access }: OrganizationView): boolean {
  return answers.has(probed) || (needsConsent.has(probed) && access === 'reauthorize');
}

/** Beside a worker of an older version only the access tells what a probe found. */
const saysNothing = 'by-a-worker';

/** A running service asks at once, and what it found is told. */
async function probe({ output, clock }: CommandContext, api: Api, via: Via, id: string): Promise<number> {
  const { probed = null, ...organization } = await api.probe(id);
  show(output, clock.nowMs(), organization);
  const blocked = organization.access !== 'active';
  if (via === 'store') {
    output.note('No service runs: the provider is asked when one starts.');
    return blocked ? exitCodes.customerMustAct : exitCodes.done;
  }
  if (probed === saysNothing) {
    output.note('It was asked by a worker that does not say what it found: this is what is known now.');
    return blocked ? exitCodes.customerMustAct : exitCodes.done;
  }
  if (probed === null) {
    output.note('The provider has not answered yet: this is what was known before.');
    output.note('Whether a worker runs that asks it: tramline check');
  } else if (isAnswered(probed, organization)) {
    return blocked ? exitCodes.customerMustAct : exitCodes.done;
  } else output.note(`The provider did not say (${probed}): this is what was known before.`);
  return exitCodes.failed;
}

/** Nothing is ended that was not asked for twice, or once with `--yes`. While somebody types no store is held. */
async function forget(context: CommandContext, id: string, sure: boolean): Promise<number> {
  const { output, ask } = context;
  const { name, parked, manageUrl = null } = await withApi(context, (api) => api.organization(id));
  if (!sure) {
    output.warn(
      `To forget ${whoIs({ id, name })} ends its connection and gives up ${parked} that ${parked === 1 ? 'waits' : 'wait'}.`,
    );
    if ((await ask('Type its id to go on: ')).trim() !== id) {
      output.warn('Nothing was done. Without a terminal: --yes');
      return exitCodes.failed;
    }
  }
  const forgotten = await withApi(context, (api) => api.forget(id)).catch((error) => {
    if (isProblem(error, 'store.unavailable')) output.note(goesOn);
    throw error;
  });
  if (output.json) output.value(forgotten);
  else showForgotten(output, forgotten, manageUrl);
  return exitCodes.done;
}

/** What was given up stays so, and nobody goes on by itself. */
const goesOn = 'If a part of what waits was given up by then, the same command goes on from there.';

function showForgotten(
  output: CommandContext['output'],
  forgotten: ForgottenView,
  manageUrl: string | null,
): void {
  const { id, discarded, ended, revoked, seenBy } = forgotten;
  output.line(
    `${id} is forgotten; ${discarded} that waited for it ${discarded === 1 ? 'is' : 'are'} discarded.`,
  );
  output.line(
    ended ? 'The provider has no connection of it any more.' : 'The provider did not end its connection.',
  );
  for (const { connection, atProvider, ...left } of revoked) {
    const there = atProvider ? 'took its tokens back' : 'did not say that it took its tokens back';
    output.prose('', `Connection ${connection} saw nobody else and is erased; the provider ${there}.`);
    showUnattended(output, left);
  }
  if (seenBy.length > 0) output.line(`Still seen by: ${seenBy.join(', ')}.`);
  if (ended) {
    output.next('What needs a person: tramline alerts');
    return;
  }
  const comesBack = seenBy.length === 0 ? '' : ', or it comes back with the next listing';
  output.next(`Its customer ends the connection at ${manageUrl ?? 'the provider'}${comesBack}.`);
}

function show(output: CommandContext['output'], nowMs: number, organization: OrganizationView): void {
  if (output.json) {
    output.value(organization);
    return;
  }
  const {
    history = [],
    announced = [],
    since,
    forgotten: _,
    concerns: __,
    seen: ___,
    ...more
  } = organization;
  const mustActBy = announced.map((time) => agedTime(time, nowMs)).join(', ');
  const shown = {
    ...more,
    name: shownName(organization.name),
    access: accessOf(organization),
    since: since && agedTime(since, nowMs),
    ...(mustActBy === '' ? {} : { mustActBy }),
  };
  // What is not known takes no line, as in tables.
  for (const [name, value] of Object.entries(shown)) {
    const text = String(value ?? '');
    if (visible(text).trim() !== '') output.prose(`${name.padEnd(11)} `, text);
  }
  const [first] = history;
  if (first !== undefined) output.line('');
  if (first !== undefined && first.nth > 1)
    output.prose('', `${first.nth - 1} earlier changes are no longer kept.`);
  for (const change of history) {
    output.prose(`${shortTime(change.at)}  `, `${change.from} → ${change.to}, said by ${wordOf(change)}`);
  }
  if (isUnseen(organization))
    output.next(`No connection was shown it yet. Whoever sees it there: tramline connect`);
  else if (organization.access !== 'active') output.next(whatToDo(organization, nowMs));
  else
    output.next(
      announced.length > 0 ? whatIsAnnounced(organization) : 'What needs a person: tramline alerts',
    );
}

/** What it must do the provider tells nobody but its own people. */
function whatIsAnnounced({ id, name, manageUrl = null }: OrganizationView): string {
  const who = whoIs({ id, name });
  const page = manageUrl === null ? '' : ` Its page: ${manageUrl}`;
  return `Tell ${who} until when it must act at the provider: it sees there what, once it signs in.${page}`;
}

/**
 * One sentence: who must do what since when, and how to go on; `others` wait for the same consent. The name takes at most 60
 * columns of it.
 */
export function whatToDo(organization: OrganizationView, nowMs: number, others = 0): string {
  const { id, name, access, reason, actionUrl, message, since, forgotten, connection, parked } = organization;
  if (forgotten && parked > 0)
    return `Organization ${id} was forgotten, and ${parked} ${parked === 1 ? 'waits' : 'wait'} until it connects again or, where that was broken off, until it is repeated: tramline organizations forget ${shellWord(id)}`;
  if (forgotten) return `Organization ${id} was forgotten: nobody has to act, unless it connects again.`;
  const who = whoIs({ id, name }).replace(/^organization /, 'Organization ');
  const said = message === null ? '' : ` (${quoted(message)})`;
  // Nothing may stand against the address: it is copied.
  const where = actionUrl === null ? ';' : ` at ${actionUrl} –`;
  const blocked = since === null ? '' : `, blocked since ${agedTime(since, nowMs)},`;
  // A new consent makes it be asked at once. The command stands last, where it stays whole.
  if (access === 'reauthorize') {
    const need = others === 0 ? `${who}${blocked} needs` : `${who} and ${others} more${blocked} need`;
    return `${need} a new consent${said}: ${linkOf(connection, message)}`;
  }
  const asked = reason === 'terms' ? 'accept the terms' : 'do what the provider requires';
  const needs = {
    active: 'need do nothing;',
    'terms-required': `must ${asked}${said}${where}`,
    'not-connected': `must connect${where}`,
  }[access];
  return `${who}${blocked} ${needs} then: tramline organizations probe ${shellWord(id)}`;
}

/** The provider's words as such; what we add to them of OAuth 1 stands beside them. */
function quoted(message: string): string {
  if (!message.endsWith(oauth1Ending)) return `“${message}”`;
  const words = message.slice(0, -oauth1Ending.length).replace(/\. $/, '');
  return words === '' ? oauth1Ending : `“${words}”. ${oauth1Ending}`;
}

/** Of a connection that is erased nobody knows the user. Where OAuth 1 may have ended, the switch-over is named as well. */
function linkOf(connection: string | null, message: string | null): string {
  if (connection === null) return 'send somebody who sees it there the link of tramline connect';
  const same = `send its user the link of tramline connect --user ${shellValue(connection)}`;
  return message?.includes(oauth1Ending)
    ? `${same}, or, where the provider has ended OAuth 1, of tramline connect --auth oauth2 --user ${shellValue(connection)}`
    : same;
}
