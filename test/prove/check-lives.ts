// Holds what stands on the topics against the provider over all lives of a store that was replaced by its backups and by new
// ones, of which no journal is left but the last one's; and that last life against what was accepted in it. Pure.
import type { Tables } from '../support/evidence';
import {
  checkDecided,
  checkLines,
  checkOrder,
  headerOf,
  type LedgerEvidence,
  sameBytes,
  type TopicRecord,
  where,
} from '../support/ledger-checker';
import {
  checkAnswers,
  checkToldLedger,
  documentOf,
  type Finding,
  isDeletion,
  newestByKey,
  type ProofEvidence,
  type Truth,
} from './check';
import { wrongAlone } from './check-envelope';
import { checkSense, markOf } from './check-history';
import { checkQuiet, type QuietEvidence, sentToKafka, stateNames } from './check-rest';
import {
  equipmentFacts,
  equipmentTruth,
  type Facts,
  fieldOperationFacts,
  fieldOperationTruth,
  firstDifference,
} from './truth';

/** A store that is behind its topics begins a full sync again after a minute, where the one before was cut off. */
export const livesRestMsMax = 150_000;

/** What the store held when its last life began, and what the sender had seen accepted by then. */
export type LifeBegin = {
  /** Of the deliveries in its journal. */
  deliveries: ReadonlySet<string>;
  notifications: number;
  /** Keys of which it had decided an event. */
  keys: ReadonlySet<string>;
  acceptedByAddress: ReadonlyMap<string, number>;
  triedByAddress: ReadonlyMap<string, number>;
  accepted: number;
  /** Events that had been sent and of which it knew nothing; null where there were some, whichever. */
  lost: ReadonlySet<string> | null;
};

export type LivesEvidence = QuietEvidence &
  Pick<
    ProofEvidence,
    | 'topics'
    | 'truth'
    | 'marks'
    | 'firstOf'
    | 'removed'
    | 'others'
    | 'lateAnswers'
    | 'toldLedger'
    | 'acceptedByAddress'
    | 'triedByAddress'
  > & {
    records: TopicRecord[];
    /** Of the last life, with all that the sender saw accepted in it and what was journalled before. */
    ledger: LedgerEvidence;
    begin: LifeBegin;
    /** By first address, the organizations that a resource ever belonged to. */
    owners: ReadonlyMap<string, ReadonlySet<string>>;
    /** How often on-call was told in the last life that the store is behind its topics. */
    behindTold: number;
    /** When it began. */
    beganAtMs: number;
  };

/** A process looks every two seconds whether the store is behind, and gathers for one what is new before it tells anybody. */
const briefMs = 4000;

/** All that was found; nothing where every promise was kept. */
export function checkLives(evidence: LivesEvidence): Finding[] {
  return [
    ...checkOrder(evidence.ledger),
    ...checkSame(evidence.records),
    ...checkAlone(evidence),
    ...checkContents(evidence),
    ...checkNewest(evidence),
    ...checkAccesses(evidence),
    ...checkLines(evidence.ledger),
    ...checkDecided(evidence.ledger),
    ...checkSense(evidence.ledger, evidence.tables, evidence),
    ...checkSent(evidence),
    ...checkPlaces(evidence),
    ...checkAccepted(evidence),
    ...checkAnswers(evidence),
    ...checkToldLedger(evidence),
    ...checkBehind(evidence),
    ...checkQuiet(evidence, livesRestMsMax),
  ];
}

const idOf = (record: TopicRecord): string => headerOf(record, 'ce_id');
const sequenceOf = (record: TopicRecord): string => headerOf(record, 'ce_sequence');

/** Whatever comes twice is the same bytes, and a number of a key is one event's, whichever life gave it. */
function checkSame(records: readonly TopicRecord[]): Finding[] {
  const found: Finding[] = [];
  const byId = new Map<string, TopicRecord>();
  const byNumber = new Map<string, TopicRecord>();
  for (const record of records) {
    const number = `${record.key} ${sequenceOf(record)}`;
    const first = byId.get(idOf(record));
    const other = byNumber.get(number);
    if (first === undefined) byId.set(idOf(record), record);
    else if (!sameBytes(record, first))
      found.push({ kind: 'differs', text: `${where(record)} has the id of ${where(first)} and other bytes` });
    if (other === undefined) byNumber.set(number, record);
    else if (idOf(other) !== idOf(record))
      found.push({
        kind: 'differs',
        text: `${number} was given twice, at ${where(other)} and at ${where(record)}`,
      });
  }
  return found;
}

