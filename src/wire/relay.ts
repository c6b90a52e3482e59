/**
 * The relay as this process runs it: what it sends is traced, counted and told by topic. How it sends is the room's.
 */
import { tellsOf } from '../alert/tells-of';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import type { Store } from '../model/store';
import type { Trouble } from '../observe/lines';
import type { Observer } from '../observe/observer';
import { makeRelay, type Relay } from '../publish/relay';
import { relayDefaults, type ToldBefore } from '../publish/relay-options';
import type { PublishTarget } from '../publish/target';
import type { Clock } from '../tools/clock';
import type { RelayGuard } from './log-alone';
import { topicsOf } from './options';
import { traceSends } from './trace-sends';

/** The relay of the outbox, which is the store's as this relay may see it, to the target; every send is traced and told. */
export function relayOf(
  settings: Settings,
  doors: { store: Pick<Store, 'listAlerts'>; outbox: RelayGuard['outbox']; target: PublishTarget },
  observer: Observer,
  clock: Clock,
  holder: string,
): Relay {
  const system = doors.target.name;
  return makeRelay(
    doors.outbox,
    traceSends(doors.target, observer, system === 'kafka' ? settings.kafkaClientId : null),
    {
      ...relayDefaults,
      leaseMs: settings.leaseSeconds * 1000,
      toldBefore: async () => toldIn(await doors.store.listAlerts()),
      liveTopics: topicsOf(settings),
      clock,
      holder,
    },
    {
      sent: (rows, tookMs) => {
        for (const [topic, ofTopic] of Map.groupBy(rows, (row) => row.topic)) {
          const nowMs = clock.nowMs();
          observer.sent({
            system,
            topic,
            tookMs,
            errorType: null,
            count: ofTopic.length,
            bytes: ofTopic.reduce((sum, row) => sum + row.value.length, 0),
            freshnessMs: ofTopic.flatMap(({ acceptedAtMs }) =>
              acceptedAtMs === null ? [] : [nowMs - acceptedAtMs],
            ),
          });
        }
      },
      failed: (topic, errorType, count, tookMs) =>
        observer.sent({ system, topic, count, tookMs, errorType, bytes: 0, freshnessMs: [] }),
      unopened: (code, detail) => observer.trouble({ place: 'kafka', code, detail }),
      heldBack(forMs, again) {
        if (!again) observer.trouble(throttled(forMs));
      },
      waited: (passedMs) => observer.throttled(passedMs),
      letGo: (waitedMs) => observer.trouble(unthrottled(waitedMs)),
    },
  );
}

function throttled(forMs: number): Trouble {
  const detail =
    `A quota of the brokers holds back what is asked of them, now for ${Math.ceil(forMs / 1000)} s; what waits to be sent is kept, in its order. ` +
    '`kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --describe --entity-type clients`, or `users`, shows which there are.';
  return { place: 'kafka', code: 'publish.throttled', detail };
}

function unthrottled(waitedMs: number): Trouble {
  const detail = `No quota has held back what is asked for a minute; before, ${Math.ceil(waitedMs / 1000)} s were waited for one.`;
  return { place: 'kafka', code: 'publish.unthrottled', detail };
}

/** What is told of Kafka and its topics, unless it was seen to be over. */
function toldIn(alerts: Alert[]): ToldBefore {
  const kafka = alerts.find((alert) => tellsOf(alert, 'kafka-unavailable'));
  const denied = alerts.filter((alert) => tellsOf(alert, 'topic-denied'));
  return {
    kafkaSinceMs: kafka?.startsAtMs ?? null,
    topics: denied.flatMap(({ labels: { topic }, startsAtMs: sinceMs }) =>
      topic === undefined ? [] : [{ topic, sinceMs }],
    ),
  };
}
