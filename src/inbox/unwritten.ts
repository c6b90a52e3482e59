/**
 * When the store is known to take again what a read found: the first that it takes makes due what waits since it did not.
 */
import { isProblem } from '../model/problem';

export interface Unwritten {
  /** What was found could not be written; only a store that is away is meant. */
  failed(error: unknown): void;
  wrote(): void;
  /** It took something since the last failure. */
  takesAgain(): boolean;
}

/** `over` is called once for all that failed before. Never throws but what that throws. */
export function makeUnwritten(over: () => void): Unwritten {
  let isAny = false;
  return {
    failed(error) {
      isAny ||= isProblem(error, 'store.unavailable');
    },
    wrote() {
      if (!isAny) return;
      isAny = false;
      over();
    },
    takesAgain: () => !isAny,
  };
}
