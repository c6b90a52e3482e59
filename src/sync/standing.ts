/**
 * How syncs stand once a run has ended: what was left unread, by how many runs in a row, and when one of everything last
 * left nothing. What a run did not come to stays as it was. Pure.
 */
import type { ClientRefusal, SyncEnd, SyncStanding, UnreadListing } from '../model/sync';
import type { Left, Progress } from './progress';

/** As many as a run names. */
const unreadMax = 100;
const namedMax = 5;
const detailCharsMax = 300;

/**
 * `before`: null where nothing is known. At most 100 listings, with 300 characters each: those first that the client is refused,
 * and then those that are unread for longest.
 */
export function standingAfter(
  before: SyncStanding | null,
  run: Pick<Progress, 'wanted' | 'left' | 'refused' | 'stillRefused' | 'isAllRead' | 'organizations'>,
  nowMs: number,
): SyncStanding {
  const { organizationId } = run.wanted;
  const left = run.left();
  const scopes = new Set(left.map(({ scope }) => scope));
  const unread = new Map(left.filter(isUnread).map(({ scope, detail }) => [scope, detail]));
  // Where more was left than a run names, what the client is refused is not forgotten for it.
  if (left.length >= unreadMax)
    for (const [scope, { message }] of run.refused)
      if (run.stillRefused.has(scope) && !scopes.has(scope)) unread.set(scope, message ?? '');
  const brokenOff = new Set(left.filter(hidesWhatIsBelow).map(({ scope }) => scope));
  const wasComeTo = (scope: string) =>
    (organizationId === null || organizationOf(scope) === organizationId) &&
    !above(scope, run.organizations.done).some((one) => brokenOff.has(one));
  const known = (before?.unread ?? []).filter(({ scope }) => unread.has(scope) || !wasComeTo(scope));
  const standing = new Map<string, UnreadListing>(known.map((one) => [one.scope, one]));
  for (const [scope, detail] of unread) {
    const { runs, sinceMs } = standing.get(scope) ?? { runs: 0, sinceMs: nowMs };
    const refused = run.refused.get(scope);
    const told = { scope, runs: runs + 1, sinceMs, detail: detail.slice(0, detailCharsMax) };
    standing.set(scope, refused === undefined ? told : { ...told, refused });
  }
  const isWhole = organizationId === null && run.isAllRead();
  return {
    wholeAtMs: isWhole ? nowMs : (before?.wholeAtMs ?? null),
    unread: [...standing.values()]
      .toSorted((one, other) => Number(isRefused(other)) - Number(isRefused(one)))
      .slice(0, unreadMax),
  };
}

/** What users are not shown, or what no listing holds, was come to: nothing below it can be asked for. */
function hidesWhatIsBelow({ trouble }: Pick<Left, 'trouble'>): boolean {
  return trouble !== 'none' && trouble !== 'unlisted';
}

/** What the client is refused, by scope: what a run begins with. */
export function refusedIn(standing: SyncStanding | null): Map<string, ClientRefusal> {
  return new Map(standing?.unread.flatMap(({ scope, refused }) => (refused ? [[scope, refused]] : [])));
}

function isRefused({ refused }: UnreadListing): boolean {
  return refused !== undefined;
}

/** No customer or user has to act for it: another run may read it, or the provider answers it wrongly. */
function isUnread({ trouble }: Pick<Left, 'trouble'>): boolean {
  return trouble === 'later' || trouble === 'failed';
}

/**
 * What has to be read before this listing is come to: `4711/fields` and the organizations for `4711/fields/f1`. Where the
 * run is done with 4711 the organizations need not be: they broke off behind it, or at another connection.
 */
function above(scope: string, done: ReadonlySet<string>): string[] {
  if (scope === 'organizations') return [];
  const parts = scope.split('/');
  const within = parts.slice(1).map((_part, place) => parts.slice(0, place + 1).join('/'));
  return done.has(organizationOf(scope)) ? within : ['organizations', ...within];
}

/** Of the list of organizations: its own name. */
function organizationOf(scope: string): string {
  return scope.split('/', 1)[0]!;
}

/** What is told of a run. At most 5 listings are named, with at most 300 characters each. */
export function endOf(progress: Progress, run: number, nowMs: number): SyncEnd {
  const { organizationId, full, resumed, tookMs, state, listings, skipped, partial, reason } =
    progress.view(nowMs);
  const ended = progress.isAllRead() ? 'whole' : 'partial';
  return {
    outcome: state === 'stopped' ? 'stopped' : ended,
    ...{ run, organizationId, full, resumed, tookMs },
    ...progress.counts,
    listings: listings.done,
    skipped: skipped.length,
    partial: partial.length,
    named: partial
      .slice(0, namedMax)
      .map(({ scope, detail }) => ({ scope, detail: detail.slice(0, detailCharsMax) })),
    reason,
  };
}
