// Holds everything against everything: what the sender saw accepted, what the journal holds, what stands on the topics,
// what the provider has, whom on-call still sees open. Pure; reads nothing.
import type { Tables } from '../support/evidence';
import {
  checkLedger,
  type LedgerEvidence,
  type TopicRecord,
  type Violation,
} from '../support/ledger-checker';
import {
  equipmentFacts,
  equipmentTruth,
  type Facts,
  fieldOperationFacts,
  fieldOperationTruth,
  firstDifference,
} from './truth';

export type Finding =
  | Violation
  | {
      kind:
        | 'untrue'
        | 'unpublished'
        | 'untraced'
        | 'unjournalled'
        | 'stranger'
        | 'dishonest'
        | 'answer'
        | 'told'
        | 'page'
        | 'end'
        | 'slow'
        | 'large';
      text: string;
    };

export type Truth = { id: string; organizationId: string; uri: string; content: Record<string, unknown> };

export type ProofEvidence = {
  ledger: LedgerEvidence;
  tables: Tables;
  /** How often the sender saw each address accepted. */
  acceptedByAddress: ReadonlyMap<string, number>;
  strangersLet: number;
  unexplained503: number;
  /** Answers to the true sender by status, but for 204; 0 where a connection broke. */
  others: Record<string, number>;
  /** Answers to it that came later than four seconds. */
  lateAnswers: number;
  /** The ledger as the service tells it at rest, before it is stopped. */
  toldLedger: Record<string, number>;
  truth: { equipment: Truth[]; fieldOperations: Truth[] };
  /** Addresses of which at least one notification was accepted. */
  announced: ReadonlySet<string>;
  /** What on-call still sees open at rest, and what it ought to see. */
  openPages: string[];
  expectedPages: string[];
  complaints: string[];
  /** From the last heal to rest. */
  restAfterMs: number;
  residentBytes: number[];
};

export const restMsMax = 60_000;
export const residentBytesMax = 400 * 1024 * 1024;

export function checkProof(evidence: ProofEvidence): Finding[] {
  return [
    ...checkLedger(evidence.ledger),
    ...checkCauses(evidence),
    ...checkJournal(evidence),
    ...checkTruth(evidence),
    ...checkAnswers(evidence),
    ...checkToldLedger(evidence),
    ...checkRest(evidence),
  ];
}

/** A record of a resource names the read that decided it, and that read is on record. */
function checkCauses({ ledger, tables }: ProofEvidence): Finding[] {
  const reads = new Set(tables.reads.map(({ task_id, fence }) => `read ${task_id}/${fence}`));
  return ledger.events
    .filter(({ cause }) => !reads.has(cause) && !/^access \S+\/\d+$/.test(cause))
    .map(({ key, sequence, cause }) => ({
      kind: 'untraced' as const,
      text: `${key} ${sequence} traces to ${cause || 'nothing'}, which is not on record`,
    }));
}

/** Each address is in the journal at least as often as the sender saw it accepted. */
function checkJournal({ tables, acceptedByAddress }: ProofEvidence): Finding[] {
  const journalled = new Map<string, number>();
  for (const { elements } of tables.deliveries) {
    for (const { address } of JSON.parse(String(elements)) as { address?: string }[]) {
      if (address !== undefined) journalled.set(address, (journalled.get(address) ?? 0) + 1);
    }
  }
  return [...acceptedByAddress]
    .filter(([address, count]) => (journalled.get(address) ?? 0) < count)
    .map(([address, count]) => ({
      kind: 'unjournalled' as const,
      text: `${address} was accepted ${count} times, the journal holds ${journalled.get(address) ?? 0}`,
    }));
}

/** The last record by offset of everything that was announced is what the provider has. */
function checkTruth({ ledger, truth, announced }: ProofEvidence): Finding[] {
  const newest = newestByKey(ledger.records);
  const compare = (
    { id, organizationId, uri, content }: Truth,
    kind: string,
    expected: (content: Record<string, unknown>) => Facts,
    published: (document: Record<string, unknown>) => Facts,
  ): Finding[] => {
    if (!announced.has(uri)) return [];
    const key = `${organizationId}/${kind}/${id}`;
    const record = newest.get(key);
    if (record === undefined)
      return [{ kind: 'unpublished', text: `${key} was announced and is on no topic` }];
    const document = JSON.parse(record.value) as Record<string, unknown>;
    const difference = firstDifference(expected(content), published(document));
    return difference === null ? [] : [{ kind: 'untrue', text: `${key}: ${difference}` }];
  };
  return [
    ...truth.equipment.flatMap((one) => compare(one, 'equipment', equipmentTruth, equipmentFacts)),
    ...truth.fieldOperations.flatMap((one) =>
      compare(one, 'field-operation', fieldOperationTruth, fieldOperationFacts),
    ),
  ];
}

function newestByKey(records: readonly TopicRecord[]): Map<string, TopicRecord> {
  const newest = new Map<string, TopicRecord>();
  for (const record of records) {
    const known = newest.get(record.key);
    if (known === undefined || BigInt(known.offset) < BigInt(record.offset)) newest.set(record.key, record);
  }
  return newest;
}

/** The true sender is answered 204, or 503 for a while, and in time. */
function checkAnswers({ others, lateAnswers }: ProofEvidence): Finding[] {
  const found: Finding[] = Object.entries(others)
    .filter(([status, count]) => count > 0 && status !== '0' && status !== '503')
    .map(([status, count]) => ({ kind: 'answer', text: `${count} true deliveries were answered ${status}` }));
  if (lateAnswers > 0)
    found.push({ kind: 'answer', text: `${lateAnswers} answers took more than four seconds` });
  return found;
}

/** What the service says of its ledger is what its tables say when they are counted by other code. */
function checkToldLedger({ ledger, toldLedger }: ProofEvidence): Finding[] {
  const told: Record<string, number> = { ...toldLedger, accepted: toldLedger.accepted ?? 0 };
  const counted: Record<string, number> = { lost: 0, ...ledger.lines, accepted: ledger.journalled };
  return [...new Set([...Object.keys(told), ...Object.keys(counted)])]
    .filter((line) => (told[line] ?? 0) !== (counted[line] ?? 0))
    .map((line) => ({
      kind: 'told',
      text: `${line} is told as ${told[line] ?? 0}, the tables say ${counted[line] ?? 0}`,
    }));
}

function checkRest(evidence: ProofEvidence): Finding[] {
  const found: Finding[] = evidence.complaints.map((text) => ({ kind: 'end', text }));
  if (evidence.strangersLet > 0) {
    found.push({ kind: 'stranger', text: `${evidence.strangersLet} deliveries of a stranger were accepted` });
  }
  if (evidence.unexplained503 > 0) {
    found.push({ kind: 'dishonest', text: `${evidence.unexplained503} answers of 503 had no Retry-After` });
  }
  const [open, expected] = [evidence.openPages.join(', '), evidence.expectedPages.join(', ')];
  if (open !== expected) {
    found.push({ kind: 'page', text: `on-call sees [${open}] open, the true state is [${expected}]` });
  }
  if (evidence.restAfterMs > restMsMax) {
    found.push({ kind: 'slow', text: `rest came ${evidence.restAfterMs} ms after the last heal` });
  }
  for (const bytes of evidence.residentBytes) {
    if (bytes > residentBytesMax)
      found.push({ kind: 'large', text: `a process took ${bytes} bytes of memory` });
  }
  return found;
}
