/**
 * Times for whoever is woken: to the minute, and how long ago that was, so that nobody reckons at night. Pure.
 */

const units: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
];

/** An ISO time in UTC as `2026-11-21T14:02Z, 3 h`; what lies ahead as `2026-11-21T14:02Z, in 3 h`. */
export function agedTime(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  return `${time.slice(0, 16)}Z, ${agoMs < 0 ? 'in ' : ''}${spanOf(Math.abs(agoMs))}`;
}

/** In the largest unit of which there are two, or in seconds: `90 min`, `47 h`, `3 d`. */
function spanOf(ms: number): string {
  const [name, size] = units.find(([, one]) => ms >= 2 * one) ?? units.at(-1)!;
  return `${Math.floor(ms / size)} ${name}`;
}
