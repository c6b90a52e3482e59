/**
 * Joins replays: the relay that sends the newest, a producer of its own for history, the sandbox's count for reads.
 */
import type { Settings } from '../config';
import type { SandboxMeter } from '../fetch/sandbox-meter';
import type { Store } from '../model/store';
import type { Trouble } from '../observe/lines';
import type { Observer } from '../observe/observer';
import type { Pipeline } from '../pipeline';
import type { KafkaSettings } from '../publish/client-config';
import { kafkaTargetDefaults, makeKafkaTarget } from '../publish/kafka';
import type { Relay } from '../publish/relay';
import { makeReplay, type Replay } from '../publish/replay';
import { replayDefaults } from '../publish/run-replay';
import { type HistorySender, makeHistorySender } from '../publish/send-history';
import { describeTopics } from '../publish/topics';
import type { Clock } from '../tools/clock';
import { topicsOf } from './options';
import { troubleOf } from './trouble-of';

export interface ReplayParts {
  store: Store;
  /** null: there is no history to send anywhere. */
  kafka: KafkaSettings | null;
  relay: Relay;
  meter: SandboxMeter;
  clock: Clock;
  /** Of this process, for the lease. */
  holder: string;
  pipeline: Pick<Pipeline, 'work'>;
  observer: Observer;
}

/** Replay, joined to the store, the relay and the topics of this process. */
export function replayOf(settings: Settings, parts: ReplayParts): Replay {
  const { store, kafka, relay, meter, clock, holder, pipeline, observer } = parts;
  const doors = {
    store,
    relay,
    clock,
    history: kafka === null ? null : historyOf(settings, kafka, clock),
    due: () => pipeline.work.wake(),
    passedOver: (topic: string, events: string[]) => observer.trouble(passedOver(topic, events)),
    forbidden: () => meter.forbidden(),
    callsLeft: () => meter.view().limits.find(({ limit }) => limit === 'calls')?.left ?? null,
  };
  const leaseMs = settings.leaseSeconds * 1000;
  const settles = settings.settleSeconds > 0;
  return makeReplay(doors, { ...replayDefaults, holder, leaseMs, settles }, troubleOf(observer, 'kafka'));
}

/** Of a piece of history; the log cuts it, and tells one in ten seconds. `explain` tells of each event. */
export function passedOver(topic: string, events: string[]): Trouble {
  const count = events.length === 1 ? '1 event that is' : `${events.length} events that are`;
  const detail = `${topic} lacks ${count} too large for it: ${events.join(', ')}`;
  return { place: 'kafka', code: 'publish.passed-over', detail };
}

function historyOf(settings: Settings, kafka: KafkaSettings, clock: Clock): HistorySender {
  return makeHistorySender({
    clock,
    liveTopics: topicsOf(settings),
    async exists(topic) {
      const [described] = await describeTopics(kafka, [topic], { ...kafkaTargetDefaults, clock });
      return described?.state === 'present';
    },
    target: (topic) =>
      makeKafkaTarget(kafka, { ...kafkaTargetDefaults, clock, topics: [topic], role: 'replay' }),
  });
}
