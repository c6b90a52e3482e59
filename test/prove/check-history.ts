// Holds each event that was decided, not only the newest, against all that happened at the provider: no change of a
// resource is published twice or before an earlier one, nothing that it never was, and nothing of which nobody was told;
// no sequence is left out; no notification that makes sense ends as if it made none. Only what was removed is deleted, once. Pure.
import type { Tables } from '../support/evidence';
import type { DecidedEvent, LedgerEvidence } from '../support/ledger-checker';
import { type Finding, isDeletion, type ProofEvidence } from './check';

type Resource = { uri: string; markName: 'name' | 'cropSeason' };

export function checkHistory({
  ledger,
  tables,
  truth,
  marks,
  announced,
  firstOf,
  removed,
}: ProofEvidence): Finding[] {
  const resources = resourcesByKey(truth);
  const accessKeys = new Set(truth.organizations.map(({ id }) => `${id}/organization-access/${id}`));
  const found: Finding[] = [];
  for (const [key, ofKey] of Map.groupBy(ledger.events, ({ key }) => key)) {
    const events = ofKey.toSorted((left, right) => left.sequence - right.sequence);
    found.push(...checkSequences(key, events), ...events.flatMap(checkTold));
    if (key.split('/')[1] === 'organization-access') {
      if (!accessKeys.has(key))
        found.push({ kind: 'invented', text: `${key} was published, the provider has no such organization` });
      continue;
    }
    const resource = resources.get(key);
    if (resource === undefined || !announced.has(resource.uri))
      found.push({ kind: 'invented', text: `${key} was published and nobody was notified of it` });
    else {
      const isLast = removed.has(resource.uri) && isDeletion(events.at(-1)!);
      const changes = isLast ? events.slice(0, -1) : events;
      found.push(...checkMarks(resource.markName, marks.get(resource.uri) ?? [], changes));
    }
  }
  return [...found, ...checkSense(ledger, tables, { firstOf, removed })];
}

function resourcesByKey({ equipment, fieldOperations }: ProofEvidence['truth']): Map<string, Resource> {
  return new Map([
    ...equipment.map(({ organizationId, id, uri }): [string, Resource] => {
      return [`${organizationId}/equipment/${id}`, { uri, markName: 'name' }];
    }),
    ...fieldOperations.map(({ organizationId, id, uri }): [string, Resource] => {
      return [`${organizationId}/field-operation/${id}`, { uri, markName: 'cropSeason' }];
    }),
  ]);
}

/** From one on, each once: what is left out was decided and is nowhere. */
function checkSequences(key: string, events: readonly DecidedEvent[]): Finding[] {
  const at = events.findIndex(({ sequence }, index) => sequence !== index + 1);
  if (at === -1) return [];
  return [
    { kind: 'vanished', text: `${key} has the sequence ${events[at]!.sequence} where ${at + 1} is due` },
  ];
}

/** Consumers are told the sequence that was decided, in twenty digits, so that it can be compared as text. */
function checkTold({ key, sequence, headers }: DecidedEvent): Finding[] {
  const told = headers.find(([name]) => name === 'ce_sequence')?.[1];
  if (told === String(sequence).padStart(20, '0')) return [];
  return [{ kind: 'order', text: `${key} ${sequence} has the ce_sequence ${told}` }];
}

/** What a resource was, oldest first: each of its events says a later one of these than the event before. */
function checkMarks(
  markName: Resource['markName'],
  marks: readonly string[],
  events: readonly DecidedEvent[],
): Finding[] {
  const found: Finding[] = [];
  let said = -1;
  for (const { key, sequence, value } of events) {
    const mark = markOf(value, markName);
    const next = marks.indexOf(mark, said + 1);
    if (next !== -1) said = next;
    else if (marks.includes(mark))
      found.push({ kind: 'order', text: `${key} ${sequence} says ${mark} again, or after what came later` });
    else found.push({ kind: 'invented', text: `${key} ${sequence} says ${mark}, which it never was` });
  }
  return found;
}

export function markOf(value: string, markName: string): string {
  try {
    return String((JSON.parse(value) as Record<string, unknown> | null)?.[markName]);
  } catch {
    return '';
  }
}

/** What may become of a notification of something that is there; who waits is lost, which the ledger's checker says. */
const goodLines = ['published', 'merged', 'unchanged', 'waiting'];

/** A later notification of the same resource would hide one that was set aside, or taken for something else. */
export function checkSense(
  { lines }: LedgerEvidence,
  { deliveries }: Tables,
  { firstOf, removed }: Pick<ProofEvidence, 'firstOf' | 'removed'>,
): Finding[] {
  const whenItCame = (line: string) => deliveries.reduce((sum, row) => sum + Number(row[line] ?? 0), 0);
  const elements = deliveries.flatMap(
    (delivery) => JSON.parse(String(delivery.elements)) as { line: string; address?: string }[],
  );
  const taken = elements.filter(({ line, address }) => line !== 'hint' && firstOf.has(address ?? ''));
  // Of what is there no more, any may be told as gone.
  const ofRemoved = elements.filter(({ address }) => removed.has(firstOf.get(address ?? '') ?? '')).length;
  const may = (line: string) => whenItCame(line) + (line === 'gone' ? ofRemoved : 0);
  return [
    ...Object.entries(lines)
      .filter(([line]) => !goodLines.includes(line))
      .map(([line, count]): [string, number] => [line, count - may(line)]),
    ['taken for something else', taken.length] as [string, number],
  ]
    .filter(([, count]) => count > 0)
    .map(([what, count]) => ({ kind: 'lost', text: `${count} notifications of what is there are ${what}` }));
}
