/**
 * What a search through listings could not see: a list that was not read to its end, an entry that says neither what it
 * is nor where, a link that cannot be used. None of it is absence: who looks for a resource waits for it. Pure.
 */
import type { Answer } from '../model/answer';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import type { WholePage } from './pages';
import {
  idOf,
  noteUnreadable,
  type PartialEnd,
  partialSentence,
  unreadableSentence,
  withoutId,
} from './pages';
import { answerOnTheWay, type Way, waitingAnswer } from './waiting-answer';

/** `failed`: the provider did not answer with a page, so that more of the same kind is not asked for. */
export interface Unseen {
  answer: Answer;
  failed: boolean;
}

export function unseenAs(detail: string, way: Way): Unseen {
  return { answer: waitingAnswer(way, detail), failed: false };
}

/** What stands behind the end of a list that was not read to its end. */
export function unseenBehind(page: PartialEnd, way: Way): Unseen {
  const { verdict } = page;
  if (verdict === null) return unseenAs(partialSentence(page), way);
  return { answer: answerOnTheWay(verdict, way), failed: true };
}

/** What says neither what it is nor where may be what is sought; null where a page holds none of that. */
export function unseenAmong(page: WholePage, way: Way): Unseen | null {
  const unread = noteUnreadable(null, page, (value) => (idOf(value) === null ? withoutId(value) : null));
  return unread === null ? null : unseenAs(unreadableSentence(unread), way);
}

/** What is listed is there, whatever its link is worth; `refusal`: what the gate says to that link. */
export function unseenItem(item: unknown, refusal: string, way: Way): Unseen {
  const missing = unreadLinkOf(unreadLinksOf(item), ['self']) ?? 'expected a link `self`, got none';
  const trouble = linksOf(item).has('self') ? refusal : missing;
  return unseenAs(`it is listed, but its address cannot be used: ${trouble}`, way);
}

/** A failure of one organization alone. */
export function isLocal(answer: Answer): boolean {
  return (
    answer.kind === 'action-required' ||
    (answer.kind === 'transient' && answer.code === 'relocation-incomplete')
  );
}
