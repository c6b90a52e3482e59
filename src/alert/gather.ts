/**
 * Holds new signals back for a moment, so that many of one kind are recognised as one incident before the first of
 * them pages. Where many organizations are still to be asked whether they are blocked, those that are known to be wait for
 * them: probes have a budget, and the first second may not see enough. Keeps only since when; a restart gathers anew.
 */
import type { Alert, AlertInputs, Signal } from '../model/alert';
import { conditionRows } from './catalogue';
import { fingerprintOf } from './fingerprint';

export interface Gathered {
  passed: Signal[];
  /** New ones that wait: nobody is told of them yet, but what they cover is not over. */
  held: Signal[];
}

export interface GatherOptions {
  /** What is new waits so long for more of its kind. */
  gatherMs: number;
  /** More organizations than this may be one incident: nobody is told of one of them before that is known. */
  groupAbove: number;
}

/** What pages for the store, of which there is one: many of its kind never come, and what it delays is all the rest. */
const alone = conditionRows['store-unavailable'].name;

/** How many organizations are still to be asked whether they are blocked. */
export type Suspects = Pick<AlertInputs, 'suspected' | 'refused'>;

export type Gather = (signals: Signal[], suspects: Suspects, alerts: Alert[], steadyMs: number) => Gathered;

/** Nobody waits longer for what is suspected, however small the budget of probes. */
const suspectMsMax = 30_000;

/**
 * Signals of firing alerts pass; new ones pass together, `gatherMs` after the first of them was seen. One of a single
 * organization is held for longer while it could, with those that are suspected, be one of many: those of which a
 * request was refused; what is asked for other reasons only while one after the other is found blocked. Nothing is held
 * for longer than 30 s for what is suspected. A store that is away passes at once.
 */
export function makeGather({ gatherMs, groupAbove }: GatherOptions): Gather {
  let sinceMs: number | null = null;
  /** How many of one organization were held at the most, and since when. */
  let grown = { count: 0, atMs: 0 };
  return (signals, { suspected, refused }, alerts, steadyMs) => {
    const open = new Set(alerts.filter(({ state }) => state === 'firing').map((alert) => alert.fingerprint));
    const isAtOnce = (signal: Signal) =>
      signal.name === alone || open.has(fingerprintOf(signal.name, signal.labels));
    const passed = signals.filter(isAtOnce);
    if (signals.length === passed.length) {
      sinceMs = null;
      return { passed, held: [] };
    }
    if (sinceMs === null) grown = { count: 0, atMs: steadyMs };
    sinceMs ??= steadyMs;
    const heldMs = steadyMs - sinceMs;
    const fresh = signals.filter((signal) => !isAtOnce(signal));
    const lone = fresh.filter(isOfOne);
    if (lone.length > grown.count) grown = { count: lone.length, atMs: steadyMs };
    if (heldMs < gatherMs) return { passed, held: fresh };
    const alike = steadyMs - grown.atMs < gatherMs ? suspected : refused;
    const held = alike > 0 && heldMs < suspectMsMax ? mayBeMany(lone, groupAbove - alike) : [];
    if (held.length > 0) {
      const waits = new Set(held);
      return { passed: signals.filter((signal) => !waits.has(signal)), held };
    }
    sinceMs = null;
    return { passed: signals, held: [] };
  };
}

/** Those of which there are more than `others`, each cause by itself: with those that are suspected they may be many. */
function mayBeMany(lone: Signal[], others: number): Signal[] {
  return [...Map.groupBy(lone, ({ name }) => name).values()].filter(({ length }) => length > others).flat();
}

/** Does it tell of one organization or connection, of which many would be one incident? */
function isOfOne({ covers }: Signal): boolean {
  return covers?.untilMs === null;
}