/** What each record says of itself. */
function checkAlone({ records, topics }: LivesEvidence): Finding[] {
  const source = records[0] === undefined ? '' : headerOf(records[0], 'ce_source');
  return records.flatMap((record) =>
    [...wrongAlone(record, topics, source), ...wrongNames(record)].map((text): Finding => {
      return { kind: 'mistold', text: `${where(record)}, ${record.key} ${sequenceOf(record)}, ${text}` };
    }),
  );
}

function wrongNames(record: TopicRecord): string[] {
  const kind = record.key.split('/')[1];
  const changes = kind === 'organization-access' ? 'blocked|unblocked' : 'created|updated|deleted';
  const type = headerOf(record, 'ce_type');
  const isKnown = new RegExp(`^io\\.tramline\\.${kind}\\.(${changes})\\.v1$`).test(type);
  return [
    ...(isKnown ? [] : [`has the ce_type ${type}`]),
    ...(/^\d{20}$/.test(sequenceOf(record)) ? [] : [`has the ce_sequence ${sequenceOf(record)}`]),
  ];
}

type Resource = Truth & { kind: string; markName: string };

function resourcesOf({ truth }: LivesEvidence): Resource[] {
  return [
    ...truth.equipment.map((one) => ({ ...one, kind: 'equipment', markName: 'name' })),
    ...truth.fieldOperations.map((one) => ({ ...one, kind: 'field-operation', markName: 'cropSeason' })),
  ];
}

/**
 * What a resource was, in the order in which it was that: a later life may say once more what a former one said, but nothing
 * older than that. It is deleted where it was removed, and after that it is nothing else; or where it went elsewhere.
 */
function checkContents(evidence: LivesEvidence): Finding[] {
  const { records, marks, owners, removed, truth } = evidence;
  const resources = new Map(resourcesOf(evidence).map((one) => [`${one.kind}/${one.id}`, one]));
  const accesses = new Set(truth.organizations.map(({ id }) => `${id}/organization-access/${id}`));
  const found: Finding[] = [];
  for (const [key, ofKey] of Map.groupBy(records, (record) => record.key)) {
    const [organizationId = '', kind = '', ...id] = key.split('/');
    if (kind === 'organization-access') {
      if (!accesses.has(key)) found.push({ kind: 'invented', text: `${key}: there is no such organization` });
      continue;
    }
    const resource = resources.get(`${kind}/${id.join('/')}`);
    const had = owners.get(resource?.uri ?? '') ?? new Set();
    if (resource === undefined || !had.has(organizationId)) {
      found.push({ kind: 'invented', text: `${key} was published, the provider never had it` });
      continue;
    }
    const inOrder = ofKey.toSorted((one, other) => (sequenceOf(one) < sequenceOf(other) ? -1 : 1));
    const known = {
      ...resource,
      had,
      marks: marks.get(resource.uri) ?? [],
      isGone: removed.has(resource.uri),
    };
    found.push(...checkCourse(inOrder, known));
  }
  return found;
}

type Known = Resource & { had: ReadonlySet<string>; marks: readonly string[]; isGone: boolean };

function checkCourse(records: readonly TopicRecord[], { marks, markName, had, isGone }: Known): Finding[] {
  const found: Finding[] = [];
  let said = 0;
  let deleted = false;
  for (const record of records) {
    const what = `${where(record)}, ${record.key} ${sequenceOf(record)},`;
    if (isDeletion(record)) {
      const { movedTo } = documentOf(record) ?? {};
      const isTrue = movedTo === undefined ? isGone : had.size > 1 && had.has(String(movedTo));
      if (!isTrue) found.push({ kind: 'invented', text: `${what} says that it is deleted: ${record.value}` });
      deleted ||= movedTo === undefined;
      continue;
    }
    const mark = markOf(record.value, markName);
    // It may have been the same more than once.
    const at = marks.indexOf(mark, said);
    if (!marks.includes(mark))
      found.push({ kind: 'invented', text: `${what} says ${mark}, which it never was` });
    else if (at === -1) found.push({ kind: 'order', text: `${what} says ${mark} after what came later` });
    else if (deleted) found.push({ kind: 'invented', text: `${what} says ${mark} after it was deleted` });
    said = Math.max(said, at);
  }
  return found;
}

