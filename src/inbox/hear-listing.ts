/**
 * A listing on its way to whoever asked for it: what its calls tell of the provider as a whole is noted, as it is of
 * reads. Before the first listing nothing is read, so without this an outage at the start would page nobody. What the client
 * is refused of one organization's lists the sync that reads them tells.
 */
import type { Answer } from '../model/answer';
import { unnamedRefusal } from '../model/answer-words';
import type { Reading } from './failing';
import { failureWords } from './failure-words';
import type { ProviderHealth } from './provider-health';

export interface HearingDoors {
  health: Pick<ProviderHealth, 'succeeded' | 'failed' | 'clientRefused' | 'clientServed'>;
  nowMs(): number;
  /** An outage ended: what waited for it is to be made due. */
  outageEnded(): void;
  /** A list of organizations that the client key was refused is answered: what else waits since then is to be made due. */
  clientServed(): void;
}

/** What the list of organizations is: no one organization's. */
export const ofNobody = { organizationId: null, address: null, lastAttemptMs: null };

/** Yields the pages as they are; throws what they throw. */
export async function* hearListing<
  Page extends { partial: false } | { partial: true; answer: Answer | null },
>(pages: AsyncIterable<Page>, of: Reading, doors: HearingDoors): AsyncGenerator<Page, void> {
  const { health, nowMs, outageEnded } = doors;
  const listed = of.address === null ? `the organizations of ${of.connectionId}` : null;
  for await (const page of pages) {
    const answer = page.partial ? page.answer : null;
    if (!page.partial) {
      if (listed !== null && health.clientServed(listed)) doors.clientServed();
      if (health.succeeded(of, nowMs())) outageEnded();
    }
    // What a connection sees is asked until it is known.
    if (answer?.kind === 'client-refused' && listed !== null)
      health.clientRefused(listed, answer.message ?? unnamedRefusal, nowMs(), 'soon');
    if (answer?.kind === 'transient')
      health.failed({ ...of, origin: answer.origin }, failureWords(answer), nowMs());
    yield page;
  }
}
