/**
 * A field operation is asked for with its measurements. One that comes without them is an answer in which that was not
 * heard: what is absent is not empty. Pure.
 */
import type { Answer } from '../model/answer';
import { fieldOperationEmbeds } from './embed';

/** The answer, or one that waits where a field operation lacks what was asked for with it. */
export function wholeOperation(answer: Answer): Answer {
  if (answer.kind !== 'ok') return answer;
  const { body, address, connectionId } = answer.document;
  if (typeof body !== 'object' || body === null) return answer;
  if ((body as { '@type'?: unknown })['@type'] !== 'FieldOperation') return answer;
  const missing = fieldOperationEmbeds.find((embed) => !Object.hasOwn(body, embed));
  if (missing === undefined) return answer;
  return {
    kind: 'transient',
    code: 'embed-unanswered',
    detail: `expected ${missing}, which was asked for, got none`,
    path: `/${missing}`,
    origin: new URL(address).origin,
    connectionId,
    retryAfterMs: null,
  };
}
