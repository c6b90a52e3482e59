/**
 * Whose trouble a failure is, so that an item is aged by its own failures only. A failure is the item's own once another
 * read through the same origin and connection succeeded since the item's last attempt. An origin at which everybody fails
 * is left alone but for a trial now and then, and so is what failed of an organization that only fails: others are asked
 * meanwhile. Memory, bounded by the number of origins and connections, and so many organizations.
 */
import { shownAddress } from '../model/shown-address';
import {
  count,
  type Failing,
  hold,
  isOfAll,
  isOfMany,
  isOver,
  lastsMs,
  newFailing,
  type Reading,
  setBack,
  takeTrial,
  waitMs,
} from './failing';

export interface ProviderTrouble {
  name: 'client-refused' | 'organization-unread' | 'provider-unavailable' | 'rate-limited';
  sinceMs: number;
  detail: string;
  labels: Record<string, string>;
}

export interface Outages {
  /** Milliseconds that this read is left alone; 0 when it may be made: then it is the trial where one is needed. */
  heldMs(reading: Reading, nowMs: number): number;
  /** How long what failed is still left alone; asking takes no trial. */
  pauseMs(reading: Reading, nowMs: number): number;
  /** True when this ended a hold: what waited for it is to be made due. */
  succeeded(reading: Reading, nowMs: number): boolean;
  failed(reading: Reading, detail: string, nowMs: number): void;
  /** Is a failure of this read now its own? */
  isOwn(reading: Pick<Reading, 'origin' | 'connectionId' | 'lastAttemptMs'>): boolean;
  /** What the store's clock said just now: times of failed attempts are its, and ours may be another. */
  storeTold(storeMs: number, nowMs: number): void;
  /** What lasts so long that a person should know. */
  troubles(nowMs: number): ProviderTrouble[];
  /** The clock was set back by so much: what is known was so much before. */
  setBack(byMs: number): void;
}

/** The failures of one organization alone may be its own: longer, for somebody else to be answered meanwhile. */
const loneLastsMs = 300_000;
/** Longer than the hour between two syncs, which read something else of each organization and so decide whose it is. */
const unreadMs = 4_500_000;
/** Of the organizations that only fail, the rest waits by its own times alone. */
const organizationsMax = 1000;
const namedMax = 3;

