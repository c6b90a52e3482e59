/**
 * What a process without brokers may do on a store whose events went to Kafka: not publish. What it sent would be in the embedded
 * log alone, where no consumer of the topics sees it, and every part would seem well. It is refused when it starts; one that
 * runs since before another was given brokers leads the relay no more, and says so once nobody else leads.
 */
import type { Condition } from '../model/alert';
import { Problem } from '../model/problem';
import type { Outbox, Store } from '../model/store';
import { CheckFailure, type NotAsked } from '../operations/check';
import type { KnownEnds } from '../publish/catch-up';
import { relayDefaults } from '../publish/relay-options';
import type { PublishTarget } from '../publish/target';
import type { Clock } from '../tools/clock';
import { storesAnswer } from './stores-answer';

type Ends = Pick<Store, 'topicEnds'>;

const anotherStore = 'for the embedded log alone DATABASE_URL must name another store';

/** Throws `settings.invalid` where no broker is named and events of the store went to Kafka, and what the store throws. */
export async function refuseLogAlone(kafkaBrokers: string[] | null, store: Ends): Promise<void> {
  const topics = kafkaBrokers === null ? await topicsOf(store) : null;
  if (topics === null) return;
  throw new Problem(
    'settings.invalid',
    `KAFKA_BROKERS must name the brokers: this store knows of events in Kafka (${topics}), and without it new ones ` +
      `would be in the embedded log only; ROLE=receiver needs none, and ${anotherStore}`,
  );
}

/**
 * The same for a check of a process without brokers; throws `CheckFailure`, what the store throws, and `store.unavailable`
 * after 3 s.
 */
export async function checkLogAlone(store: Ends, clock: Clock): Promise<NotAsked> {
  const topics = await storesAnswer(topicsOf(store), clock);
  if (topics === null) return { skipped: 'KAFKA_BROKERS is not set: events go to the embedded log' };
  throw new CheckFailure(
    `KAFKA_BROKERS is not set here, and this store knows of events in Kafka (${topics}): without it a worker publishes nothing`,
    `Set KAFKA_BROKERS as the other workers have it; ${anotherStore}.`,
  );
}

/** For people; null where none of the store's events went there. */
async function topicsOf(store: Ends): Promise<string | null> {
  const [first, ...others] = [...new Set((await store.topicEnds()).map(({ topic }) => topic))].toSorted();
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

export interface RelayGuard {
  /** The outbox as the relay is to see it, with what it knows of the topics. */
  outbox: Outbox & KnownEnds;
  conditions(): Condition[];
}

/**
 * To Kafka anybody may lead; to the embedded log nobody once events went to Kafka, which is told when nobody has led for
 * 15 s. The outbox throws what the store throws.
 */
export function guardRelay(
  store: Outbox & KnownEnds & Pick<Store, 'leaseFreeMs'>,
  target: Pick<PublishTarget, 'name'>,
  clock: Pick<Clock, 'nowMs'>,
): RelayGuard {
  if (target.name === 'kafka') return { outbox: store, conditions: () => [] };
  /** What went there once stays there. */
  let topics: string | null = null;
  let holds = false;
  let unledSinceMs: number | null = null;

  async function haveEvents(): Promise<boolean> {
    topics ??= await topicsOf(store);
    return topics !== null;
  }

  async function lookWhoLeads(name: string): Promise<void> {
    const freeMs = await store.leaseFreeMs(name);
    unledSinceMs = freeMs === 0 ? null : (unledSinceMs ?? clock.nowMs() - (freeMs ?? 0));
  }

  async function holdLease(name: string, holder: string, leaseMs: number): Promise<boolean> {
    if (leaseMs === 0 || !(await haveEvents())) {
      holds = (await store.holdLease(name, holder, leaseMs)) && leaseMs > 0;
      // Ends are noted by who leads, so under the lease nobody notes the first one after this look.
      if (!holds || !(await haveEvents())) return holds;
    }
    if (holds) await store.holdLease(name, holder, 0);
    holds = false;
    await lookWhoLeads(name);
    return false;
  }

  return {
    outbox: Object.create(store, { holdLease: { value: holdLease } }) as RelayGuard['outbox'],
    conditions() {
      if (unledSinceMs === null || clock.nowMs() - unledSinceMs < relayDefaults.conditionAfterMs) return [];
      return [
        {
          name: 'kafka-unavailable',
          sinceMs: unledSinceMs,
          detail: `KAFKA_BROKERS is not set for this worker, and this store knows of events in Kafka (${topics}); no worker that has it leads now.`,
          firstStep: 'Set KAFKA_BROKERS for the workers, as it was, and restart them.',
        },
      ];
    },
  };
}
