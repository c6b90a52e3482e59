/**
 * The times by which the customer of an organization is announced to act, as its row keeps them: a set, in which none takes
 * the place of another. A time that is past is kept until a success shows that its customer acted. Pure; no statements here.
 */
import type { CauseSet, Observation } from '../model/organization';

export interface AnnouncedAction {
  dueAtMs: number;
  /** Done before its time: the same one, announced again, is not due again. */
  met: boolean;
}

/**
 * The columns of an organization: `announced` holds them all, as JSON; null when there is none. The others are what
 * versions before it know: the nearest that is due, and the nearest that is met, as ISO 8601.
 */
export interface AnnouncedColumns {
  announced: string | null;
  action_due_at: string | null;
  action_met: string | null;
}

/** So many of an organization are kept, the nearest. */
const keptMax = 100;

/** The nearest first, with what a version before `announced` has written meanwhile. */
export function announcedOf(row: AnnouncedColumns): AnnouncedAction[] {
  const actions = row.announced === null ? [] : (JSON.parse(row.announced) as AnnouncedAction[]);
  const dueAtMs = Date.parse(row.action_due_at ?? '');
  const metAtMs = Date.parse(row.action_met ?? '');
  const isKnown = Number.isNaN(dueAtMs) || actions.some((action) => action.dueAtMs === dueAtMs);
  const all = isKnown ? actions : [...actions, { dueAtMs, met: false }];
  return inOrder(all.map((action) => (action.dueAtMs === metAtMs ? { ...action, met: true } : action)));
}

/** The times that nothing has met yet, the nearest first. */
export function dueTimesOf(row: AnnouncedColumns): number[] {
  return announcedOf(row).flatMap(({ dueAtMs, met }) => (met ? [] : dueAtMs));
}

export function announcedColumns(actions: AnnouncedAction[]): AnnouncedColumns {
  const nearest = (met: boolean) => {
    const action = actions.find((one) => one.met === met);
    return action === undefined ? null : new Date(action.dueAtMs).toISOString();
  };
  return {
    announced: actions.length === 0 ? null : JSON.stringify(actions),
    action_due_at: nearest(false),
    action_met: nearest(true),
  };
}

/**
 * A time that is past when it is announced warns of nothing: the probe says what came of it. The nearest 100 of an
 * organization are kept.
 */
export function withAnnounced(
  actions: AnnouncedAction[],
  dueAt: string | null,
  nowMs: number,
): AnnouncedAction[] {
  const dueAtMs = Date.parse(dueAt ?? '');
  if (!(dueAtMs > nowMs) || actions.some((action) => action.dueAtMs === dueAtMs)) return actions;
  return inOrder([...actions, { dueAtMs, met: false }]).slice(0, keptMax);
}

/**
 * What is left of them after an observation. A success meets those whose time is past. One that ends a block for terms or
 * another action shows that the customer acted: for one that is past, else for the nearest. Before its time nothing else
 * does: an organization is read then whether its customer acted or not, and who connected it again or gave a new consent
 * did something else.
 */
export function announcedAfter(
  actions: AnnouncedAction[],
  current: CauseSet,
  { found }: Observation,
  nowMs: number,
): AnnouncedAction[] {
  if (found.cause !== null) return actions;
  const ahead = actions.filter(({ dueAtMs }) => dueAtMs > nowMs);
  const acted = current.terms !== undefined || current['required-action'] !== undefined;
  const wasPast = actions.some(({ dueAtMs, met }) => !met && dueAtMs <= nowMs);
  const next = acted && !wasPast ? ahead.find(({ met }) => !met) : undefined;
  return ahead.map((action) => (action === next ? { ...action, met: true } : action));
}

/** When an organization that may be read is asked again whether its customer acted: at the next time that is announced. */
export function askedAtDueMs(actions: AnnouncedAction[], nowMs: number): number | null {
  return actions.find(({ dueAtMs, met }) => !met && dueAtMs > nowMs)?.dueAtMs ?? null;
}

function inOrder(actions: AnnouncedAction[]): AnnouncedAction[] {
  return actions.toSorted((left, right) => left.dueAtMs - right.dueAtMs);
}
