/**
 * What the running process notices of itself and keeps for the alerts: a clock that differs from the provider's, and
 * tokens that no configured key opens. Pure memory; each is over by itself when it is not noticed any more.
 */
import type { Condition } from '../model/alert';
import type { Clock } from '../tools/clock';

export interface ProcessWatch {
  /** The provider's clock minus ours, as an answer had it. */
  heardClock(offsetMs: number): void;
  /** A stored token could not be opened. `detail` names the key, never the token. */
  decryptionFailed(detail: string): void;
  /** All stored tokens could be opened. */
  decryptionSucceeded(): void;
  conditions(): Condition[];
}

/** The provider refuses signatures that are five minutes off; its `Date` has whole seconds. */
const offsetMsMax = 60_000;
const rememberedMs = 900_000;
/** One answer may be a host's whose own clock is wrong: a clock is off that is off so long, with no right answer between. */
const clockOffMsMin = 10_000;
/** The shortest time for which deliveries and events may be kept, by this clock: one that is as far off ends it at once. */
const keptMsMin = 86_400_000;
const givenUp = 'What is kept for a number of days may be given up too early.';

/**
 * Remembers what it noticed for a quarter of an hour, one entry for each name of a condition. Never throws. A clock
 * counts as off from 60 s on, once answers say so for 10 s. `signs`: something is signed here, or known by its signature, which a clock that is off refuses;
 * where nothing is, nothing is lost by one that is off by less than a day. `host`: whose clock it is.
 */
export function makeProcessWatch(
  clock: Pick<Clock, 'nowMs' | 'steadyMs'>,
  signs: () => boolean,
  host: string,
): ProcessWatch {
  const noticed = new Map<Condition['name'], Condition & { firstMs: number; lastMs: number }>();
  let isFarOff = false;

  function notice(name: Condition['name'], detail: string, named: Pick<Condition, 'ids'> = {}): void {
    const lastMs = clock.steadyMs();
    const { sinceMs, firstMs } = noticed.get(name) ?? { sinceMs: clock.nowMs(), firstMs: lastMs };
    noticed.set(name, { name, detail, ...named, sinceMs, firstMs, lastMs });
  }

  return {
    heardClock(offsetMs) {
      if (Math.abs(offsetMs) < offsetMsMax) return void noticed.delete('clock-off');
      const seconds = Math.round(Math.abs(offsetMs) / 1000);
      const side = offsetMs < 0 ? 'behind' : 'ahead of';
      isFarOff = Math.abs(offsetMs) >= keptMsMin;
      notice(
        'clock-off',
        `The provider’s clock is ${seconds} s ${side} that of ${host}.${isFarOff ? ` ${givenUp}` : ''}`,
        // A pod's name looks like a token.
        { ids: [host] },
      );
    },
    decryptionFailed: (detail) => notice('decryption-failed', detail),
    decryptionSucceeded: () => void noticed.delete('decryption-failed'),
    conditions() {
      const now = clock.steadyMs();
      for (const [name, { lastMs }] of noticed) if (now - lastMs >= rememberedMs) noticed.delete(name);
      const told = [...noticed.values()].filter(
        ({ name, firstMs, lastMs }) => name !== 'clock-off' || lastMs - firstMs >= clockOffMsMin,
      );
      return told.map(({ firstMs: _firstMs, lastMs: _lastMs, ...condition }) =>
        condition.name === 'clock-off' && !isFarOff && !signs()
          ? { ...condition, losesNothing: true }
          : condition,
      );
    },
  };
}
