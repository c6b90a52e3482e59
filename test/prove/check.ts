// Holds everything against everything: what the sender saw accepted, what the journal holds, what stands on the topics,
// what the provider has, whom on-call still sees open. Pure; reads nothing.
import type { Tables } from '../support/evidence';
import {
  checkLedger,
  type LedgerEvidence,
  repeatsIn,
  type TopicRecord,
  type Violation,
} from '../support/ledger-checker';
import { checkCauses } from './check-causes';
import { checkEnvelopes } from './check-envelope';
import { checkHistory } from './check-history';
import { type Block, checkPages } from './check-pages';
import { checkRest } from './check-rest';
import type { Post } from './on-call';
import type { States } from './store';
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
        | 'blind'
        | 'untrue'
        | 'unpublished'
        | 'untraced'
        | 'unexplained'
        | 'unjournalled'
        | 'mistold'
        | 'unsettled'
        | 'unsent'
        | 'stranger'
        | 'dishonest'
        | 'answer'
        | 'told'
        | 'page'
        | 'end'
        | 'fault'
        | 'slow'
        | 'large'
        | 'files';
      text: string;
    };

export type Truth = { id: string; organizationId: string; uri: string; content: Record<string, unknown> };

type Place = { topic: string; partition: number; offset: string };

/** Where the service says that it has sent events of this address, as it tells everyone who asks. */
export type Explained = { address: string; sent: Place[] };

/** Files and sockets that a process has open. */
export type OpenFiles = { role: string; whenReady: number; atRest: number };

/** What each process of a role printed, a line each. */
export type PrintedLines = { role: string; processes: string[][] };

export type ProofEvidence = {
  ledger: LedgerEvidence;
  /** Those that the service has, one of each kind. */
  topics: readonly string[];
  tables: Tables;
  states: States;
  /** How often a process was made to send again what Kafka had written, as the driver saw. */
  sentAgain: number;
  explained: Explained[];
  /** How often the sender saw each address accepted, and how often it said it at all, whatever was answered. */
  acceptedByAddress: ReadonlyMap<string, number>;
  triedByAddress: ReadonlyMap<string, number>;
  strangersLet: number;
  unexplained503: number;
  /** Answers to the true sender by status, but for 204; 0 where a connection broke. */
  others: Record<string, number>;
  /** Answers to it that came later than four seconds. */
  lateAnswers: number;
  /** The ledger as the service tells it at rest, before it is stopped; null where none ran. */
  toldLedger: Record<string, number> | null;
  truth: {
    equipment: Truth[];
    fieldOperations: Truth[];
    organizations: { id: string; termsAccepted: boolean }[];
  };
  /** Resources of which at least one notification was accepted, by their first address, as the truth has them. */
  announced: ReadonlySet<string>;
  /** By each address that a resource ever had, its first. */
  firstOf: ReadonlyMap<string, string>;
  /** Those that the provider had, and has no more. */
  removed: ReadonlySet<string>;
  /** By address, what tells the contents of a resource apart: first what it was, then each change. */
  marks: ReadonlyMap<string, readonly string[]>;
  /** What on-call still sees open at rest, and what it ought to see. */
  openPages: string[];
  expectedPages: string[];
  /** Who was blocked, and all that on-call was told meanwhile. */
  blocks: Block[];
  posts: Post[];
  /** What on-call was told last of each. */
  postsOf(page: string): string[];
  complaints: string[];
  logs: PrintedLines[];
  /** From the last heal to rest. */
  restAfterMs: number;
  residentBytes: number[];
  files: OpenFiles[];
};

/** All that was found; nothing where every promise was kept. */
export function checkProof(evidence: ProofEvidence): Finding[] {
  return [
    ...checkLedger(evidence.ledger),
    ...checkSight(evidence),
    ...checkCauses(evidence),
    ...checkJournal(evidence),
    ...checkTruth(evidence),
    ...checkHistory(evidence),
    ...checkEnvelopes(evidence),
    ...checkAccess(evidence),
    ...checkExplained(evidence),
    ...checkAnswers(evidence),
    ...checkToldLedger(evidence),
    ...checkPages(evidence.blocks, evidence.posts).map((text) => ({ kind: 'page' as const, text })),
    ...checkRest(evidence),
  ];
}

