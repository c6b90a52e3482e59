/**
 * A notification that was set aside, judged once more from the bytes that were kept of it: by the same rules, which may
 * have changed since. Whose subscription it was of is no longer known, since its token was not kept.
 */
import type { Element } from '../model/notification';
import type { Secret } from '../tools/secret';
import { makeJudge } from './judge';
import { readBody } from './read-body';
import type { EventTypes } from './settings';

/** null when what was kept is no whole notification: it was cut. Never throws. */
export type Rejudge = (raw: string) => Element | null;

/** Judges one element that was set aside once more, by the settings of today; null where its text cannot be read. */
export function makeRejudge(eventTypes: EventTypes, secrets: () => readonly Secret[]): Rejudge {
  const judge = makeJudge(eventTypes, secrets);
  return (raw) => {
    const reading = readBody(Buffer.from(`[${raw}]`));
    if ('fault' in reading || reading.elements.length !== 1) return null;
    const [element] = reading.elements;
    const repeated = reading.repeated.get(0);
    if (repeated !== undefined) return judge.setAside(element, 'repeated-member', repeated.path, repeated);
    return judge.judge(element, null);
  };
}