/** Of one origin at most 1,000 organizations that fail are known. */
export function makeOutages(random: () => number): Outages {
  const origins = new Map<string, Failing>();
  /** By origin and organization; '' where it is not known whose. */
  const organizations = new Map<string, Map<string, Failing>>();
  const lastSuccess = new Map<string, number>();

  let storeAheadMs = 0;

  const hasSucceededSince = (name: string, storeMs: number) =>
    (lastSuccess.get(name) ?? 0) > storeMs - storeAheadMs;
  const isOwn: Outages['isOwn'] = ({ origin, connectionId, lastAttemptMs }) =>
    lastAttemptMs !== null && hasSucceededSince(`${origin} ${connectionId}`, lastAttemptMs);
  /** What holds this read; a first attempt shows whether its organization fails with all that it has. */
  const holdOf = ({ origin, organizationId, lastAttemptMs }: Reading, nowMs: number): Failing | null => {
    const ofAll = origins.get(origin);
    if (ofAll !== undefined && isOfAll(ofAll)) return isOver(ofAll, nowMs) ? null : ofAll;
    const failing = organizations.get(origin)?.get(organizationId ?? '');
    if (failing === undefined || lastAttemptMs === null) return null;
    return isOfMany(failing) && !isOver(failing, nowMs) ? failing : null;
  };

  return {
    heldMs(reading, nowMs) {
      const failing = holdOf(reading, nowMs);
      return failing === null ? 0 : takeTrial(failing, reading.address, nowMs, random);
    },
    pauseMs(reading, nowMs) {
      const failing = holdOf({ ...reading, lastAttemptMs: nowMs }, nowMs);
      return failing === null ? 0 : waitMs(failing, reading.address, nowMs);
    },
    succeeded({ origin, connectionId, organizationId }, nowMs) {
      lastSuccess.set(`${origin} ${connectionId}`, nowMs);
      lastSuccess.set(origin, nowMs);
      const ofAll = origins.get(origin);
      origins.delete(origin);
      const known = organizations.get(origin);
      const failing = known?.get(organizationId ?? '');
      known?.delete(organizationId ?? '');
      const ended = ofAll !== undefined && isOfAll(ofAll);
      // While nobody was answered, no organization's failures were its own.
      if (ended || known?.size === 0) organizations.delete(origin);
      return ended || (failing !== undefined && isOfMany(failing));
    },
    failed(reading, detail, nowMs) {
      const { origin, organizationId, address, lastAttemptMs } = reading;
      // No origin was asked: a token was not to be had.
      if (origin === '') return;
      // What fails beside others that succeed says nothing of the origin, and goes on saying nothing.
      if (lastAttemptMs === null || !hasSucceededSince(origin, lastAttemptMs)) {
        const failing = gotOrSet(origins, origin, nowMs);
        count(failing, reading, detail, nowMs);
        if (isOfAll(failing)) return hold(failing, nowMs, random);
      }
      if (address === null) return;
      // Its own: it waits by its own times and ages, and nothing is to be found out any more.
      if (isOwn(reading)) return void organizations.get(origin)?.delete(organizationId ?? '');
      const known = organizations.get(origin) ?? new Map<string, Failing>();
      if (known.size >= organizationsMax && !known.has(organizationId ?? '')) return;
      organizations.set(origin, known);
      const failing = gotOrSet(known, organizationId ?? '', nowMs);
      count(failing, reading, detail, nowMs);
      if (isOfMany(failing)) hold(failing, nowMs, random);
    },
    isOwn,
    storeTold(storeMs, nowMs) {
      storeAheadMs = storeMs - nowMs;
    },
    troubles(nowMs) {
      const found = [...origins].flatMap(([origin, failing]) => unavailable(origin, failing, nowMs));
      for (const [origin, known] of organizations) {
        if (!found.some(({ labels }) => labels.origin === origin))
          found.push(...unread(origin, known, nowMs));
      }
      return found;
    },
    setBack(byMs) {
      for (const [name, atMs] of lastSuccess) lastSuccess.set(name, atMs - byMs);
      const failings = [origins, ...organizations.values()].flatMap((known) => [...known.values()]);
      for (const failing of failings) setBack(failing, byMs);
    },
  };
}

function gotOrSet(failings: Map<string, Failing>, name: string, nowMs: number): Failing {
  const known = failings.get(name);
  const failing = known === undefined || isOver(known, nowMs) ? newFailing(nowMs) : known;
  failings.set(name, failing);
  return failing;
}

/** Nobody was answered there: at most one. */
function unavailable(origin: string, failing: Failing, nowMs: number): ProviderTrouble[] {
  const { sinceMs, detail, organizations } = failing;
  if (isOver(failing, nowMs)) return [];
  const named = { name: 'provider-unavailable', sinceMs, labels: { origin } } as const;
  if (isOfAll(failing)) return nowMs - sinceMs < lastsMs ? [] : [{ ...named, detail }];
  if (!isOfMany(failing) || nowMs - sinceMs < loneLastsMs) return [];
  const [organization = 'that is not known'] = organizations;
  return [
    { ...named, detail: `Only reads of organization ${organization} were tried, and all fail: ${detail}` },
  ];
}

/** Organizations of which nothing was answered for so long that somebody should know: at most one for all. */
function unread(origin: string, known: Map<string, Failing>, nowMs: number): ProviderTrouble[] {
  const lasting = [...known].filter(
    ([, failing]) => nowMs - failing.sinceMs >= unreadMs && !isOver(failing, nowMs),
  );
  if (lasting.length === 0) return [];
  const named = lasting.slice(0, namedMax).map(([organization, { address, detail }]) => {
    const whose = organization === '' ? 'an organization that is not known' : `organization ${organization}`;
    return `${whose}, last ${shownAddress(address ?? '') ?? origin}: ${detail}`;
  });
  const more = lasting.length > namedMax ? `; and of ${lasting.length - namedMax} more` : '';
  return [
    {
      name: 'organization-unread',
      sinceMs: Math.min(...lasting.map(([, { sinceMs }]) => sinceMs)),
      detail: `Nothing that is tried is answered of ${named.join('; of ')}${more}.`,
      labels: { origin },
    },
  ];
}
