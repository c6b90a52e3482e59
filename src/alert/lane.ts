/**
 * One sink at work: one post at a time, a back-off after a failure, results kept until they are collected. A lane that
 * is slow or failing holds up no other lane. It decides nothing about alerts.
 */
import type { Alert } from '../model/alert';
import { backoffMs } from '../tools/backoff';
import type { Clock } from '../tools/clock';
import type { PostOutcome } from './due';
import type { AlertSink, PostResult, SinkName } from './sink';

/** One post, or the part of it that ended alike. */
export interface PostLine {
  sink: SinkName;
  /** `partial`: some of the sink's instances took it, and others did not. */
  outcome: 'accepted' | 'partial' | 'refused' | 'unreachable';
  alerts: number;
  status: number | null;
  tookMs: number;
  /** Which instances did not take it; only where there are several, and some did not. */
  missed?: string[];
}

/** What became of one alert of a post. */
export interface PostedAlert {
  sink: SinkName;
  fingerprint: string;
  /** As it was when it was posted. */
  posted: Alert;
  outcome: PostOutcome;
  atMs: number;
}

export interface Lane {
  sink: AlertSink;
  /** False while a post is under way or a failure is waited out. */
  isReady(): boolean;
  /** Posts; resolves when the sink has answered, never rejects. */
  post(alerts: Alert[]): Promise<void>;
  /** What became known since the last call. */
  collect(): PostedAlert[];
}

const backoffBaseMs = 1_000;
const backoffMsMax = 30_000;

/** No sink is left alone for longer, whatever it asks for: someone may wait for the page. */
const pauseMsMax = 300_000;

const lineOutcomes = { taken: 'accepted', refused: 'refused', failed: 'unreachable' } as const;

/**
 * `onPost` is called when the sink has answered; `random` in [0, 1) spreads the back-off: full jitter, at most 30 s,
 * and no longer than `resendMs`, so that a sink that is back is told of everything by the next repetition. A sink that
 * asks for a pause gets at most 5 minutes.
 */
export function makeLane(
  sink: AlertSink,
  clock: Clock,
  onPost: (line: PostLine) => void,
  random: () => number,
  resendMs: number,
): Lane {
  const backoff = { baseMs: backoffBaseMs, maxMs: Math.min(backoffMsMax, resendMs) };
  let busy = false;
  let failures = 0;
  let readyAtMs = Number.NEGATIVE_INFINITY;
  let results: PostedAlert[] = [];

  async function post(alerts: Alert[]): Promise<void> {
    busy = true;
    const beganAtMs = clock.nowMs();
    const answer = await answerOf(sink, alerts, beganAtMs);
    const atMs = clock.nowMs();
    const posted = alerts.map((alert) => ({
      sink: sink.name,
      fingerprint: alert.fingerprint,
      posted: alert,
      outcome: answer.outcomes.get(alert.fingerprint) ?? ('failed' as const),
      atMs,
    }));
    results.push(...posted);
    const byOutcome = Map.groupBy(posted, (alert) => alert.outcome);
    const { status, missed } = answer;
    for (const [outcome, { length }] of byOutcome) {
      onPost({
        sink: sink.name,
        outcome: outcome === 'taken' && missed.length > 0 ? 'partial' : lineOutcomes[outcome],
        alerts: length,
        status,
        tookMs: atMs - beganAtMs,
        ...(missed.length === 0 ? {} : { missed }),
      });
    }
    failures = byOutcome.has('failed') ? failures + 1 : 0;
    const pauseMs = Math.max(backoffMs(failures, backoff, random), answer.retryAfterMs ?? 0);
    readyAtMs = failures > 0 ? clock.steadyMs() + Math.min(pauseMs, pauseMsMax) : Number.NEGATIVE_INFINITY;
    busy = false;
  }

  return {
    sink,
    isReady: () => !busy && clock.steadyMs() >= readyAtMs,
    post,
    collect() {
      const collected = results;
      results = [];
      return collected;
    },
  };
}

interface Answer {
  outcomes: Map<string, PostOutcome>;
  status: number | null;
  retryAfterMs: number | null;
  missed: string[];
}

async function answerOf(sink: AlertSink, alerts: Alert[], nowMs: number): Promise<Answer> {
  const outcomes = new Map<string, PostOutcome>();
  // Whatever a sink throws, its alerts are simply not told yet.
  const result = await sink.post(alerts, nowMs).catch((): PostResult => ({ taken: [], failed: [] }));
  for (const fingerprint of result.taken) outcomes.set(fingerprint, 'taken');
  for (const { fingerprint, retry } of result.failed) outcomes.set(fingerprint, retry ? 'failed' : 'refused');
  const missed = (result.instances ?? []).filter(({ outcome }) => outcome !== 'accepted');
  return {
    outcomes,
    status: result.status ?? null,
    retryAfterMs: result.retryAfterMs ?? null,
    missed: missed.map(({ name }) => name),
  };
}
