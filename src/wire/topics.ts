/**
 * Joins the declared topics with the brokers that the settings name.
 */
import { tellsOf } from '../alert/tells-of';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import { asSentence } from '../model/as-sentence';
import { isProblem } from '../model/problem';
import { CheckFailure, type Found } from '../operations/check';
import { describeError, doubtOf } from '../publish/classify-error';
import type { KafkaSettings } from '../publish/client-config';
import { kafkaTargetDefaults } from '../publish/kafka';
import { createTopics, type DeclaredKafka, type DeclaredTopic, describeDeclared } from '../publish/topics';
import { endsWithin, systemClock } from '../tools/clock';
import { kafkaSettings } from './kafka-settings';
import { declaredTopics } from './package-files';

/** Creates what is missing; none when no broker is named. Throws `publish.unavailable`, `publish.refused`. */
export async function createDeclaredTopics(
  settings: Settings,
): Promise<(DeclaredTopic & { created: boolean })[]> {
  const kafka = kafkaSettings(settings);
  if (kafka === null) return [];
  const options = { ...kafkaTargetDefaults, clock: systemClock };
  return createTopics(kafka, settings.kafkaTopicPrefix, declaredTopics(), options);
}

/**
 * What `check` says of Kafka: a warning where a topic has less than declared, a named broker says nothing, a quota holds the check
 * itself back for 1 s, or the files of certificates and key hold what is not used. Rejects with
 * `CheckFailure` where one is not there, cannot be written by what the brokers say of it, is led by one that is not reached,
 * or was not written by what the relay last told, and with the settings to look at where Kafka cannot be asked: brokers that say nothing are given 4 s.
 */
export async function checkTopics(
  kafka: KafkaSettings,
  prefix: string,
  listAlerts: () => Promise<Alert[]>,
): Promise<Found> {
  let heldBackMs = 0;
  const heldBack = (forMs: number) => {
    heldBackMs += forMs;
  };
  const times = { ...kafkaTargetDefaults, clock: systemClock, heldBack };
  const options = { ...times, withinMs: heardMsMax - spareMs };
  const asked = describeDeclared(kafka, prefix, declaredTopics(), options);
  // That the store does not answer is told in a line of its own.
  const [described, alerts] = await Promise.all([
    heardOf(asked, kafka.brokers, heardMsMax).catch((error: Error) => {
      const step = stepFor(error, kafka);
      if (heldBackMs < heldBackMsMin) throw new CheckFailure(error.message, step);
      const next = isProblem(error) ? `${moreQuota} ${step}` : moreQuota;
      throw new CheckFailure(`${heldBackFor(heldBackMs)}: ${error.message}`, next);
    }),
    listAlerts().catch(() => []),
  ]);
  return kafkaFound(described, alerts, kafka.tls?.unfit() ?? null, heldBackMs);
}

/** What is held back for less in all is of no account to whoever waits for it. */
const heldBackMsMin = 1000;

function heldBackFor(ms: number): string {
  return `a quota of the brokers held back what this check asked, for ${(ms / 1000).toFixed(1)} s in all`;
}

const moreQuota =
  '`kafka-configs.sh --bootstrap-server $KAFKA_BROKERS --describe --entity-type clients`, or `users`, shows which quotas there are: have whoever owns the brokers give this client more.';

/** Shorter than the check waits for a part, which cannot say who is mute. */
const heardMsMax = 4000;
/** What brokers are asked at last ends so much earlier, so that what one of them said is told. */
const spareMs = 300;

/** As `asked`; rejects with the brokers' names where they take connections and say nothing for so many milliseconds. */
export async function heardOf<Said>(
  asked: Promise<Said>,
  brokers: readonly string[],
  withinMs: number,
): Promise<Said> {
  if (await endsWithin(asked, withinMs, systemClock)) return asked;
  throw new Error(`no answer within ${withinMs / 1000} s from ${brokers.join(', ')}`);
}

