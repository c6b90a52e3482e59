/**
 * The sink for Alertmanager (API v2). Every given instance is told everything, since instances share no alerts; the
 * post counts when one of them took it, the others are named, and the repetitions reach the one that was away. Labels, start and end follow
 * what Alertmanager makes of them; whom it then notifies is its own configuration.
 */

import type { Alert, Severity } from '../model/alert';
import { Problem } from '../model/problem';
import {
  type AlertmanagerInstance,
  type InstanceAnswer,
  makeAlertmanagerInstance,
} from './alertmanager-instance';
import { type AlertmanagerMemory, makeAlertmanagerMemory, type Telling } from './alertmanager-memory';
import { areLabelsValid, labelsOf, onClock, type PostableAlert, postable } from './alertmanager-payload';
import { severitiesOf } from './due';
import { toldAgainOf } from './held-text';
import type { AlertSink, InstanceResult, PostResult } from './sink';

export interface AlertmanagerOptions {
  /** Addresses of all instances, not of a load balancer before them. */
  urls: string[];
  /** Where a reader of the page finds this installation; never made from what was received. Left out when null. */
  generatorUrl?: string | null;
  /** For one round of posts to an instance, all batches together. Default 10 s. */
  timeoutMs?: number;
  /** So long the others are still waited for when one took everything; what they answer later says nothing. Default 1 s. */
  othersMs?: number;
  /** How far ahead the end of a firing alert is set: several repetitions may be missed. Default 5 min. */
  endsAheadMs?: number;
  /** How long an alert fires in an instance before its end is told: longer than its `group_wait`. Default 60 s. */
  openMs?: number;
  /** Makes a signal that aborts after so many milliseconds, for tests that move time by hand. Default: real time. */
  abortAfter?: (ms: number) => AbortSignal;
}

interface Neighbour {
  instance: AlertmanagerInstance;
  memory: AlertmanagerMemory;
  /** It has not answered a former round yet, and is told nothing until it has, or until that round's time is over. */
  isBusy: boolean;
}

const name = 'alertmanager';
const unanswered: InstanceAnswer = { outcomes: new Map(), status: null };

/** Throws `settings.invalid` when an address is not http(s) or holds user info, or when there is none. */
export function makeAlertmanagerSink(options: AlertmanagerOptions): AlertSink {
  const {
    urls,
    generatorUrl = null,
    timeoutMs = 10_000,
    othersMs = 1_000,
    endsAheadMs = 300_000,
    openMs = 60_000,
    abortAfter = (ms) => AbortSignal.timeout(ms),
  } = options;
  if (urls.length === 0) throw new Problem('settings.invalid', 'no Alertmanager address is given');
  urls.forEach(checkAddress);
  const neighbours = urls.map((url) => ({
    instance: makeAlertmanagerInstance(url),
    memory: makeAlertmanagerMemory(openMs),
    isBusy: false,
  }));

  async function tell(neighbour: Neighbour, alerts: Alert[], nowMs: number): Promise<InstanceAnswer> {
    const { instance, memory } = neighbour;
    const deadline = abortAfter(timeoutMs);
    const look = await instance.look(deadline).catch(() => null);
    if (look === null) return unanswered;
    memory.begin(look.life, look.aheadMs);
    const tellings = alerts.map((alert) => tellingOf(alert, memory, nowMs, endsAheadMs));
    const parcels = alerts.map((alert, index) => ({
      fingerprint: alert.fingerprint,
      payloads: payloadsOf(
        alert,
        tellings[index] as Telling,
        goingOnAs(alert, memory),
        nowMs,
        generatorUrl,
      ).map((payload) => onClock(payload, look.aheadMs)),
    }));
    const answer = await instance.post(parcels, deadline);
    alerts.forEach((alert, index) => {
      const isTaken = answer.outcomes.get(alert.fingerprint) === 'taken';
      if (isTaken) memory.told(alert, tellings[index] as Telling, toldSeverityOf(alert), nowMs);
    });
    return answer;
  }

  async function tellFree(neighbour: Neighbour, alerts: Alert[], nowMs: number): Promise<InstanceAnswer> {
    if (neighbour.isBusy) return unanswered;
    neighbour.isBusy = true;
    return tell(neighbour, alerts, nowMs).finally(() => {
      neighbour.isBusy = false;
    });
  }

  /** The news of one that answers wait for no other: one that hangs is left to itself. */
  async function tellAll(alerts: Alert[], nowMs: number): Promise<InstanceAnswer[]> {
    const answers = neighbours.map(() => unanswered);
    const told = neighbours.map(async (neighbour, at) => {
      const answer = await tellFree(neighbour, alerts, nowMs);
      answers[at] = answer;
      return answer;
    });
    const isEnough = told.map(async (one) => {
      if (isWhole(await one, alerts)) await over(abortAfter(othersMs));
      else await Promise.all(told);
    });
    await Promise.race([Promise.all(told), ...isEnough]);
    return [...answers];
  }

  return {
    name,
    repeats: true,
    keeps: true,
    async post(alerts, nowMs) {
      const valid = alerts.filter((alert) => areLabelsValid(labelsOf(alert, alert.severity)));
      const answers = await tellAll(valid, nowMs);
      const result = judge(alerts, new Set(valid), answers);
      if (neighbours.length === 1 || valid.length === 0) return result;
      return {
        ...result,
        instances: neighbours.map((neighbour, at) => resultOf(neighbour, valid, answers[at])),
      };
    },
  };
}

