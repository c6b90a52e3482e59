// Holds every event against the read, or the change of an access, that decided it, and these against their events: each
// record names one that decided it and no other, and what is on record as published, or as a change, was decided. Pure.
import type { Row } from '../support/evidence';
import type { DecidedEvent } from '../support/ledger-checker';
import type { Finding, ProofEvidence } from './check';

export function checkCauses(evidence: ProofEvidence): Finding[] {
  return [...checkTraced(evidence), ...checkReads(evidence), ...checkTransitions(evidence)];
}

/** So many changes of the access of each organization stay on record; of an older one nothing is known any more. */
const transitionsKept = 100;

function checkTraced({ ledger, tables, states }: ProofEvidence): Finding[] {
  const decidedBy = new Map([
    ...tables.reads.map(({ task_id, fence, event_id }): [string, Row[string]] => {
      return [`read ${task_id}/${fence}`, event_id!];
    }),
    ...states.history.map((row): [string, undefined] => [causeOf(row), undefined]),
  ]);
  const oldest = new Map(
    [...Map.groupBy(states.history, ({ organization_id }) => String(organization_id))]
      .filter(([, kept]) => kept.length >= transitionsKept)
      .map(([id, kept]) => [id, Math.min(...kept.map(({ epoch }) => Number(epoch)))]),
  );
  const isOlder = (cause: string) => {
    const [, id = '', epoch = ''] = /^access (.+)\/([1-9]\d*)$/.exec(cause) ?? [];
    return Number(epoch) < (oldest.get(id) ?? 0);
  };
  const wrongWith = (event: DecidedEvent): string | null => {
    const { cause, eventId } = event;
    if (!mayDecide(event)) return 'which decides no such record';
    if (!decidedBy.has(cause)) return isOlder(cause) ? null : 'which is not on record';
    const decided = decidedBy.get(cause);
    return decided === undefined || decided === eventId ? null : `which decided ${decided ?? 'nothing'}`;
  };
  return ledger.events.flatMap((event): Finding[] => {
    const wrong = wrongWith(event);
    const { key, sequence, cause } = event;
    if (wrong === null) return [];
    return [{ kind: 'untraced', text: `${key} ${sequence} traces to ${cause || 'nothing'}, ${wrong}` }];
  });
}

/** A resource is published by a read, the access of an organization by a change of that. */
function mayDecide({ key, cause }: DecidedEvent): boolean {
  const [organizationId, kind] = key.split('/');
  return cause.startsWith(kind === 'organization-access' ? `access ${organizationId}/` : 'read ');
}

const causeOf = ({ organization_id, epoch }: Row): string => `access ${organization_id}/${epoch}`;

/** What is told as published names its event; whether that was decided is the ledger's to check. */
function checkReads({ tables }: ProofEvidence): Finding[] {
  return tables.reads
    .filter(({ outcome, event_id }) => outcome === 'published' && event_id === null)
    .map(({ task_id, fence }) => {
      return { kind: 'vanished', text: `read ${task_id}/${fence} is told as published and names no event` };
    });
}

/** Each change of an access on record is told once, as what it is. */
function checkTransitions({ ledger, states }: ProofEvidence): Finding[] {
  const byCause = Map.groupBy(ledger.events.filter(mayDecide), ({ cause }) => cause);
  return states.history.flatMap((row): Finding[] => {
    const cause = causeOf(row);
    const [event, again] = byCause.get(cause) ?? [];
    if (event === undefined)
      return [{ kind: 'vanished', text: `${cause} made it ${row.access}, and no event tells of it` }];
    if (again !== undefined)
      return [{ kind: 'invented', text: `${cause} is told as ${event.sequence} and as ${again.sequence}` }];
    const told = accessIn(event);
    if (told === row.access) return [];
    return [{ kind: 'untrue', text: `${cause} made it ${row.access}, ${event.sequence} tells ${told}` }];
  });
}

function accessIn({ value }: DecidedEvent): unknown {
  try {
    return (JSON.parse(value) as { access?: unknown } | null)?.access;
  } catch {
    return undefined;
  }
}
