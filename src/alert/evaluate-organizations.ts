/**
 * Signals for organizations that cannot be read: one for each organization and cause, one for each connection whose
 * consent was refused, one for many at once. Names of organizations stand in annotations only. Pure.
 */

import type { AlertInputs, Covers, IdentityLabels, Severity, Signal } from '../model/alert';
import { asSentence } from '../model/as-sentence';
import { oauth1Ending } from '../model/connection';
import type { Cause } from '../model/organization';
import { withoutAddresses } from '../model/without-addresses';
import {
  announcedRow,
  manyOrganizationsRow,
  type OrganizationRow,
  organizationRows,
  revokedRow,
} from './catalogue';
import { findStorm, type Storm } from './find-storm';
import { subjectOf } from './fingerprint';
import { firstStepFor } from './first-step';
import { type KeptUntil, keptUntil } from './kept-until';
import { plainAddress, plainMessage, plainName, plainTime } from './plain-text';
import { signalOfRow } from './signal-of-row';

export type Blocked = AlertInputs['blocked'][number];

export interface OrganizationOptions {
  /** More organizations of one cause than this within `groupWithinMs` are one incident. */
  groupAbove: number;
  groupWithinMs: number;
  /** Per cause whose many are one open incident: until when a state must have begun to belong to it. */
  openStorms: Partial<Record<Cause, number>>;
  /** How long waiting notifications are kept one by one. */
  journalMs: number;
  /** Where an organization's connection is looked after at the provider; null where nobody here knows. Left out: nobody does. */
  manageUrl?(organizationId: string): string | null;
  nowMs: number;
}

/** In place of a time. */
const nothingWaits = { until_when: 'nothing waits yet' };

/** How many organizations an annotation names. */
const namedMax = 20;

const blockNames = Object.values(organizationRows).map(({ name }) => name);

/**
 * While an organization is blocked, whatever else was told of it goes on in the alert that tells why it is now. So does
 * what was announced to it, where this is the action that it is blocked for.
 */
function coveredNames(cause: Cause): string[] {
  const isAction = cause === 'terms' || cause === 'required-action';
  return isAction ? [...blockNames, announcedRow.name] : blockNames;
}

/** One state that one alert tells of: an organization, or a connection with all organizations it was to read. */
interface Incident {
  labels: IdentityLabels;
  sinceMs: number;
  organizations: Blocked[];
}

/**
 * Signals for the organizations that concern someone; the others are only listed elsewhere. An annotation names at most
 * 20 of them.
 */
export function organizationSignals(blocked: Blocked[], options: OrganizationOptions): Signal[] {
  const byCause = Map.groupBy(
    blocked.filter((organization) => organization.concerns),
    (organization) => organization.cause,
  );
  return [...byCause].flatMap(([cause, organizations]) => {
    const row = organizationRows[cause];
    const incidents = cause === 'refused-grant' ? perConnection(organizations) : organizations.map(alone);
    const storm = findStorm(beganMs(incidents, options.groupWithinMs), options.openStorms[cause] ?? null, {
      above: options.groupAbove,
      withinMs: options.groupWithinMs,
    });
    if (storm === null) return incidents.map((incident) => signalOf(row, incident, options));
    const inside = incidents.filter((incident) => incident.sinceMs <= storm.untilMs);
    const outside = incidents.filter((incident) => incident.sinceMs > storm.untilMs);
    return [
      stormSignal(cause, row, inside, storm, options),
      ...outside.map((incident) => signalOf(row, incident, options)),
    ];
  });
}

function alone(organization: Blocked): Incident {
  const labels = { organization_id: organization.organizationId };
  return { labels, sinceMs: organization.sinceMs, organizations: [organization] };
}

/** A refused consent is one incident, however many organizations it was for. */
function perConnection(organizations: Blocked[]): Incident[] {
  const known = organizations.filter((organization) => organization.connectionId !== null);
  const unknown = organizations.filter((organization) => organization.connectionId === null);
  const groups = Map.groupBy(known, (organization) => organization.connectionId as string);
  const incidents = [...groups].map(([connectionId, members]) => ({
    labels: { connection_id: withoutAddresses(connectionId) },
    sinceMs: earliest(members.map((organization) => organization.sinceMs)),
    organizations: members,
  }));
  return [...incidents, ...unknown.map(alone)];
}

/**
 * When each organization was blocked. Of a consent that was refused while no other was, one time stands for all: however
 * many organizations it was for, they are one incident of one user.
 */
