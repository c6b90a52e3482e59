/**
 * What every sink promises: it takes a batch of alerts as they are now, delivers each as firing or resolved, and says
 * of each whether the far side took it. A sink keeps no queue; what failed is handed to it again.
 */
import type { Alert } from '../model/alert';

/** A metric label, and the key under which it is stored what the sink has. */
export type SinkName = 'alertmanager' | 'pagerduty' | 'slack' | 'log';

/** What one of several far sides that share nothing made of a post. */
export interface InstanceResult {
  /** Its address without user info and query; never a secret. */
  name: string;
  outcome: 'accepted' | 'refused' | 'unreachable';
  /** The HTTP status of its last answer; null when the last request had none. */
  status: number | null;
}

export interface PostResult {
  /** Fingerprints that the far side took as they are. */
  taken: string[];
  /** `retry: false` when the same alert would be refused again. What is named nowhere counts as failed, to be tried again. */
  failed: { fingerprint: string; retry: boolean }[];
  /** The HTTP status that tells most about the post; null when there was none. */
  status?: number | null;
  /** How long the far side asks to be left alone; null or absent when it does not ask. */
  retryAfterMs?: number | null;
  /** Where the far side is several: what was taken may be missing at some of them until it is repeated. */
  instances?: InstanceResult[];
}

export interface AlertSink {
  name: SinkName;
  /** Whether it forgets what it is not told again: then what fires is sent again and again, and so is an end. */
  repeats: boolean;
  /** Whether a page stays open there until its end is told; of others it is a message, and no more. */
  keeps: boolean;
  /** Bounded in time. Safe to repeat. A rejection means that all failed and may be tried again. */
  post(alerts: Alert[], nowMs: number): Promise<PostResult>;
}
