// Holds what each event that was decided says of itself against its key, its document and the event before it: its topic,
// its headers, what it calls the change, and of whom its document is. Consumers go by these, also where another event
// follows. Pure.
import type { DecidedEvent, TopicRecord } from '../support/ledger-checker';
import { documentOf, type Finding, isDeletion, type ProofEvidence } from './check';

type Content = Record<string, unknown>;

/** What an event and its record have in common. */
type Told = Pick<DecidedEvent, 'topic' | 'key' | 'headers' | 'value'>;

/** Every event whose topic, headers or document do not fit its key or each other. */
export function checkEnvelopes({ ledger, topics }: ProofEvidence): Finding[] {
  const source = ledger.events[0] && headerOf(ledger.events[0], 'ce_source');
  const bySequence = new Map(ledger.events.map((event) => [`${event.key} ${event.sequence}`, event]));
  return ledger.events.flatMap((event) => {
    const { key, sequence } = event;
    const previous = bySequence.get(`${key} ${sequence - 1}`);
    const document = documentOf(event);
    const wrong =
      document === null
        ? ['holds no document']
        : [
            ...wrongPlace(event, topics),
            ...wrongHeaders(event, { ...headersDue(event, document), ce_source: source }),
            ...wrongChange(event, document, previous),
            ...wrongOwner(event, document),
          ];
    return wrong.map((text): Finding => ({ kind: 'mistold', text: `${key} ${sequence} ${text}` }));
  });
}

/** A record as it stands on a topic, of whichever life of a store: what is before it is not known. */
export function wrongAlone(record: TopicRecord, topics: readonly string[], source: string): string[] {
  const document = documentOf(record);
  if (document === null) return ['holds no document'];
  const due = { ...headersDue(record, document), ce_source: source };
  const isReconciled = record.headers.some(([name]) => name === 'ce_reconciled');
  return [
    ...wrongPlace(record, topics),
    ...wrongHeaders(record, isReconciled ? { ...due, ce_reconciled: 'true' } : due),
    ...wrongOwner(record, document),
  ];
}

const kindIn = ({ key }: Told): string => key.split('/')[1] ?? '';

const headerOf = ({ headers }: Told, wanted: string): string | undefined =>
  headers.find(([name]) => name === wanted)?.[1];

function wrongPlace(event: Told, topics: readonly string[]): string[] {
  const due = topics.find((topic) => topic.endsWith(`.${kindIn(event)}.v1`));
  return event.topic === due ? [] : [`is on ${event.topic}, due is ${due ?? 'no topic'}`];
}

/** Those of one value only. */
function headersDue(event: Told, { observedAt }: Content): Content {
  return {
    ce_specversion: '1.0',
    ce_subject: event.key,
    ce_time: observedAt,
    ce_dataschema: `https://schemas.tramline.io/event/${kindIn(event)}.v1.schema.json`,
    'content-type': 'application/json',
  };
}

/** The first and the second are held against what was decided elsewhere, the third against what happened. */
const otherHeaders = ['ce_id', 'ce_sequence', 'ce_type', 'traceparent'];

const traceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Nothing else may stand there, nor anything twice: `ce_reconciled` would say that a sync found what no webhook announced. */
function wrongHeaders(event: Told, due: Content): string[] {
  const names = event.headers.map(([name]) => name);
  const trace = headerOf(event, 'traceparent') ?? '';
  return [
    ...Object.entries(due)
      .filter(([name, value]) => value === undefined || headerOf(event, name) !== value)
      .map(([name, value]) => `has the ${name} ${headerOf(event, name)}, due is ${value}`),
    ...names
      .filter((name, at) => names.indexOf(name) !== at || !(name in due || otherHeaders.includes(name)))
      .map((name) => `has the header ${name}, which is not due`),
    ...(traceparent.test(trace) ? [] : [`has the traceparent ${trace}`]),
  ];
}

function wrongChange(event: DecidedEvent, document: Content, previous: DecidedEvent | undefined): string[] {
  const told = headerOf(event, 'ce_type');
  const due = changesDue(event, document, previous).map(
    (change) => `io.tramline.${kindIn(event)}.${change}.v1`,
  );
  return due.includes(String(told)) ? [] : [`has the ce_type ${told}, due is ${due.join(' or ')}`];
}

/** What the change may be called. Where the event before it is not there, which is a finding of its own, more than one. */
function changesDue(event: DecidedEvent, document: Content, previous: DecidedEvent | undefined): string[] {
  if (kindIn(event) === 'organization-access')
    return [document.access === 'active' ? 'unblocked' : 'blocked'];
  if (event.sequence === 1 || (previous !== undefined && isDeletion(previous))) return ['created'];
  if (Object.keys(document).every((name) => namesOfDeleted.includes(name))) return ['deleted'];
  const before = previous === undefined ? null : documentOf(previous);
  if (before === null) return ['created', 'updated', 'archived', 'restored'];
  const [was, is] = [before.archived === true, document.archived === true];
  if (was === is) return ['updated'];
  return [is ? 'archived' : 'restored'];
}

/** What is deleted has no facts any more. */
const namesOfDeleted = ['id', 'organizationId', 'observedAt', 'source', 'movedTo'];

function wrongOwner({ key }: Told, { id, organizationId }: Content): string[] {
  const [organization, , own] = key.split('/');
  if (organizationId === organization && id === own) return [];
  return [`holds the document of ${id} of ${organizationId}`];
}