function beganMs(incidents: Incident[], withinMs: number): number[] {
  const inOrder = incidents.toSorted((left, right) => left.sinceMs - right.sinceMs);
  return inOrder.flatMap(({ sinceMs, organizations }, index) => {
    const before = inOrder[index - 1]?.sinceMs ?? Number.NEGATIVE_INFINITY;
    const after = inOrder[index + 1]?.sinceMs ?? Number.POSITIVE_INFINITY;
    const isAlone = sinceMs - before > withinMs && after - sinceMs > withinMs;
    return isAlone ? [sinceMs] : organizations.map((organization) => organization.sinceMs);
  });
}

/** What is said of these: a connection that an operator revoked is no refusal of the provider's. */
function rowOf(row: OrganizationRow, organizations: Blocked[]): OrganizationRow {
  return organizations.every(({ revoked }) => revoked) ? revokedRow : row;
}

function signalOf(ofCause: OrganizationRow, incident: Incident, options: OrganizationOptions): Signal {
  const row = rowOf(ofCause, incident.organizations);
  const [first] = incident.organizations as [Blocked];
  const id = incident.labels.connection_id ?? first.organizationId;
  const kept = keptOf(incident.organizations, row.severity, options);
  const isAction = first.cause === 'required-action';
  // The words about a refused token stay out of pages.
  const message = isAction || first.cause === 'terms' ? first.message : null;
  const place = isAction ? actionPlace(first, options) : actionUrl(incident.organizations);
  const isNowhere = isAction && place.action_url === undefined;
  const sentences = [
    `${subject(incident.organizations)} blocked since ${plainTime(incident.sinceMs)}: ${becauseOf(row, incident.organizations)}.`,
    message === null ? '' : asSentence(`The provider says: "${plainMessage(message, 500)}"`),
    isAction && plainAddress(first.actionUrl) === null ? unnamedWords(isNowhere) : '',
    endsOAuth1(incident.organizations) ? oauth1Ending : '',
    waiting(incident.organizations),
    kept?.sentence ?? '',
    `What ends it: ${remedyOf(row, incident.organizations)}; reading then goes on by itself.`,
  ];
  const step = isNowhere ? row.firstStep.replace(' and address', '') : row.firstStep;
  const told = {
    labels: incident.labels,
    sentences,
    further: { ...place, ...(kept?.annotations ?? nothingWaits) },
    sinceMs: incident.sinceMs,
  };
  const severity = kept?.severity ?? row.severity;
  const signal = signalOfRow({ ...row, severity, firstStep: firstStepFor(step, plainName(id, 80)) }, told);
  return { ...signal, covers: coversOf(first.cause, [incident], null) };
}

function coversOf(cause: Cause, incidents: Incident[], untilMs: number | null): Covers {
  const subjects = incidents.flatMap(({ labels, organizations }) =>
    labels.organization_id === undefined
      ? [labels, ...organizations.map(({ organizationId }) => ({ organization_id: organizationId }))]
      : [labels],
  );
  return { names: coveredNames(cause), subjects: subjects.map(subjectOf), untilMs };
}

function stormSignal(
  cause: Cause,
  ofCause: OrganizationRow,
  incidents: Incident[],
  storm: Storm,
  options: OrganizationOptions,
): Signal {
  const organizations = incidents
    .flatMap((incident) => incident.organizations)
    .sort(
      (left, right) => left.sinceMs - right.sinceMs || (left.organizationId < right.organizationId ? -1 : 1),
    );
  const row = rowOf(ofCause, organizations);
  const isAction = cause === 'required-action';
  // Of one alone it is said apart whether there is an address.
  const ofAction = isAction ? { ...row, remedy: `${row.remedy} at the address of this alert` } : row;
  const kept = keptOf(organizations, manyOrganizationsRow.severity, options);
  const count =
    organizations.length === 1 ? '1 organization is' : `${organizations.length} organizations are`;
  const sentences = [
    `${count} blocked, the first since ${plainTime((organizations[0] as Blocked).sinceMs)}: ${becauseOf(row, organizations)}.`,
    saidToMany(cause, organizations),
    ofConsents(incidents),
    waiting(organizations),
    kept?.sentence ?? '',
    `What ends it for each: ${remedyOf(ofAction, organizations)}; reading then goes on by itself.`,
    `Among them: ${named(organizations)}.`,
  ];
  const signal = signalOfRow(manyOrganizationsRow, {
    labels: { cause },
    sentences,
    further: { ...actionUrl(organizations), ...(kept?.annotations ?? nothingWaits) },
    sinceMs: storm.sinceMs,
  });
  return { ...signal, covers: coversOf(cause, incidents, storm.untilMs) };
}

/**
 * What the provider says to most of those that it asks for terms or an action, or to the first where no words are said
 * more often than others; then how many it tells something else.
 */
