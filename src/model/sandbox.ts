/**
 * What an application in the provider's sandbox may use, and has used. Shapes and arithmetic only; imports nothing.
 */

export type SandboxLimit = 'calls' | 'organizations' | 'test-organizations' | 'months';

export interface SandboxUse {
  limit: SandboxLimit;
  used: number;
  most: number;
  left: number;
  /** For people: of which month, until when. */
  detail: string;
}

/** `limits` is empty in production, where none are known. */
export interface SandboxView {
  plan: 'sandbox' | 'production';
  limits: SandboxUse[];
}

/** Calls in a calendar month of UTC, organizations connected, those of them made for tests, months from the first day on. */
export const sandboxMost: Record<SandboxLimit, number> = {
  calls: 150_000,
  organizations: 5,
  'test-organizations': 1,
  months: 18,
};

/** `2026-01`, of UTC. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** The same time of day so many months later; what a month has too few of its days goes into the next one. */
export function monthsLater(fromMs: number, months: number): number {
  return new Date(fromMs).setUTCMonth(new Date(fromMs).getUTCMonth() + months);
}

/**
 * Months from one time to another, to a tenth and never rounded up: so many are over only from `monthsLater` on. Never
 * negative.
 */
export function monthsBetween(fromMs: number, toMs: number): number {
  const from = new Date(fromMs);
  const to = new Date(toMs);
  let whole = (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  if (monthsLater(fromMs, whole) > toMs) whole -= 1;
  const beganMs = monthsLater(fromMs, whole);
  const part = (toMs - beganMs) / (monthsLater(fromMs, whole + 1) - beganMs);
  return Math.max(0, Math.floor((whole + part) * 10) / 10);
}

/** What is used of a limit and what is left of it, to a tenth, never below 0. */
export function useOf(limit: SandboxLimit, used: number, detail: string): SandboxUse {
  const most = sandboxMost[limit];
  return { limit, used, most, left: Math.max(0, Math.round((most - used) * 10) / 10), detail };
}
