/**
 * Signals for Required Customer Actions that are announced for a time: a warning before the block, more urgent as the
 * time comes near. Over when the organization is blocked, which is another alert, or when the time has passed and it is
 * still read. Many at once are one. Pure.
 */
import type { AlertInputs, IdentityLabels, Signal } from '../model/alert';
import { announcedRow } from './catalogue';
import { subjectOf } from './fingerprint';
import { plainName, plainTime } from './plain-text';

type Announced = AlertInputs['announced'][number];

const dayMs = 86_400_000;
const aheadMs = 30 * dayMs;
const urgentMs = 2 * dayMs;
/** Whoever is not blocked a day after the time has acted. */
const afterMs = dayMs;
const namedMax = 20;

/** One signal for each organization whose time is less than thirty days ahead; one for all above `groupAbove`. */
export function announcedSignals(announced: Announced[], groupAbove: number, nowMs: number): Signal[] {
  const near = announced.filter(({ dueAtMs }) => dueAtMs - nowMs < aheadMs && nowMs - dueAtMs < afterMs);
  return near.length > groupAbove ? [manySignal(near, nowMs)] : near.map((one) => signalOf(one, nowMs));
}

function signalOf(one: Announced, nowMs: number): Signal {
  return signal(
    { organization_id: one.organizationId },
    `${nameOf(one)} ${one.dueAtMs > nowMs ? 'must act' : 'was to act'} at the provider by ${plainTime(one.dueAtMs)}.`,
    plainName(one.organizationId, 80),
    one,
    nowMs,
  );
}

function manySignal(near: Announced[], nowMs: number): Signal {
  const soonest = near.toSorted((left, right) => left.dueAtMs - right.dueAtMs);
  const [first] = soonest as [Announced];
  const named = soonest.slice(0, namedMax).map(nameOf).join(', ');
  const all = signal(
    { scope: 'many' },
    `${near.length} organizations must act at the provider, the first by ${plainTime(first.dueAtMs)}: ` +
      `${named} and ${near.length - Math.min(namedMax, near.length)} more.`,
    'ID',
    first,
    nowMs,
  );
  const subjects = near.map(({ organizationId }) => subjectOf({ organization_id: organizationId }));
  return { ...all, covers: { names: [announcedRow.name], subjects, untilMs: first.dueAtMs } };
}

function signal(
  labels: IdentityLabels,
  who: string,
  id: string,
  { dueAtMs }: Announced,
  nowMs: number,
): Signal {
  return {
    name: announcedRow.name,
    severity: dueAtMs - nowMs < urgentMs ? 'critical' : announcedRow.severity,
    labels,
    annotations: {
      summary: announcedRow.summary,
      description: `${who} Until then it is read as always; what happens after it without the action, the provider decides.`,
      owner: announcedRow.owner,
      first_step: announcedRow.firstStep.replace('{id}', id),
      until_when: plainTime(dueAtMs),
    },
    sinceMs: nowMs,
  };
}

function nameOf({ organizationId, name }: Announced): string {
  const id = plainName(organizationId, 80);
  const shown = plainName(name ?? '', 80);
  return shown === '' ? `Organization ${id}` : `${shown} (organization ${id})`;
}
