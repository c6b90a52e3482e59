/**
 * One write to the provider: through the gate, signed, sent once, and what it says when it takes it. Whether a write was
 * acted upon without an answer, a list tells.
 */
import type { RawFault, RawRead } from '../model/provider-data';
import type { Line } from './ask';
import { Attempt } from './attempt';
import type { Callers } from './caller';
import type { Method } from './client';
import type { Gate } from './gate';
import type { Operation } from './options';
import type { Organizations } from './organizations';
import { answerOf, faultOf, type Reach } from './reach';

export interface WriteParts {
  gate: Gate;
  line: Line;
  callers: Callers;
  organizations: Organizations;
  timeoutMs: number;
}

export interface Write {
  method: Exclude<Method, 'GET' | 'DELETE'>;
  address: string;
  operation: Operation;
  /** Written as JSON. */
  body: unknown;
}

/** What the provider says to a write that it takes. */
export interface Written {
  location: string | null;
  /** null where it says nothing. */
  body: unknown;
}

export type WriteDocument = (write: Write, reach: Reach) => Promise<RawRead<Written>>;

/** Never rejects. */
export function makeWriteDocument(parts: WriteParts): WriteDocument {
  const { gate, line, callers, organizations } = parts;
  return async ({ method, address, operation, body }, reach) => {
    const { connection, organizationId } = reach;
    const attempt = new Attempt(parts.timeoutMs);
    try {
      const caller = callers.within(attempt);
      const catalog = await caller.catalog(connection, false);
      if ('answer' in catalog) return { fault: faultOf(catalog.answer, null, organizationId) };
      const admission = gate.admit(address);
      if (!admission.admitted) {
        const { code, detail } = admission;
        return { fault: faultOf({ kind: 'address-refused', code, detail }, null, organizationId) };
      }
      const question = { url: admission.url, operation, connection } as const;
      const exchange = await line.exchange({ ...question, method, body }, attempt);
      const taken = exchange.status !== null && exchange.status >= 200 && exchange.status < 300;
      const location = (taken && exchange.headers.location) || null;
      if (taken && exchange.body.length === 0) return { value: { location, body: null } };
      // What says something says it as a read does: a page of a gateway on the way is no word of the provider.
      const verdict = line.verdictOf(taken ? { ...exchange, status: 200 } : exchange, question);
      if (verdict.kind === 'ok') return { value: { location, body: verdict.document.body } };
      const answer = await answerOf(verdict, reach, organizations, caller);
      return { fault: faultOf(answer, address, organizationId) };
    } finally {
      attempt.end();
    }
  };
}

/** It did not reach the provider, or not as a request of ours. */
const unsent = new Set([
  'address-private',
  'connection-refused',
  'name-not-resolved',
  'request-invalid',
  'tls-refused',
  'signature-refused',
]);

/** Asked for again, what was created without an answer would be there twice. `list`: the command that shows what there is. */
export function asUnanswered(fault: RawFault, list: string): RawFault {
  if (fault.answer?.kind !== 'transient' || fault.address === null) return fault;
  // No origin: the token could not be renewed, so that none was asked.
  if (fault.answer.origin === '' || unsent.has(fault.answer.code)) return fault;
  const advice = `it may have been created all the same: see \`tramline ${list}\` before it is asked for again`;
  return { ...fault, detail: `${fault.detail}; ${advice}` };
}
