/**
 * Where a loop's failures go: what heals itself is trouble of a place, anything else a fault of ours. Nothing is decided
 * from it.
 */
import type { LetGo } from '../alert/let-go';
import { isProblem } from '../model/problem';
import type { Place, Trouble } from '../observe/lines';
import type { Observer } from '../observe/observer';

/**
 * For what fails beside the path at `place`: a coded problem becomes a line of trouble, anything else a fault of our
 * own.
 */
export function troubleOf(observer: Observer, place: Place): (error: unknown) => void {
  return (error) => {
    const code = isProblem(error) ? error.code : 'fault';
    if (code === 'fault') observer.fault(place, error);
    else observer.trouble({ place, code, detail: error instanceof Error ? error.message : String(error) });
  };
}

/** Whose consents a stop could not keep. */
export function troubleOfLost(detail: string): Trouble {
  return { place: 'connections', code: 'grant-lost', detail };
}

/** What no sink is told any more is said once, since nobody else will. */
export function troubleOfLetGo({ alert, sinks }: LetGo): Trouble {
  const detail = `${sinks.join(', ')} could not be told for 30 days that ${alert.fingerprint} ended; look there.`;
  return { place: 'alert', code: 'alert.end-untold', detail };
}