/**
 * The last record by offset of all that the provider has is what it has, announced or not, since a full sync saw it; under a
 * key that it had before it is deleted. What was removed is deleted where this life of the store knew it or was told of it;
 * of what only the topics know and nobody told, the last record stays.
 */
function checkNewest(evidence: LivesEvidence): Finding[] {
  const { records, removed, begin, owners } = evidence;
  const newest = newestByKey(records);
  const told = addressesSince(evidence);
  return resourcesOf(evidence).flatMap((resource): Finding[] => {
    const { organizationId, kind, id, uri } = resource;
    const key = `${organizationId}/${kind}/${id}`;
    const record = newest.get(key);
    if (removed.has(uri)) {
      const isDue = begin.keys.has(key) || told.has(uri);
      if (record === undefined || !isDue || isDeletion(record)) return [];
      return [{ kind: 'untrue', text: `${key} was removed, and its last record does not say so` }];
    }
    const former = [...(owners.get(uri) ?? [])].filter((one) => one !== organizationId);
    const left = former
      .map((one) => newest.get(`${one}/${kind}/${id}`))
      .filter((one) => one !== undefined && !isDeletion(one))
      .map((one): Finding => {
        return {
          kind: 'untrue',
          text: `${one!.key} went to ${organizationId}, and its last record does not say so`,
        };
      });
    if (record === undefined) return [...left, { kind: 'unpublished', text: `${key} is on no topic` }];
    const difference = isDeletion(record) ? 'it is told as deleted' : differenceOf(resource, record);
    return difference === null ? left : [...left, { kind: 'untrue', text: `${key}: ${difference}` }];
  });
}

function differenceOf({ kind, content }: Resource, record: TopicRecord): string | null {
  const document = documentOf(record);
  if (document === null) return 'its last record is no document';
  const [expected, published]: [Facts, Facts] =
    kind === 'equipment'
      ? [equipmentTruth(content), equipmentFacts(document)]
      : [fieldOperationTruth(content), fieldOperationFacts(document)];
  return firstDifference(expected, published);
}

/** First addresses of what was accepted in the last life. */
function addressesSince({ acceptedByAddress, begin, firstOf }: LivesEvidence): Set<string> {
  return new Set(
    [...acceptedByAddress]
      .filter(([address, count]) => count > (begin.acceptedByAddress.get(address) ?? 0))
      .map(([address]) => firstOf.get(address) ?? address),
  );
}

/** Each organization of which its topic tells has the access there, and in the store, that the provider gives. */
function checkAccesses({ records, truth, states }: LivesEvidence): Finding[] {
  const newest = newestByKey(records);
  const kept = new Map(states.organizations.map(({ id, access }) => [String(id), String(access)]));
  return truth.organizations.flatMap(({ id, termsAccepted }): Finding[] => {
    const expected = termsAccepted ? 'active' : 'terms-required';
    const record = newest.get(`${id}/organization-access/${id}`);
    const told = record === undefined ? expected : (documentOf(record)?.access ?? 'nothing');
    const found: Finding[] = [];
    if (kept.get(id) !== expected)
      found.push({ kind: 'untrue', text: `the store has ${id} as ${kept.get(id)}, it is ${expected}` });
    if (told !== expected)
      found.push({ kind: 'untrue', text: `the topic has ${id} as ${told}, it is ${expected}` });
    return found;
  });
}

/**
 * All that the last life has decided, or holds from a former one, was sent and stands there with its bytes, unless its number was
 * found taken: then another event of its key has that number, or a higher one.
 */
