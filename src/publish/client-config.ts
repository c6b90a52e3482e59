/**
 * What an installation says of its Kafka, as kafkajs wants to hear it. Secrets are opened here and go nowhere else. Pure.
 */
import type { Secret } from '../tools/secret';
import type { KafkaConfig, SASLOptions } from './kafkajs-inside';

export interface KafkaSettings {
  /** `host:port` of each. */
  brokers: string[];
  clientId: string;
  /** PEM texts; null for a plain connection. */
  tls: { ca: string | null; cert: string | null; key: Secret | null } | null;
  sasl: {
    mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    username: string;
    password: Secret;
  } | null;
}

export interface ClusterTimes {
  /** For a connection and its login. */
  connectTimeoutMs: number;
  /** For one request. */
  requestTimeoutMs: number;
}

/** Of a producer in this role: the next one with it fences the one before. */
export function transactionalIdOf({ clientId }: Pick<KafkaSettings, 'clientId'>, role: string): string {
  return `${clientId}-${role}`;
}

/** Every broker that is named is tried before connecting fails. */
export function clientConfig(settings: KafkaSettings, times: ClusterTimes): KafkaConfig {
  const { tls, sasl } = settings;
  return {
    clientId: settings.clientId,
    brokers: settings.brokers,
    connectionTimeout: times.connectTimeoutMs,
    authenticationTimeout: times.connectTimeoutMs,
    requestTimeout: times.requestTimeoutMs,
    retry: { retries: Math.max(4, settings.brokers.length), initialRetryTime: 100, maxRetryTime: 800 },
    ...(tls !== null && {
      ssl: {
        ...(tls.ca !== null && { ca: tls.ca }),
        ...(tls.cert !== null && { cert: tls.cert }),
        ...(tls.key !== null && { key: tls.key.open() }),
      },
    }),
    ...(sasl !== null && {
      sasl: {
        mechanism: sasl.mechanism,
        username: sasl.username,
        password: sasl.password.open(),
      } as SASLOptions,
    }),
  };
}
