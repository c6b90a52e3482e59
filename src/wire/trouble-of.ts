/**
 * Where a loop's failures go: what heals itself is trouble of a place, anything else a fault of ours. Nothing is decided
 * from it.
 */
import { isProblem } from '../model/problem';
import type { Place } from '../observe/lines';
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
