/**
 * The HTTP conversation with one Alertmanager: which life it is in, and posts to `/api/v2/alerts` in bounded batches. No
 * redirect is followed; an answer is read up to a bound. It owns no alert state.
 */
import { withoutEndSlashes } from '../model/without-end-slashes';
import type { PostableAlert } from './alertmanager-payload';
import { postJson, readBounded } from './post-json';

/** What belongs together in a post: all payloads of one alert, with its fingerprint. */
export interface Parcel {
  fingerprint: string;
  payloads: PostableAlert[];
}

export type ParcelOutcome = 'taken' | 'failed' | 'refused';

export interface AlertmanagerInstance {
  /** Its address without user info and query; never a secret. */
  name: string;
  /** Throws when it is away. */
  look(deadline: AbortSignal): Promise<Look>;
  /** Posts all parcels; never throws. After a network failure the rest is failed without being tried. */
  post(parcels: Parcel[], deadline: AbortSignal): Promise<InstanceAnswer>;
}

export interface Look {
  /** The time at which it says it was started, as its own text; null when it does not say. */
  life: string | null;
  /** The HTTP status of its answer. */
  status: number;
  /** How far its clock is ahead of this process's; 0 where that is little, or is not said. */
  aheadMs: number;
}

export interface InstanceAnswer {
  outcomes: Map<string, ParcelOutcome>;
  /** Of the last answer; null when the last request had none. */
  status: number | null;
}

const parcelsMax = 1_000;

/** `url` is the address before `/api/v2/`, with or without a path of its own. At most 1,000 alerts go in one post. */
export function makeAlertmanagerInstance(url: string): AlertmanagerInstance {
  const base = url.endsWith('/') ? url : `${url}/`;
  const alertsAddress = new URL('api/v2/alerts', base);
  const statusAddress = new URL('api/v2/status', base);

  async function postBatch(parcels: Parcel[], deadline: AbortSignal, answer: InstanceAnswer): Promise<void> {
    answer.status = null;
    const body = parcels.flatMap(({ payloads }) => payloads);
    // It asks nobody to wait: the repetitions have their own pace.
    const { status } = await postJson(alertsAddress, body, deadline, 0);
    answer.status = status;
    const isRefused = status === 400 || status === 413 || status === 422;
    if (isRefused && parcels.length > 1) {
      // One bad alert is answered for all, and the good ones may have been taken: halves isolate it, repeats do no harm.
      const middle = Math.ceil(parcels.length / 2);
      await postBatch(parcels.slice(0, middle), deadline, answer);
      await postBatch(parcels.slice(middle), deadline, answer);
      return;
    }
    const outcome = status >= 200 && status < 300 ? 'taken' : isRefused ? 'refused' : 'failed';
    for (const { fingerprint } of parcels) answer.outcomes.set(fingerprint, outcome);
  }

  return {
    name: nameOf(url),
    async look(deadline) {
      const response = await fetch(statusAddress, { redirect: 'manual', signal: deadline });
      const aheadMs = aheadOf(response.headers.get('date'));
      const text = await readBounded(response);
      const { status } = response;
      return { life: status === 200 ? startTime(text) : null, status, aheadMs };
    },
    async post(parcels, deadline) {
      const outcomes = new Map<string, ParcelOutcome>();
      for (const { fingerprint } of parcels) outcomes.set(fingerprint, 'failed');
      const answer: InstanceAnswer = { outcomes, status: null };
      try {
        for (let from = 0; from < parcels.length; from += parcelsMax) {
          await postBatch(parcels.slice(from, from + parcelsMax), deadline, answer);
        }
      } catch {
        // Not answered: what has no outcome yet stays failed and is tried again.
      }
      return answer;
    },
  };
}

/** A header says whole seconds, and is some time on its way: what is less than this is no difference. */
const clocksDifferMs = 30_000;

/** `Date` of an answer that came just now (RFC 9110, 6.6.1). */
function aheadOf(date: string | null): number {
  const aheadMs = Date.parse(date ?? '') - Date.now();
  return Math.abs(aheadMs) >= clocksDifferMs ? aheadMs : 0;
}

function startTime(statusText: string): string | null {
  try {
    const status: unknown = JSON.parse(statusText);
    if (typeof status !== 'object' || status === null || !('uptime' in status)) return null;
    return typeof status.uptime === 'string' ? status.uptime : null;
  } catch {
    return null;
  }
}

function nameOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${withoutEndSlashes(pathname)}`;
}