/**
 * What was sent again stands there again: whoever does not see that would not see what differs there either. And a sync reads
 * what a lost notification was of.
 */
function checkSight({ ledger, sentAgain, states }: ProofEvidence): Finding[] {
  const found: Finding[] = states.syncs.map((run) => ({
    kind: 'blind',
    text: `a sync ran and may have repaired what was lost: ${JSON.stringify(run)}`,
  }));
  const repeats = repeatsIn(ledger.records);
  if (repeats >= sentAgain) return found;
  const text = `records were sent again ${sentAgain} times, ${repeats} repeats are seen`;
  return [...found, { kind: 'blind', text }];
}

/** Each address is in the journal at least as often as the sender saw it accepted, and no more often than it was said. */
function checkJournal({ tables, acceptedByAddress, triedByAddress }: ProofEvidence): Finding[] {
  const journalled = new Map<string, number>();
  for (const { elements } of tables.deliveries) {
    for (const { address } of JSON.parse(String(elements)) as { address?: string }[]) {
      if (address !== undefined) journalled.set(address, (journalled.get(address) ?? 0) + 1);
    }
  }
  const lacking = [...acceptedByAddress]
    .filter(([address, count]) => (journalled.get(address) ?? 0) < count)
    .map(([address, count]) => ({
      kind: 'unjournalled' as const,
      text: `${address} was accepted ${count} times, the journal holds ${journalled.get(address) ?? 0}`,
    }));
  const unsaid = [...journalled]
    .filter(([address, count]) => (triedByAddress.get(address) ?? 0) < count)
    .map(([address, count]) => ({
      kind: 'invented' as const,
      text: `${address} was sent ${triedByAddress.get(address) ?? 0} times, the journal holds ${count}`,
    }));
  return [...lacking, ...unsaid];
}

/**
 * The last record by offset of everything that was announced is what the provider has. What was removed may never have been
 * read; where it was, its last record says that it is deleted.
 */
function checkTruth({ ledger, truth, announced, removed }: ProofEvidence): Finding[] {
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
    if (removed.has(uri)) {
      if (record === undefined || isDeletion(record)) return [];
      return [{ kind: 'untrue', text: `${key} was removed, and its last record does not say so` }];
    }
    if (record === undefined)
      return [{ kind: 'unpublished', text: `${key} was announced and is on no topic` }];
    const document = documentOf(record);
    const difference =
      document === null ? noDocument : firstDifference(expected(content), published(document));
    return difference === null ? [] : [{ kind: 'untrue', text: `${key}: ${difference}` }];
  };
  return [
    ...truth.equipment.flatMap((one) => compare(one, 'equipment', equipmentTruth, equipmentFacts)),
    ...truth.fieldOperations.flatMap((one) =>
      compare(one, 'field-operation', fieldOperationTruth, fieldOperationFacts),
    ),
  ];
}

/** Whoever was blocked once is told of on the topic, and the last record says what the provider says, as the store does. */
function checkAccess({ ledger, truth, states }: ProofEvidence): Finding[] {
  const newest = newestByKey(ledger.records);
  const changed = new Set(states.history.map(({ organization_id }) => String(organization_id)));
  const kept = new Map(states.organizations.map(({ id, access }) => [String(id), String(access)]));
  return truth.organizations.flatMap(({ id, termsAccepted }): Finding[] => {
    const expected = termsAccepted ? 'active' : 'terms-required';
    const found: Finding[] = [];
    if (kept.has(id) && kept.get(id) !== expected)
      found.push({ kind: 'untrue', text: `the store has ${id} as ${kept.get(id)}, it is ${expected}` });
    if (!changed.has(id)) return found;
    const record = newest.get(`${id}/organization-access/${id}`);
    if (record === undefined)
      return [...found, { kind: 'unpublished', text: `${id} was blocked and is on no topic` }];
    const told = documentOf(record)?.access ?? noDocument;
    if (told !== expected)
      found.push({ kind: 'untrue', text: `the topic has ${id} as ${told}, it is ${expected}` });
    return found;
  });
}

