/**
 * What an installation says of its Kafka, as kafkajs wants to hear it. Secrets are opened here and go nowhere else. Pure,
 * but for what TLS is told, which is asked for anew each time.
 */
import type { Secret } from '../tools/secret';
import type { KafkaConfig, SASLOptions } from './kafkajs-inside';
import type { SocketRequest } from './sockets';

export interface KafkaSettings {
  /** `host:port` of each. */
  brokers: string[];
  clientId: string;
  /** null for a plain connection. */
  tls: TlsFiles | null;
  sasl: {
    mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    username: string;
    password: Secret;
  } | null;
}

/** PEM texts; null where no file is named. */
export interface TlsTexts {
  ca: string | null;
  cert: string | null;
  key: Secret | null;
}

/** The files of certificates and key, which may be renewed at any time. Never throws. */
export interface TlsFiles {
  /** What a connection that is made now is to use. */
  now(): TlsTexts;
  /** Why that is not what the files say now; null where it is. Holds no secret. */
  unfit(): string | null;
}

export interface ClusterTimes {
  /** For a connection and its login. */
  connectTimeoutMs: number;
  /** For one request. */
  requestTimeoutMs: number;
  /** Told whenever a quota of a broker holds back what is asked of it next, and for how many milliseconds. Must not throw. */
  heldBack?: (forMs: number) => void;
}

/** Of a producer in this role: the next one with it fences the one before. */
export function transactionalIdOf({ clientId }: Pick<KafkaSettings, 'clientId'>, role: string): string {
  return `${clientId}-${role}`;
}

/** What a connection that is made now is told; undefined for a plain one. */
export function tlsOptions({ tls }: Pick<KafkaSettings, 'tls'>): SocketRequest['ssl'] {
  if (tls === null) return undefined;
  const { ca, cert, key } = tls.now();
  return {
    ...(ca !== null && { ca }),
    ...(cert !== null && { cert }),
    ...(key !== null && { key: key.open() }),
  };
}

/** A second and more: brokers refuse a login that follows another within one. Much more than a request is on its way. */
const renewedBeforeMs = 2_000;

/**
 * Every broker that is named is tried before connecting fails. A login that brokers let last (`connections.max.reauth.ms`) is renewed so
 * long before its end: kafkajs's own 10 s had one of 10 s and less renewed before each request, which brokers refuse.
 */
export function clientConfig(settings: KafkaSettings, times: ClusterTimes): KafkaConfig {
  const { sasl } = settings;
  const ssl = tlsOptions(settings);
  return {
    clientId: settings.clientId,
    brokers: settings.brokers,
    connectionTimeout: times.connectTimeoutMs,
    authenticationTimeout: times.connectTimeoutMs,
    requestTimeout: times.requestTimeoutMs,
    reauthenticationThreshold: renewedBeforeMs,
    retry: { retries: Math.max(4, settings.brokers.length), initialRetryTime: 100, maxRetryTime: 800 },
    ...(ssl !== undefined && { ssl }),
    ...(sasl !== null && {
      sasl: {
        mechanism: sasl.mechanism,
        username: sasl.username,
        password: sasl.password.open(),
      } as SASLOptions,
    }),
  };
}
