/**
 * What an error of Kafka asks for. Decided by Kafka's own name of it, never by whether the client would have tried
 * again: an idempotent client calls a cluster that is merely down "not retriable". Whatever is not known here is tried
 * again. Pure.
 */
import type { FailureKind } from './target';

/** The request was not answered in time. */
export const timedOut = 'TIMED_OUT';
/** The connection failed or was closed. */
export const connectionLost = 'CONNECTION';

const kinds: Record<string, FailureKind> = {
  MESSAGE_TOO_LARGE: 'too-large',
  RECORD_LIST_TOO_LARGE: 'too-large',
  INVALID_RECORD: 'refused',
  UNKNOWN_TOPIC_OR_PARTITION: 'missing',
  UNKNOWN_TOPIC_ID: 'missing',
  INVALID_TOPIC_EXCEPTION: 'denied',
  TOPIC_AUTHORIZATION_FAILED: 'denied',
  GROUP_AUTHORIZATION_FAILED: 'denied',
  CLUSTER_AUTHORIZATION_FAILED: 'denied',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'denied',
  SASL_AUTHENTICATION_FAILED: 'denied',
  UNSUPPORTED_SASL_MECHANISM: 'denied',
  ILLEGAL_SASL_STATE: 'denied',
  SECURITY_DISABLED: 'denied',
  POLICY_VIOLATION: 'denied',
  INVALID_TIMESTAMP: 'denied',
  INVALID_REQUIRED_ACKS: 'denied',
  UNSUPPORTED_FOR_MESSAGE_FORMAT: 'denied',
  UNSUPPORTED_COMPRESSION_TYPE: 'denied',
  INVALID_PRODUCER_EPOCH: 'fenced',
  PRODUCER_FENCED: 'fenced',
  OUT_OF_ORDER_SEQUENCE_NUMBER: 'fenced',
  DUPLICATE_SEQUENCE_NUMBER: 'fenced',
  UNKNOWN_PRODUCER_ID: 'fenced',
  INVALID_PRODUCER_ID_MAPPING: 'fenced',
  INVALID_TXN_STATE: 'fenced',
};

/** Errors of a TLS handshake that no repetition cures; Node's names. */
const certificateCode = /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_SELF_|UNABLE_TO_)/;

export function kindOf(code: string): FailureKind {
  return kinds[code] ?? (certificateCode.test(code) ? 'denied' : 'retry');
}

/** Does it last until somebody has changed the topic or its rights? */
export function needsSomebody(kind: FailureKind): boolean {
  return kind === 'denied' || kind === 'missing';
}

/** Is it said of a topic, whichever partition and broker was asked? */
export function isOfTopic(code: string): boolean {
  return code === 'TOPIC_AUTHORIZATION_FAILED' || code === 'INVALID_TOPIC_EXCEPTION';
}

/** Is it said of one partition, of which another broker may know better in a moment? */
export function isOfPartition(code: string): boolean {
  return [
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'REPLICA_NOT_AVAILABLE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'OFFSET_OUT_OF_RANGE',
    'KAFKA_STORAGE_ERROR',
  ].includes(code);
}

/** Of the login, the certificates, the rights to the cluster or to the id, and of how we ask: no topic is at fault. */
const ofClient = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'SECURITY_DISABLED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'INVALID_REQUIRED_ACKS',
  'UNSUPPORTED_COMPRESSION_TYPE',
]);

/** Is it said of who we are to Kafka, or of how we ask, and so of each topic alike? */
export function isOfClient(code: string): boolean {
  return ofClient.has(code) || certificateCode.test(code);
}

/** Is it said of the time that this process put on a record? Its clock may be wrong as well as the topic's bounds. */
export function isOfClock(code: string): boolean {
  return code === 'INVALID_TIMESTAMP';
}

/** What an error puts in doubt: who we are to Kafka, who trusts whom, or the way to it. */
export function doubtOf(code: string): 'login' | 'certificates' | 'brokers' {
  if (/SASL/.test(code)) return 'login';
  return certificateCode.test(code) ? 'certificates' : 'brokers';
}