function checkSent({ ledger, records }: LivesEvidence): Finding[] {
  const byId = Map.groupBy(records, idOf);
  const byKey = Map.groupBy(records, ({ key }) => key);
  return ledger.events.flatMap((event): Finding[] => {
    const { key, sequence, eventId, state } = event;
    const standing = byId.get(eventId) ?? [];
    if (state === setAside) {
      const isTaken = (byKey.get(key) ?? []).some((record) => Number(sequenceOf(record)) >= sequence);
      return isTaken
        ? []
        : [{ kind: 'unsent', text: `${key} ${sequence} is set aside, and its number is free` }];
    }
    if (state !== sentToKafka) {
      const told = stateNames[state] ?? `in state ${state}`;
      return [{ kind: 'unsent', text: `${key} ${sequence} is ${told} at rest` }];
    }
    if (standing.length === 0) return [{ kind: 'missing', text: `${key} ${sequence} is on no topic` }];
    if (sameBytes(standing[0]!, event)) return [];
    return [{ kind: 'differs', text: `${where(standing[0]!)} is not what was decided` }];
  });
}

const setAside = 4;

/** Where the store says that it has sent an event, that event stands, whichever life sent it. */
function checkPlaces({ tables, records }: LivesEvidence): Finding[] {
  const standing = new Map(records.map((record) => [where(record), idOf(record)]));
  return tables.outbox.flatMap(({ event_id, topic, partition, log_offset, state }): Finding[] => {
    const place = `${topic}/${partition}@${log_offset}`;
    if (Number(state) !== sentToKafka || standing.get(place) === event_id) return [];
    return [
      {
        kind: 'told',
        text: `${event_id} is told at ${place}, where ${standing.get(place) ?? 'nothing'} stands`,
      },
    ];
  });
}

/** What was accepted since the last life began is in its journal, and no more of it than was said. */
function checkAccepted(evidence: LivesEvidence): Finding[] {
  const { tables, begin, acceptedByAddress, triedByAddress } = evidence;
  const journalled = countJournalled(tables, begin.deliveries);
  const since = (now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>, address: string) =>
    (now.get(address) ?? 0) - (then.get(address) ?? 0);
  const addresses = [...new Set([...acceptedByAddress.keys(), ...journalled.keys()])];
  return addresses.flatMap((address): Finding[] => {
    const holds = journalled.get(address) ?? 0;
    const accepted = since(acceptedByAddress, begin.acceptedByAddress, address);
    const tried = since(triedByAddress, begin.triedByAddress, address);
    if (holds < accepted)
      return [
        {
          kind: 'unjournalled',
          text: `${address} was accepted ${accepted} times, the journal holds ${holds}`,
        },
      ];
    if (holds > tried)
      return [{ kind: 'invented', text: `${address} was sent ${tried} times, the journal holds ${holds}` }];
    return [];
  });
}

function countJournalled({ deliveries }: Tables, before: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id, elements } of deliveries) {
    if (before.has(String(id))) continue;
    for (const { address } of JSON.parse(String(elements)) as { address?: string }[])
      if (address !== undefined) counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  return counts;
}

/**
 * A store that took the place of another is behind its topics, unless nothing was lost that stands there; on-call hears of it,
 * and a full sync has ended it.
 */
function checkBehind({ states, behindTold, beganAtMs, begin }: LivesEvidence): Finding[] {
  const found: Finding[] = [];
  const lastedMs = wholeSyncs(states, beganAtMs).map((run) => Number(run.ended_at) - Number(run.began_at));
  const isBrief = lastedMs.length > 0 && Math.max(...lastedMs) < briefMs;
  if (behindTold === 0 && !isBrief && mustBeBehind(begin))
    found.push({ kind: 'page', text: 'on-call was not told that the store is behind its topics' });
  if (states.behind.length > 0)
    found.push({ kind: 'unsettled', text: `it is still behind: ${JSON.stringify(states.behind)}` });
  return found;
}

export const mustBeBehind = ({ lost }: Pick<LifeBegin, 'lost'>): boolean => lost === null || lost.size > 0;

/** Syncs of everything that began since then and have ended. */
function wholeSyncs({ syncs }: Pick<LivesEvidence['states'], 'syncs'>, sinceMs: number) {
  return syncs.filter(
    ({ organization_id, began_at, ended_at }) =>
      organization_id === null && ended_at !== null && Number(began_at) >= sinceMs,
  );
}