const lookAt = {
  login: 'Look at KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD.',
  certificates:
    'Look at KAFKA_TLS, KAFKA_CA_FILE and KAFKA_CERT_FILE, and at the certificate of the broker that is named. A file that is renewed is used by the next connection, without a restart.',
  brokers: 'Look at KAFKA_BROKERS, and at KAFKA_TLS where a broker closes the connection.',
  // One that wants a login gives no reason: it closes the connection of whoever asks for anything else.
  brokersOrLogin:
    'Look at KAFKA_BROKERS, and where a broker closes the connection at KAFKA_TLS, and at KAFKA_SASL_MECHANISM, which is not set: it may want a login.',
};

/** What to look at where Kafka cannot be asked, by what that puts in doubt. */
function stepFor(error: unknown, { sasl, tls }: Pick<KafkaSettings, 'sasl' | 'tls'>): string {
  const doubt = doubtOf(describeError(error).code);
  const step = lookAt[doubt === 'brokers' && sasl === null ? 'brokersOrLogin' : doubt];
  const unfit = tls?.unfit() ?? null;
  return unfit === null ? step : `${step} But ${asSentence(notUsed(unfit))}`;
}

function notUsed(unfit: string): string {
  return `what the files of certificates and key hold now is not used: ${unfit}`;
}

/** Throws `CheckFailure` with the topics that are not there, else with all that keeps events from being written. */
export function kafkaFound(
  { topics, silent, faults }: DeclaredKafka,
  alerts: Alert[],
  unfit: string | null = null,
  heldBackMs = 0,
): Found {
  const absent = topics.filter(({ state }) => state !== 'present');
  if (absent.length > 0) {
    const isMissing = absent.some(({ state }) => state === 'missing');
    const said = absent.map(({ topic, state }) => `${topic} is ${state}`);
    throw new CheckFailure(said.join('; '), isMissing ? createThem : writeAgain);
  }
  const stuck = topics.flatMap(({ topic, unwritable }) =>
    unwritable === null ? [] : [`${topic} has ${unwritable}`],
  );
  const told = alerts
    .filter(saysUnwritten)
    .map(({ name, annotations }) => `${name}: ${annotations.description}`);
  const failed = [...stuck, ...faults, ...told];
  // Also what is not reached may only be late for it.
  const quota = heldBackMs < heldBackMsMin ? [] : [heldBackFor(heldBackMs)];
  if (failed.length > 0) {
    const next = quota.length > 0 ? `${moreQuota} ${writeAgain}` : writeAgain;
    throw new CheckFailure([...quota, ...failed].join('; '), next);
  }
  const below = topics.flatMap(({ topic, below }) => (below === null ? [] : [`${topic} has ${below}`]));
  const mute = silent.map((broker) => `${broker} gave no answer, and another did`);
  const files = unfit === null ? [] : [notUsed(unfit)];
  const said = [...files, ...quota, ...mute, ...below];
  if (said.length === 0) return { detail: `${topics.length} topics are there`, next: null };
  const next = [
    ...(files.length > 0 ? [mendFiles] : []),
    ...(quota.length > 0 ? [moreQuota] : []),
    ...(below.length > 0 ? [asDeclared] : []),
    ...(mute.length > 0 ? [lookAtMute] : []),
  ];
  return { detail: said.join('; '), next: next.join(' ') };
}

const createThem = 'Run `tramline migrate`: it creates what is missing.';
const writeAgain =
  'Bring the brokers back, correct the `advertised.listeners` of one that is not reached, or grant the client what it is refused: what waits is then written by itself.';

/** Whoever leads writes, and what it meets stands in the page: a refused transactional id is seen by nobody else. */
function saysUnwritten(alert: Alert): boolean {
  return tellsOf(alert, 'kafka-unavailable') || tellsOf(alert, 'topic-denied');
}

/** Kafka changes none by itself when a broker comes, and we change no topic that is there. */
const asDeclared =
  'With brokers enough, raise replicas with kafka-reassign-partitions.sh, and set what else is declared with kafka-configs.sh: until then fewer lost disks lose what was sent, a large record is refused, or the last state of a key is deleted.';
const mendFiles =
  'Mend those files: until then connections are made with what they held before, which may run out.';
const lookAtMute = 'Look at that broker, or take it out of KAFKA_BROKERS.';