/** It answered for every alert, whatever it made of it. */
function isWhole({ outcomes }: InstanceAnswer, alerts: Alert[]): boolean {
  return alerts.every(({ fingerprint }) => (outcomes.get(fingerprint) ?? 'failed') !== 'failed');
}

function over(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
}

function checkAddress(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain =
    parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username + parsed.password === '';
  if (!isPlain) {
    throw new Problem(
      'settings.invalid',
      'an Alertmanager address is not an http(s) address without user info',
    );
  }
}

function tellingOf(alert: Alert, memory: AlertmanagerMemory, nowMs: number, endsAheadMs: number): Telling {
  if (alert.state === 'firing') return { firingUntilMs: nowMs + endsAheadMs };
  return memory.howToEnd(alert, alert.sent[name], nowMs);
}

function toldSeverityOf({ state, severity, sent }: Alert): Severity {
  return state === 'resolved' ? (sent[name]?.severity ?? severity) : severity;
}

/** What begins may fire there still, for the end of what was before. */
function goingOnAs(alert: Alert, memory: AlertmanagerMemory): Severity[] {
  const openAs = alert.state === 'firing' ? memory.openAs(alert) : null;
  return openAs === null ? [] : [openAs];
}

/** The alert itself and the ends of all other label sets by which the instance may know it: its severity is a label. */
function payloadsOf(
  alert: Alert,
  telling: Telling,
  goingOn: Severity[],
  nowMs: number,
  generatorUrl: string | null,
): PostableAlert[] {
  const severity = toldSeverityOf(alert);
  const endsAtMs = telling.firingUntilMs ?? alert.resolvedAtMs ?? nowMs;
  const known = new Set([...severitiesOf(alert.sent[name]), ...goingOn]);
  const others = [...known].filter((other) => other !== severity);
  const told = telling.firingUntilMs === null ? alert : toldAgainOf(alert);
  return [
    postable(told, severity, endsAtMs, generatorUrl),
    ...others.map((other) => postable(alert, other, nowMs, generatorUrl)),
  ];
}

/** Of one instance: that of the alert that fared worst. */
function resultOf(
  { instance }: Neighbour,
  alerts: Alert[],
  answer: InstanceAnswer | undefined,
): InstanceResult {
  const outcomes = alerts.map(({ fingerprint }) => answer?.outcomes.get(fingerprint) ?? 'failed');
  const outcome = outcomes.includes('failed')
    ? 'unreachable'
    : outcomes.includes('refused')
      ? 'refused'
      : 'accepted';
  return { name: instance.name, outcome, status: answer?.status ?? null };
}

/** Taken when one instance took it; refused when every answer was a refusal. The status is that of the worst answer. */
function judge(alerts: Alert[], valid: Set<Alert>, answers: InstanceAnswer[]): PostResult {
  const [worst] = answers.map(({ status }) => status).sort((left, right) => (right ?? 600) - (left ?? 600));
  const result: PostResult = { taken: [], failed: [], status: worst ?? null };
  for (const alert of alerts) {
    const { fingerprint } = alert;
    const outcomes = answers.map((answer) => answer.outcomes.get(fingerprint) ?? 'failed');
    if (!valid.has(alert)) result.failed.push({ fingerprint, retry: false });
    else if (outcomes.includes('taken')) result.taken.push(fingerprint);
    else result.failed.push({ fingerprint, retry: outcomes.includes('failed') });
  }
  return result;
}