/** Of a record, or of an event that was decided. */
export const isDeletion = ({ headers }: Pick<TopicRecord, 'headers'>): boolean =>
  headers.some(([name, value]) => name === 'ce_type' && value.endsWith('.deleted.v1'));

const noDocument = 'its last record is no document';

/** Null where the record, or the event, holds none: that is a finding, and must not keep the others from being told. */
export function documentOf({ value }: Pick<TopicRecord, 'value'>): Record<string, unknown> | null {
  try {
    return JSON.parse(value) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

/** Whoever asks what became of a resource is told where its newest record stands, and of no place where nothing of it does. */
function checkExplained({ ledger, truth, explained }: ProofEvidence): Finding[] {
  const kinds = { equipment: truth.equipment, 'field-operation': truth.fieldOperations };
  const keys = new Map(
    Object.entries(kinds).flatMap(([kind, all]) =>
      all.map(({ uri, organizationId, id }): [string, string] => [uri, `${organizationId}/${kind}/${id}`]),
    ),
  );
  const newest = newestByKey(ledger.records);
  const ofKeys = Map.groupBy(ledger.records, ({ key }) => key);
  return explained.flatMap(({ address, sent }): Finding[] => {
    const key = keys.get(address) ?? '';
    const ofKey = ofKeys.get(key) ?? [];
    const told = new Set(sent.map(placeOf));
    const standing = new Set(ofKey.map(placeOf));
    const found = [...told]
      .filter((place) => !standing.has(place))
      .map((place): Finding => {
        return { kind: 'unexplained', text: `${address}: told is ${place}, where nothing of it stands` };
      });
    const record = newest.get(key);
    if (record === undefined) return found;
    const stands = ofKey.filter((one) => idOf(one) === idOf(record));
    if (stands.some((one) => told.has(placeOf(one)))) return found;
    const text = `${address}: its newest record is at ${record.partition}@${record.offset}, told are ${[...told]}`;
    return [...found, { kind: 'unexplained', text }];
  });
}

const placeOf = ({ topic, partition, offset }: Place): string => `${topic}/${partition}@${offset}`;

const idOf = ({ headers }: TopicRecord): string => headers.find(([name]) => name === 'ce_id')?.[1] ?? '';

export function newestByKey(records: readonly TopicRecord[]): Map<string, TopicRecord> {
  const newest = new Map<string, TopicRecord>();
  for (const record of records) {
    const known = newest.get(record.key);
    if (known === undefined || BigInt(known.offset) < BigInt(record.offset)) newest.set(record.key, record);
  }
  return newest;
}

/** The true sender is answered 204, or 503 for a while, and in time. */
export function checkAnswers({
  others,
  lateAnswers,
}: Pick<ProofEvidence, 'others' | 'lateAnswers'>): Finding[] {
  const found: Finding[] = Object.entries(others)
    .filter(([status, count]) => count > 0 && status !== '0' && status !== '503')
    .map(([status, count]) => ({ kind: 'answer', text: `${count} true deliveries were answered ${status}` }));
  if (lateAnswers > 0)
    found.push({ kind: 'answer', text: `${lateAnswers} answers took more than four seconds` });
  return found;
}

/** What the service says of its ledger is what its tables say when they are counted by other code. */
export function checkToldLedger({
  ledger,
  toldLedger,
}: Pick<ProofEvidence, 'ledger' | 'toldLedger'>): Finding[] {
  if (toldLedger === null) return [];
  const told: Record<string, number> = { ...toldLedger, accepted: toldLedger.accepted ?? 0 };
  const counted: Record<string, number> = { lost: 0, ...ledger.lines, accepted: ledger.journalled };
  return [...new Set([...Object.keys(told), ...Object.keys(counted)])]
    .filter((line) => (told[line] ?? 0) !== (counted[line] ?? 0))
    .map((line) => ({
      kind: 'told',
      text: `${line} is told as ${told[line] ?? 0}, the tables say ${counted[line] ?? 0}`,
    }));
}
