/**
 * Signals for Required Customer Actions that are announced for a time: a warning before the block, more urgent as the
 * time comes near. Over when the organization is blocked for it, which is another alert, or when the time has passed and
 * it is still read; a block for a connection or a consent ends none. Each organization is told by the nearest of its times. Many at once are one, and stay one until none of them
 * is left. Pure.
 */

import type { AlertInputs, IdentityLabels, Signal } from '../model/alert';
import { announcedPastStep, announcedRow, organizationRows, revokedRow } from './catalogue';
import { subjectOf } from './fingerprint';
import { firstStepFor } from './first-step';
import { plainAddress, plainName, plainTime } from './plain-text';
import { signalOfRow } from './signal-of-row';

type Announced = AlertInputs['announced'][number];
/** What a text says of one beside who it is. */
type Told = Pick<Announced, 'dueAtMs' | 'blockedBy' | 'revoked'>;

const dayMs = 86_400_000;
const aheadMs = 30 * dayMs;
const urgentMs = 2 * dayMs;
/** Who is still read a day after the time has acted; of who is not read nobody knows. */
const afterMs = dayMs;
const namedMax = 20;
const furtherMax = 5;

// Before its time a read that succeeds shows nothing: whether the customer acted or not, it succeeds.
const aheadWords =
  'Until then it is read as always, and nothing shows whether the action was taken; what happens after it without the ' +
  'action, the provider decides.';
const pastWords = 'What may still be read after its time has acted, and the alert of it ends.';
const unnamedWords =
  'The announcement names neither the action nor its place: the provider shows them to whoever may act for the ' +
  'organization and signs in there.';

/**
 * One signal for each organization whose time is less than thirty days ahead; one for all above `groupAbove`.
 * `openUntilMs` is the latest time that an open incident of many stands for: those until then stay one, however few
 * they become, or the last of them would page one by one. null: there is none. A text names at most 20 organizations,
 * and 5 further times of one. `manageUrl` is where an organization's connection is looked after at the provider.
 */
export function announcedSignals(
  announced: Announced[],
  groupAbove: number,
  nowMs: number,
  openUntilMs: number | null,
  manageUrl: (organizationId: string) => string | null = () => null,
): Signal[] {
  const isOpenAt = ({ dueAtMs, blockedBy }: Announced) =>
    blockedBy !== undefined || nowMs - dueAtMs < afterMs;
  const near = announced
    .filter((one) => one.dueAtMs - nowMs < aheadMs && isOpenAt(one))
    .toSorted((left, right) => left.dueAtMs - right.dueAtMs);
  const times = Map.groupBy(near, ({ organizationId }) => organizationId);
  const nearest = [...times.values()].map(([first]) => first as Announced);
  const isOpen = openUntilMs !== null && nearest.some(({ dueAtMs }) => dueAtMs <= openUntilMs);
  const [inside, outside] = isOpen
    ? [
        nearest.filter(({ dueAtMs }) => dueAtMs <= openUntilMs),
        nearest.filter(({ dueAtMs }) => dueAtMs > openUntilMs),
      ]
    : [[], nearest];
  // The further times of these organizations are part of it too: they would page one by one as the first ones are met.
  if (outside.length > groupAbove) return [manySignal(nearest, nowMs, near.at(-1)!.dueAtMs)];
  const singles = outside.map(({ organizationId }) =>
    signalOf(times.get(organizationId)!, manageUrl(organizationId), nowMs),
  );
  return isOpen ? [manySignal(inside, nowMs, openUntilMs), ...singles] : singles;
}

/** Of one organization, its times in order. */
function signalOf(times: Announced[], manageUrl: string | null, nowMs: number): Signal {
  const [one, ...further] = times as [Announced, ...Announced[]];
  const acts = one.dueAtMs > nowMs ? 'must act' : 'was to act';
  const named = further.slice(0, furtherMax).map(({ dueAtMs }) => plainTime(dueAtMs));
  const left = further.length - furtherMax;
  const more = left > 0 ? ` and ${left === 1 ? '1 more time' : `${left} more times`}` : '';
  const again = further.length > 0 ? ` It must act again by ${named.join(', ')}${more}.` : '';
  const place = plainAddress(manageUrl);
  const single = signal(
    { organization_id: one.organizationId },
    `${nameOf(one)} ${acts} at the provider by ${plainTime(one.dueAtMs)}.${again}`,
    plainName(one.organizationId, 80),
    one,
    nowMs,
  );
  return place === null ? single : { ...single, annotations: { ...single.annotations, action_url: place } };
}

/** One of each organization, the soonest first. `untilMs`: the latest time that it stands for. */
function manySignal(near: Announced[], nowMs: number, untilMs: number): Signal {
  const [first] = near as [Announced];
  const more = near.length - namedMax;
  const named = near.slice(0, namedMax).map(nameOf).join(', ');
  const all = signal(
    { scope: 'many' },
    `${near.length} organization${near.length === 1 ? '' : 's'} must act at the provider, the first by ` +
      `${plainTime(first.dueAtMs)}: ${named}${more > 0 ? ` and ${more} more` : ''}.`,
    'ID',
    // Of many each is blocked or read by itself: nothing is said of that.
    { dueAtMs: first.dueAtMs },
    nowMs,
  );
  const subjects = near.map(({ organizationId }) => subjectOf({ organization_id: organizationId }));
  const covers = { names: [announcedRow.name], subjects, untilMs };
  return { ...all, covers };
}

function signal(labels: IdentityLabels, who: string, id: string, announced: Told, nowMs: number): Signal {
  const { dueAtMs, blockedBy } = announced;
  const isPast = dueAtMs <= nowMs;
  // Who cannot be read is not shown to have acted by any answer: the customer is told still.
  const isAsked = isPast && blockedBy === undefined;
  const severity = dueAtMs - nowMs < urgentMs ? 'critical' : announcedRow.severity;
  const firstStep = firstStepFor(isAsked ? announcedPastStep : announcedRow.firstStep, id);
  const sentences = [who, outlook(isPast, announced), unnamedWords];
  const further = { until_when: plainTime(dueAtMs) };
  return signalOfRow(
    { ...announcedRow, severity, firstStep },
    { labels, sentences, further, sinceMs: nowMs },
  );
}

/** How it goes on, and what ends it. */
function outlook(isPast: boolean, { blockedBy, revoked }: Told): string {
  if (blockedBy === undefined) return isPast ? pastWords : aheadWords;
  const { because, name } = revoked === true ? revokedRow : organizationRows[blockedBy];
  return (
    `Meanwhile it is blocked for something else (${because.one}; see ${name}): what ends that does not do this, and whether ` +
    'it was done shows once it may be read again.'
  );
}

function nameOf({ organizationId, name }: Announced): string {
  const id = plainName(organizationId, 80);
  const shown = plainName(name ?? '', 80);
  return shown === '' ? `Organization ${id}` : `${shown} (organization ${id})`;
}
