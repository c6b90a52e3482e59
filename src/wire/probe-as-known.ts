/**
 * A probe that finds no connection is made once more where connections were read again meanwhile: another consent, or one
 * that is taken again, makes its organizations due in the store before every process knows of it. Otherwise such a probe,
 * which asks nobody anything, would count as one that brought no answer, and the next would come later for it. Where the user that
 * it asked is not listed the organization any more, another may be: the lists are asked for anew.
 */
import type { ConnectionBook } from '../connect/connection-book';
import type { Observer } from '../observe/observer';
import type { ProviderDoor } from '../pipeline';
import type { Clock } from '../tools/clock';

/** `wanted`: there is a connection whose sight is to be learned. Rejects as the store does. */
export function probeAsKnown(
  probe: ProviderDoor['probe'],
  book: () => Pick<ConnectionBook, 'connections' | 'follow' | 'soughtSince'>,
  wanted: () => void,
  clock: Pick<Clock, 'nowMs'>,
): ProviderDoor['probe'] {
  return async (due, signal) => {
    const known = book().connections();
    const answer = await probe(due, signal);
    if (answer.kind === 'refused-unattributed') book().soughtSince(clock.nowMs());
    if (answer.kind !== 'no-connection') return answer;
    if (await book().follow()) wanted();
    return book().connections() === known ? answer : probe(due, signal);
  };
}

/** An organization of which nothing may be asked stays as it is, however often it is probed: that is in the log. */
export function tellUnasked(
  probe: ProviderDoor['probe'],
  observer: Pick<Observer, 'trouble'>,
): ProviderDoor['probe'] {
  return async (due, signal) => {
    const answer = await probe(due, signal);
    if (answer.kind === 'address-refused') {
      const detail = `organization ${due.organizationId} cannot be asked: ${answer.detail}`;
      observer.trouble({ place: 'provider', code: answer.code, detail });
    }
    return answer;
  };
}
