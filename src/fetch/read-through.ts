/**
 * One read through whoever may make it. What its first reader does not find may only not be shared with that user: the
 * others who see its organization are asked before it counts as not found.
 */
import type { Answer, ReadCost } from '../model/answer';
import type { Connection } from '../model/connection';
import type { ResourceIdentity } from '../model/resource';
import { Attempt } from './attempt';
import type { Catalogs } from './catalogs';
import { type Claim, readersOf } from './choose-connection';
import type { Admission, Gate } from './gate';
import type { ProviderDoors } from './options';
import { noConnection } from './reach';
import type { ReadResource } from './read-resource';
import { wholeOperation } from './whole-operation';

export interface ReadRequest extends Claim {
  /** As the delivery or a link gave it; it passes the gate here. */
  address: string;
  /** null when it is not known yet which resource stands there. */
  resource: ResourceIdentity | null;
}

export interface ReadThroughParts {
  gate: Gate;
  catalogs: Catalogs;
  readResource: ReadResource;
  timeoutMs: number;
}

/** So many others are asked for what one did not find: all share one attempt. */
const othersMax = 4;

/** Never rejects; asks at most 4 others. */
export function makeReadThrough(
  { gate, catalogs, readResource, timeoutMs }: ReadThroughParts,
  doors: ProviderDoors,
) {
  async function readBy(connection: Connection, request: ReadRequest, attempt: Attempt): Promise<Answer> {
    if (catalogs.known(connection) === null) {
      const result = await catalogs.of(connection, attempt);
      if ('answer' in result) return result.answer;
    }
    // Only now the gate knows what is named for authorization.
    const admission = gate.admit(request.address);
    if (!admission.admitted) return refused(admission);
    const owner = ownerOf(request, connection);
    const wanted = { url: admission.url, identity: request.resource, owner, connection };
    return wholeOperation(await readResource(wanted, attempt));
  }

  /** A claimed owner counts only when the connection sees it, and never as certain. */
  function ownerOf({ organizationId, hintedOrganizationId: hinted }: Claim, { connectionId }: Connection) {
    if (organizationId !== null) return { organizationId, certain: true };
    const seen = hinted !== null && doors.sees(connectionId).has(hinted);
    return { organizationId: seen ? hinted : null, certain: false };
  }

  return async (request: ReadRequest, signal?: AbortSignal): Promise<{ answer: Answer; cost: ReadCost }> => {
    const admission = gate.admit(request.address);
    if (!admission.admitted) return { answer: refused(admission), cost: nothing };
    const readers = readersOf(request, doors.connections(), doors.sees);
    const { value: first } = readers.next();
    if (first === undefined) return { answer: noConnection(request, doors), cost: nothing };
    const attempt = new Attempt(timeoutMs, signal);
    let answer = await readBy(first, request, attempt);
    // Nobody else's token is shown for an owner that is only claimed.
    if (answer.kind === 'gone' && !answer.certain && request.organizationId !== null) {
      for (let asked = 0; asked < othersMax; asked += 1) {
        const { value: other } = readers.next();
        if (other === undefined) break;
        const told = await readBy(other, request, attempt);
        if (saysNothing(told)) continue;
        // Whether it is the resource's own failure shows what else is read where this one is, and the other may read nothing else.
        answer = told.kind === 'transient' ? { ...told, connectionId: first.connectionId } : told;
        break;
      }
    }
    return { answer, cost: attempt.end() };
  };
}

const nothing: ReadCost = { calls: 0, resends: 0, bytes: 0, tookMs: 0, status: null };

/** It is not shown to that user, for whatever reason. Any other answer says that it is there, or may be. */
function saysNothing(answer: Answer): boolean {
  if (answer.kind === 'transient') return answer.forbidden === true;
  return ['gone', 'no-access', 'refused-unattributed'].includes(answer.kind);
}

function refused({ code, detail }: Extract<Admission, { admitted: false }>): Answer {
  return { kind: 'address-refused', code, detail };
}