/** The coordinator is being found or loaded: seen on every new cluster. */
export function isOfCoordinator(code: string): boolean {
  return ['GROUP_LOAD_IN_PROGRESS', noCoordinator, 'NOT_COORDINATOR_FOR_GROUP', notWrittenYet].includes(code);
}

/** Whoever is to grant the id, or to mend the topic behind it, has to know of what. */
export function ofTransactionalId(code: string, transactionalId: string, brokers: number): string {
  const why: Record<string, string> = {
    // Also what is written there and lacks replicas is answered so.
    [noCoordinator]: `: __transaction_state has no leader or too few replicas in sync, or cannot be made where transaction.state.log.replication.factor exceeds the number of brokers, ${brokers}`,
    // Of who never begins a transaction nothing else is under way.
    [notWrittenYet]:
      ': what was asked for before is not written yet to enough replicas of __transaction_state',
  };
  return `${code} of the transactional id ${transactionalId}${why[code] ?? ''}`;
}

const noCoordinator = 'GROUP_COORDINATOR_NOT_AVAILABLE';
const notWrittenYet = 'CONCURRENT_TRANSACTIONS';
/** The client may not write under its transactional id, or not even see it. */
export const idRefused = 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED';

/** Codes after which the same bytes may be tried again at once: leadership moves, a connection breaks. */
export function healsInAMoment(code: string): boolean {
  return [connectionLost, 'NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NETWORK_EXCEPTION'].includes(
    code,
  );
}

/**
 * The code of anything thrown by the client. The name that says something is often that of the cause, or of the cause's
 * cause. `detail` names the broker where one is known; messages of logins are left out, since brokers may echo them,
 * and of a failed connection at most 200 characters are told.
 */
export function describeError(error: unknown): { code: string; detail: string } {
  let broker = '';
  let name = '';
  for (const at of causesOf(error)) {
    if (typeof at.broker === 'string') broker ||= ` at ${at.broker}`;
    const said = saidBy(at);
    if (said !== null) return { code: said.code, detail: `${said.what}${broker}${said.why ?? ''}` };
    if (typeof at.name === 'string') name = at.name;
  }
  return { code: name || 'UNKNOWN', detail: `${name || 'an unknown error'}${broker}` };
}

/** What was thrown, and what led to it. */
function* causesOf(error: unknown): Generator<Record<string, unknown>, void> {
  let at = error;
  for (let depth = 0; isObject(at) && depth < 5; depth += 1) {
    yield at;
    at = at.cause ?? firstOf(at.errors);
  }
}

/** What this one says by itself; null where only what led to it does. */
function saidBy(error: Record<string, unknown>): { code: string; what: string; why?: string } | null {
  const { type, name, message } = error;
  if (typeof type === 'string') return { code: type, what: type };
  if (name === 'KafkaJSRequestTimeoutError') return { code: timedOut, what: 'no answer' };
  if (name === 'KafkaJSSASLAuthenticationError')
    return { code: 'SASL_AUTHENTICATION_FAILED', what: 'the login was refused' };
  if (name === 'KafkaJSConnectionError' || name === 'KafkaJSConnectionClosedError') {
    const reason = typeof error.code === 'string' ? error.code : '';
    const code = certificateCode.test(reason) ? reason : connectionLost;
    const why = reason || ownWords(error);
    return { code, what: 'no connection', why: why && ` (${why})` };
  }
  // What kafkajs says of a broker whose connection ended before it knew what that one speaks.
  return message === 'Broker not connected' ? { code: connectionLost, what: 'no connection' } : null;
}

const wordsCharsMax = 200;

/** Of a connection that failed and has no code. */
function ownWords({ name, message }: Record<string, unknown>): string {
  if (name === 'KafkaJSConnectionClosedError') return 'closed by the broker';
  return typeof message === 'string' ? message.slice(0, wordsCharsMax) : '';
}

function firstOf(errors: unknown): unknown {
  return Array.isArray(errors) ? errors[0] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
