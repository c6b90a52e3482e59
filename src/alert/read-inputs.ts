/**
 * Reads what alerts are made of, no more often than its cost allows: reading all organizations that are blocked may take
 * the store as long as hundreds of deliveries. Keeps what was read last; decides nothing about alerts.
 */
import type { AlertInputs } from '../model/alert';
import type { Alerts } from '../model/store';
import type { Clock } from '../tools/clock';

/** After a read that took so long, this many times as long passes before the next, when something changed. */
const restWhenChanged = 2;
/** And when nothing changed that begins or ends an alert. */
const restWhenSame = 20;
/** A page must not wait for the first, nor a text for the second, however long the store takes. */
const changedMsMax = 500;
const sameMsMax = 5000;

/**
 * Throws what the store throws. The same object as before means that nothing was read. What was read is given again for
 * at most 500 ms unasked, and for at most 5 s while the store's mark is the same.
 */
export function makeReadInputs(
  store: Pick<Alerts, 'alertInputs' | 'alertMark'>,
  clock: Clock,
): () => Promise<AlertInputs> {
  let last: { inputs: AlertInputs; mark: string; atMs: number; tookMs: number } | null = null;

  async function isFresh(): Promise<boolean> {
    if (last === null) return false;
    const { mark, atMs, tookMs } = last;
    const agedMs = clock.nowMs() - atMs;
    // A clock that was set back says nothing about age.
    if (agedMs < 0 || agedMs >= Math.min(restWhenSame * tookMs, sameMsMax)) return false;
    if (agedMs < Math.min(restWhenChanged * tookMs, changedMsMax)) return true;
    return (await store.alertMark()) === mark;
  }

  return async () => {
    if (last !== null && (await isFresh())) return last.inputs;
    const beganMs = clock.nowMs();
    // Before what it stands for: a change in between is seen the next time.
    const mark = await store.alertMark();
    const inputs = await store.alertInputs();
    const atMs = clock.nowMs();
    last = { inputs, mark, atMs, tookMs: atMs - beganMs };
    return inputs;
  };
}
