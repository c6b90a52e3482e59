/**
 * What every part of a run has at hand: where it is, how it counts and what it does about an answer that is no page. A
 * refusal is heard as a hint, what passes is waited for, and a run that cannot go on is stopped. Reads nothing itself.
 */
import type { Answer } from '../model/answer';
import type { ListingName, OpenedListing, SyncTrouble } from '../model/sync';
import { backoffMs } from '../tools/backoff';
import type { PartialEnd, SeenOrganization, SyncDoors, SyncOptions } from './doors';
import type { Progress } from './progress';
import type { Slots } from './slots';

/** What each step of a run has at hand. */
export interface RunContext {
  doors: SyncDoors;
  options: SyncOptions;
  progress: Progress;
  run: number;
  signal: AbortSignal;
  /** Waits for a place among the requests for pages. */
  ask: Slots;
}

export interface Walk extends RunContext {
  /** Waits for a place among the listings in hand. */
  slot: Slots;
  /** Organizations that refused while they were listed, or that an operator let go of meanwhile. */
  refusing: Set<string>;
  /** Of them, those that another connection may still show. */
  closed: Set<string>;
  /** Listings in a row that the provider did not answer. */
  unanswered: number;
}

export interface Place {
  organization: SeenOrganization;
  connectionId: string;
}

/** So many unanswered listings in a row are an outage: the rest can wait. */
const unansweredMax = 5;
const coolDownWaitsMax = 20;

/** Ends the run early; the store keeps it for the next one. */
export class RunStopped extends Error {}

/** Throws `RunStopped` when nothing more may be asked: also after 5 unanswered listings in a row. */
export function mustGoOn({ doors, signal, unanswered }: Walk): void {
  if (signal.aborted) throw new RunStopped('the process stops');
  if (unanswered >= unansweredMax) throw new RunStopped('the provider does not answer');
  const forbidden = doors.forbidden();
  if (forbidden !== null) throw new RunStopped(forbidden);
}

/** Resolves when the provider may be asked: at once, or after the pause that it asked for, however long it has become. */
async function passPause({ doors, progress, signal }: RunContext): Promise<void> {
  for (let leftMs = doors.coolDownMs(); leftMs > 0 && !signal.aborted; leftMs = doors.coolDownMs()) {
    progress.waitsUntilMs = doors.clock.nowMs() + leftMs;
    await doors.clock.wait(leftMs, signal);
  }
  progress.waitsUntilMs = null;
}

/** The pages of a listing, none of them asked for in a pause. */
export async function* inTurn<Page>(
  context: RunContext,
  pages: AsyncIterable<Page>,
): AsyncGenerator<Page, void> {
  const all = pages[Symbol.asyncIterator]();
  try {
    for (;;) {
      await passPause(context);
      const { done, value } = await all.next();
      if (done === true) return;
      yield value;
    }
  } finally {
    await all.return?.();
  }
}

/**
 * An organization as it is listed to a connection's user today; what fails for the moment is asked for again. Bounds as
 * `waitOut` does.
 */
export async function organizationToday(context: RunContext, id: string, connectionId: string) {
  const { doors, signal } = context;
  const tries: Tries = { failures: 0, waits: 0 };
  for (;;) {
    await passPause(context);
    const found = await doors.provider.organization(id, connectionId, signal);
    if (!('answer' in found) || signal.aborted || !(await waitOut(context, found.answer, tries)))
      return found;
  }
}

/** How often one listing was asked for again so far. */
export interface Tries {
  failures: number;
  waits: number;
}

/**
 * Waits as long as the answer makes it sensible: later and later after failures, through the cool-down after a 429.
 * False, at once, for what does not pass by waiting, and when that was done often enough. At most 20 cool-downs.
 */
export async function waitOut(context: RunContext, answer: Answer | null, tries: Tries): Promise<boolean> {
  const { doors, options, signal } = context;
  if (answer?.kind === 'rate-limited' && tries.waits < coolDownWaitsMax) {
    tries.waits += 1;
    await passPause(context);
    return true;
  }
  if (answer?.kind !== 'transient' || tries.failures >= options.repeatsMax) return false;
  await doors.clock.wait(backoffMs(tries.failures, options.backoff, options.random), signal);
  tries.failures += 1;
  return true;
}

/** It failed for the moment: the same may be answered later. */
export function isPassing(answer: Answer | null): boolean {
  return answer?.kind === 'transient' || answer?.kind === 'rate-limited' || answer?.kind === 'aborted';
}

/** What has to happen before it can be read, as far as the answer says. */
export function troubleOf(answer: Answer | null): SyncTrouble {
  switch (answer?.kind) {
    case 'action-required':
    case 'not-connected':
    case 'reauthorize':
      return 'customer-must-act';
    default:
      return isPassing(answer) ? 'later' : 'failed';
  }
}

/**
 * A refusal is a hint to probe; only a probe's answer changes an organization's access. What is refused to one user may
 * be shown to another: terms and the client's own licence are the same for all.
 */
async function hearRefusal(
  { doors, refusing, closed }: Walk,
  organizationId: string,
  answer: Answer | null,
): Promise<void> {
  switch (answer?.kind) {
    case 'action-required':
    case 'not-connected':
      refusing.add(organizationId);
      await doors.store.requestProbe(organizationId, false);
      doors.due();
      break;
    case 'reauthorize':
      refusing.add(organizationId);
      await hearRefusedToken({ doors }, answer);
      break;
    case 'no-access':
    case 'no-connection':
      break;
    default:
      return;
  }
  if (answer.kind !== 'action-required') closed.add(organizationId);
}

/** What was not read to its end: a refusal is heard, and one of the client stands until it is answered otherwise. */
export async function leaveUnread(
  walk: Walk,
  { scope, organizationId }: ListingName,
  { answer, reason, detail }: Omit<PartialEnd, 'partial'>,
): Promise<void> {
  const { doors, progress } = walk;
  await hearRefusal(walk, organizationId, answer);
  if (answer?.kind === 'client-refused') progress.refuse(scope, answer.message, doors.clock.nowMs());
  else if (!isPassing(answer) && reason !== 'forbidden') progress.refused.delete(scope);
  progress.leavePartial(scope, detail, reason === 'changed-meanwhile' ? 'later' : troubleOf(answer));
}

/** A page came: where the client was refused it, what else waits since then may be read as well. */
export function hearServed({ doors, progress }: RunContext, { scope }: Pick<ListingName, 'scope'>): void {
  if (progress.refused.delete(scope)) doors.clientServed();
}

/** Of a token that was shown, and refused; other answers say nothing of it. */
export async function hearRefusedToken(
  { doors }: Pick<RunContext, 'doors'>,
  answer: Answer | null,
): Promise<void> {
  if (answer?.kind !== 'reauthorize' || answer.sealedToken === null) return;
  await doors.refused(answer.connectionId, answer.message, answer.sealedToken);
}

export async function open({ doors, progress, run }: Walk, names: ListingName[]) {
  const opened = await doors.store.openListings(run, names);
  progress.listings.met(opened.listings.filter(({ ended }) => !ended));
  return opened;
}

/** Writes that a listing which holds no documents itself came to its end, wherever it stands: nothing of it can be lost. */
export async function endListing(
  { doors, progress, run }: Walk,
  listing: OpenedListing,
  revision: number,
  connectionId: string,
): Promise<void> {
  const after = { end: true, whole: true, changeToken: null } as const;
  const listingId = listing.id;
  const held = { from: null, drafts: [], hints: [], after };
  await doors.store.finishPage({ run, listingId, revision, connectionId, ...held });
  progress.listings.readToEnd(listing);
}
