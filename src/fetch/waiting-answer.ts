/**
 * What a call on the way (catalog, listing, organization) means for the read that needed it, when it failed. That such
 * an address is gone or refused says nothing about the resource: it never becomes `gone`, `refused` or `no-access`, the
 * read waits instead. Pure.
 */
import type { NoDocument } from '../model/answer';
import type { Cut } from './attempt';
import type { Forbidden } from './classify';

/** What was asked for on the way: the code under which the read waits, and where. */
export interface Way {
  code:
    | 'catalog-unavailable'
    | 'organization-unavailable'
    | 'organization-unlisted'
    | 'relocation-incomplete'
    | 'equipment-names'
    | 'address-unsteady';
  origin: string;
  connectionId: string;
}

/** A verdict other than `ok`, as an answer about the read. */
export function answerOnTheWay(verdict: NoDocument | Forbidden, way: Way): NoDocument {
  switch (verdict.kind) {
    case 'gone':
    case 'not-modified':
      return waitingAnswer(way, verdict.kind);
    case 'refused':
      return waitingAnswer(way, verdict.detail);
    case 'forbidden': {
      const { connectionId, message } = verdict;
      if (verdict.client) return { kind: 'client-refused', connectionId, message };
      return { ...waitingAnswer(way, message ?? 'refused'), forbidden: true };
    }
    default:
      return verdict;
  }
}

/** The attempt was cut while work that it shares with others went on. */
export function cutOnTheWay(cut: Cut, way: Way): NoDocument {
  if (cut === 'aborted') return { kind: 'aborted' };
  return { ...waitingAnswer(way, 'not within the time of the attempt'), code: 'deadline' };
}

/** Worth another attempt. */
export function waitingAnswer({ code, origin, connectionId }: Way, detail: string) {
  return {
    kind: 'transient',
    code: code as string,
    detail,
    origin,
    connectionId,
    retryAfterMs: null,
  } as const;
}
