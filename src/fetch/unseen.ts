/**
 * What a search through listings could not see: a list that is not shown to this user or was not read to its end, an entry
 * that says neither what it is nor where, a link that cannot be used. None of it is absence: who looks for a resource
 * waits for it. Pure.
 */
import type { NoDocument } from '../model/answer';
import { wordsIn } from '../model/answer-words';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import type { OrganizationSeen } from './organizations';
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
  answer: NoDocument;
  failed: boolean;
  /** What was expected and what came, and where that is known. */
  detail: string;
  /** Nothing is amiss: this user is not shown it. What an address says for certain needs no look there. */
  unshared?: true;
}

export function unseenAs(detail: string, way: Way): Unseen {
  return { answer: waitingAnswer(way, detail), failed: false, detail };
}

export function unsharedAs(detail: string, way: Way): Unseen {
  const answer = { ...waitingAnswer(way, detail), forbidden: true } as const;
  return { answer, failed: false, detail, unshared: true };
}

/** A call on the way that was not answered as it should be. */
export function unseenFor(answer: NoDocument): Unseen {
  return { answer, failed: true, detail: wordsIn(answer) ?? answer.kind };
}

/**
 * Which of these lists an organization does not show to this user, since its links depend on what is shared, or cannot show
 * for a link that cannot be read; null where it shows all of them. One that is not connected is none that shares less.
 */
export function unsharedOf(
  { id, links, unread, unconnected }: OrganizationSeen,
  rels: readonly string[],
  way: Way,
): Unseen | null {
  const missing = rels.filter((rel) => !links.has(rel));
  if (missing.length === 0) return null;
  const broken = unreadLinkOf(unread, missing);
  if (broken !== null) return unseenAs(broken, way);
  if (unconnected) return null;
  const expected = missing.map((rel) => `\`${rel}\``).join(' and ');
  const detail = `organization ${id}: expected a link to ${expected}, got none: not shared with this user`;
  return unsharedAs(detail, way);
}

/** The one of two that is told, and the first of equals: what will not be shown by waiting comes last. */
export function graver(one: Unseen | null, other: Unseen | null): Unseen | null {
  if (one === null || other === null) return one ?? other;
  return gravityOf(other) > gravityOf(one) ? other : one;
}

function gravityOf(unseen: Unseen): number {
  if (unseen.unshared) return 0;
  return isWithheld(unseen) ? 1 : 2;
}

/** Not shared with this user, or refused to it: the provider is as it always is. */
export function isWithheld({ answer }: Unseen): boolean {
  return answer.kind === 'transient' && answer.forbidden === true;
}

/** What stands behind the end of a list that was not read to its end. */
export function unseenBehind(page: PartialEnd, way: Way): Unseen {
  const { verdict } = page;
  const detail = partialSentence(page);
  if (verdict === null) return unseenAs(detail, way);
  const answer = answerOnTheWay(verdict, way);
  const isOurs = answer.kind === 'transient' && answer.code === way.code;
  return { answer: isOurs ? { ...answer, detail } : answer, failed: true, detail };
}

/** What one of several organizations does not show: told with its name, and as closed where the provider refuses it. */
export function unseenIn(organizationId: string, unseen: Unseen, way: Way): Unseen {
  if (unseen.unshared) return unseen;
  const closed = isWithheld(unseen) || unseen.answer.kind === 'action-required';
  const detail = `organization ${organizationId}${closed ? ' is closed' : ''}: ${unseen.detail}`;
  const told = unseenAs(detail, way);
  return closed ? { ...told, answer: { ...waitingAnswer(way, detail), forbidden: true } } : told;
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
export function isLocal(answer: NoDocument): boolean {
  return (
    answer.kind === 'action-required' ||
    (answer.kind === 'transient' && answer.code === 'relocation-incomplete')
  );
}
