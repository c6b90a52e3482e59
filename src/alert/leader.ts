/**
 * Of several processes on one store one tells the sinks; the others tell it what they know of the platform. A process
 * that goes silent is followed by another within seconds. While the store is away the one that led goes on, since nobody
 * telling would be no incident; but not for long, since another may lead that sees the store.
 */
import type { Condition, Told } from '../model/alert';
import { isProblem } from '../model/problem';
import type { Alerts, Outbox } from '../model/store';
import type { Clock } from '../tools/clock';
import { fingerprintOf } from './fingerprint';

/** What leading needs of the store. */
export type LeaderStore = Pick<Alerts, 'shareConditions'> & Pick<Outbox, 'holdLease'>;

export interface Confirmed {
  leads: boolean;
  /** It leads, but could not make sure of that for so long that another may: it speaks for itself only. */
  alone: boolean;
  others: Told[];
}

export interface Leader {
  /** Tells the others what this process knows. `others` is what each living one told; empty where this process does not lead. */
  confirm(own: Condition[]): Promise<Confirmed>;
  /** Lets another lead at once. Throws what the store throws. */
  giveBack(): Promise<void>;
}

/** Whoever holds it evaluates the alerts. */
export const alertsLease = 'alerts';
/** As far ahead as the end of what fires is set: an outage of twice this ends no alert. */
const unsureMsMax = 300_000;

/**
 * `holder` is another text for each process. One that has been silent for `leaseMs` is followed by another, and what it told
 * of the platform is forgotten a third of that later. `confirm` throws what the store throws, but not `store.unavailable`. One
 * that led, and whose lease could not be confirmed for 5 minutes, says that it is alone. Where it is the `sole` process that can
 * have the store it leads whatever the store says.
 */
export function makeLeader(
  store: LeaderStore,
  clock: Clock,
  holder: string,
  leaseMs: number,
  sole = false,
): Leader {
  // The store keeps whole milliseconds, and PostgreSQL refuses others.
  const renewMs = Math.floor(leaseMs / 3);
  let leads = false;
  let others: Told[] = [];
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let told = '';

  return {
    async confirm(own) {
      const nowMs = clock.steadyMs();
      const known = identityOf(own);
      if (nowMs - confirmedAtMs >= renewMs || known !== told) {
        try {
          leads = await store.holdLease(alertsLease, holder, leaseMs);
          const heard = await store.shareConditions(holder, own, leaseMs + renewMs);
          others = leads ? heard : [];
          confirmedAtMs = nowMs;
          told = known;
        } catch (error) {
          if (!isProblem(error, 'store.unavailable')) throw error;
          leads ||= sole;
        }
      }
      const alone = leads && !sole && nowMs - confirmedAtMs >= unsureMsMax;
      return { leads, alone, others };
    },
    async giveBack() {
      if (!leads) return;
      leads = false;
      confirmedAtMs = Number.NEGATIVE_INFINITY;
      await store.holdLease(alertsLease, holder, 0);
    },
  };
}

/** Which states there are; their texts may change with every failure and are told in time. */
function identityOf(conditions: Condition[]): string {
  return conditions
    .map(({ name, labels = {} }) => fingerprintOf(name, labels))
    .sort()
    .join();
}
