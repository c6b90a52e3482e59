/**
 * What an answer says in words, for a person: the provider's own, or what was expected and what came, until when it wants
 * a pause, and where a customer acts. Imports nothing but types; decides nothing. Credentials that the provider quotes
 * are still in it.
 */
import type { Answer } from './answer';

/** What is said of a refused client key when the provider gave no words. */
export const unnamedRefusal = 'the provider refuses the client key without saying why';

type Wordy = Answer | { message: string | null };

/** At most some hundred characters; null where nothing was said. */
export function wordsIn(answer: Wordy): string | null {
  if ('message' in answer) return answer.message || null;
  if ('untilMs' in answer) return `nothing is asked of it before ${new Date(answer.untilMs).toISOString()}`;
  return 'detail' in answer ? answer.detail || null : null;
}

/**
 * To be added to the sentence that it explains; empty where there is nothing to add. The words come last: of a credential
 * that was cut off with its end, only the end of a text is looked at.
 */
export function toldIn(answer: Wordy): string {
  const words = wordsIn(answer);
  const place =
    'actionUrl' in answer && answer.actionUrl !== null ? `; a customer acts at ${answer.actionUrl}` : '';
  return words === null ? place : `${place} – ${words}`;
}
