// How long what goes wrong lasts in the suites of faults: as little as shows it, or, with REAL_DURATIONS=1, as long as the
// row says. Only this file reads that variable. A wait that is not the fault itself does not belong here.

const takesReal = process.env.REAL_DURATIONS === '1';

/** In milliseconds: `shortMs` when the tests run, `realMs` on demand. */
export const lasts = (shortMs: number, realMs: number): number => (takesReal ? realMs : shortMs);

export const minuteMs = 60_000;

/** The limit of a test in which something lasts: what it takes beside that, and that. */
export const limitWith = (besidesMs: number, shortMs: number, realMs: number): number =>
  besidesMs + lasts(shortMs, realMs);