function saidToMany(cause: Cause, organizations: Blocked[]): string {
  if (cause !== 'terms' && cause !== 'required-action') return '';
  const words = organizations.map(({ message }) => (message === null ? '' : plainMessage(message, 500)));
  const told = Map.groupBy(
    words.filter((said) => said !== ''),
    (said) => said,
  );
  // Equal counts keep their order.
  const [most] = [...told].sort(([, left], [, right]) => right.length - left.length);
  if (most === undefined) return '';
  const [said, { length: count }] = most;
  const others = organizations.length - count;
  if (others === 0) return asSentence(`The provider says: "${said}"`);
  const toOthers = others === 1 ? '1 other' : `${others} others`;
  return (
    `${asSentence(`To ${count} of them the provider says: "${said}"`)} To ${toOthers} it says something else or ` +
    'nothing: `tramline organizations get ID` shows what.'
  );
}

/** Of a refused consent only this is told: the provider's words about a token stay out of pages. */
function endsOAuth1(organizations: Blocked[]): boolean {
  return organizations.some(
    ({ cause, message }) => cause === 'refused-grant' && message?.includes(oauth1Ending) === true,
  );
}

/** null while nothing waits: then there is nothing that time could take. */
function keptOf(
  organizations: Blocked[],
  severity: Severity,
  { journalMs, nowMs }: OrganizationOptions,
): KeptUntil | null {
  const waits = organizations.filter(({ parked }) => parked > 0);
  if (waits.length === 0) return null;
  const ends = waits.flatMap(({ consentEndsAtMs }) => consentEndsAtMs ?? []);
  const oldest = {
    sinceMs: earliest(waits.map(({ waitsSinceMs, sinceMs }) => waitsSinceMs ?? sinceMs)),
    consentEndsAtMs: ends.length === 0 ? null : earliest(ends),
  };
  return keptUntil(oldest, journalMs, severity, nowMs);
}

/** Of at least one, and of more than a call takes as arguments. */
function earliest(times: number[]): number {
  return times.reduce((first, time) => Math.min(first, time));
}

function subject(organizations: Blocked[]): string {
  if (organizations.length > 1) return `${organizations.length} organizations (${named(organizations)}) are`;
  return `${nameOf(organizations[0] as Blocked)} is`;
}

function becauseOf({ because }: OrganizationRow, { length }: Blocked[]): string {
  return length === 1 ? because.one : because.several;
}

function nameOf(organization: Blocked): string {
  const name = plainName(organization.name ?? '', 80);
  const id = plainName(organization.organizationId, 80);
  return name === '' ? `Organization ${id}` : `${name} (organization ${id})`;
}

function named(organizations: Blocked[]): string {
  const names = organizations.slice(0, namedMax).map(nameOf).join(', ');
  const more = organizations.length - namedMax;
  return more > 0 ? `${names} and ${more} more` : names;
}

/** Whose users have to act, where many were refused. */
function ofConsents(incidents: Incident[]): string {
  const isListed = ({ labels, organizations }: Incident) =>
    labels.connection_id !== undefined && organizations.some(({ revoked }) => !revoked);
  const count = incidents.filter(isListed).length;
  return count < 2
    ? ''
    : `They are read with ${count} consents: \`tramline connections list\` names their users.`;
}

function waiting(organizations: Blocked[]): string {
  const tasks = organizations.reduce((sum, organization) => sum + organization.parked, 0);
  if (tasks === 0) return 'No task waits yet; what arrives meanwhile is kept.';
  return tasks === 1 ? '1 task waits and is kept.' : `${tasks} tasks wait and are kept.`;
}

/** Where there is no one address it is said where to find each. */
function remedyOf({ remedy }: OrganizationRow, organizations: Blocked[]): string {
  if (actionUrl(organizations).action_url !== undefined) return remedy;
  return remedy.replace(
    'at the address of this alert',
    'at the address that `tramline organizations get ID` shows',
  );
}

/** The one place where a person acts; none when the organizations differ in it. */
function actionUrl(organizations: Blocked[]): { action_url?: string } {
  const addresses = new Set(organizations.map((organization) => organization.actionUrl));
  const address = addresses.size === 1 ? plainAddress([...addresses][0] ?? null) : null;
  return address === null ? {} : { action_url: address };
}

/** What the provider names for its action; otherwise the page of the organization's connection, from where it is found. */
function actionPlace(organization: Blocked, options: OrganizationOptions): { action_url?: string } {
  const { actionUrl: named, organizationId } = organization;
  const address = plainAddress(named) ?? plainAddress(options.manageUrl?.(organizationId) ?? null);
  return address === null ? {} : { action_url: address };
}

function unnamedWords(isNowhere: boolean): string {
  return isNowhere
    ? 'The provider named no address for it: it shows the action to whoever may act for the organization and signs in there.'
    : 'The provider named no address for it: that of this alert is the page of its connection at the provider.';
}
