// Holds what the sender says was accepted, what the store says became of it, and what stands on the topics against each
// other. Shares no code with the product: it reads the tables and the records as they are. Pure.

/** One row of the outbox. */
export type DecidedEvent = {
  eventId: string;
  topic: string;
  key: string;
  sequence: number;
  headers: [string, string][];
  value: string;
  /** 0 unsent, 1 in the embedded log, 2 in Kafka, 3 quarantined, 4 set aside since its number was found taken. */
  state: number;
  /** What the event traces to; never empty. */
  cause: string;
};

/** One record as a consumer sees it, in the order of its partition. */
export type TopicRecord = {
  topic: string;
  partition: number;
  offset: string;
  key: string;
  headers: [string, string][];
  value: string;
};

export type LedgerEvidence = {
  /** Notifications in deliveries that the sender saw answered 204. */
  acceptedBySender: number;
  /** Notifications that the journal holds: those, and those whose 204 was lost on the way. */
  journalled: number;
  /** Each line of the ledger with its count. */
  lines: Record<string, number>;
  /** The events that the journal says its reads became; nothing is old enough to have been swept. */
  journalledEvents: string[];
  events: DecidedEvent[];
  records: TopicRecord[];
};

export type Violation = {
  kind: 'lost' | 'missing' | 'vanished' | 'invented' | 'differs' | 'order' | 'newest' | 'untraced';
  text: string;
};

/** Every way in which the evidence breaks a promise; empty when it holds. At rest nothing may wait. */
export function checkLedger(evidence: LedgerEvidence): Violation[] {
  return [
    ...checkLines(evidence),
    ...checkDecided(evidence),
    ...checkTopic(evidence),
    ...checkOrder(evidence),
  ];
}

/** How many records stand there under an id that stands there before them, whatever their bytes. */
export const repeatsIn = (records: readonly TopicRecord[]): number =>
  records.length - new Set(records.map((record) => headerOf(record, 'ce_id'))).size;

export function checkLines({ acceptedBySender, journalled, lines }: LedgerEvidence): Violation[] {
  const found: Violation[] = [];
  const sum = Object.values(lines).reduce((total, count) => total + count, 0);
  if (journalled < acceptedBySender) {
    found.push({
      kind: 'lost',
      text: `the sender saw ${acceptedBySender} accepted, the journal holds ${journalled}`,
    });
  }
  if (sum !== journalled)
    found.push({ kind: 'lost', text: `${journalled} are journalled, the lines add up to ${sum}` });
  if ((lines.waiting ?? 0) > 0) found.push({ kind: 'lost', text: `${lines.waiting} still wait at rest` });
  return found;
}

/** What a read became is still there; the embedded log is made of the same rows and would miss it as well. */
export function checkDecided({ journalledEvents, events }: LedgerEvidence): Violation[] {
  const decided = new Set(events.map(({ eventId }) => eventId));
  return journalledEvents
    .filter((id) => !decided.has(id))
    .map((id) => ({ kind: 'vanished', text: `${id} was published by a read and is in no outbox` }));
}

function checkTopic({ events, records }: LedgerEvidence): Violation[] {
  const found: Violation[] = [];
  const decided = new Map(events.map((event) => [event.eventId, event]));
  const seen = new Set<string>();
  for (const record of records) {
    const id = headerOf(record, 'ce_id');
    const event = decided.get(id);
    seen.add(id);
    if (event === undefined) found.push({ kind: 'invented', text: `${where(record)} has no decided event` });
    else if (!sameBytes(record, event))
      found.push({ kind: 'differs', text: `${where(record)} is not what was decided` });
  }
  for (const event of events) {
    if (event.cause === '')
      found.push({ kind: 'untraced', text: `${event.key} ${event.sequence} traces to nothing` });
    if (event.state === 3 || seen.has(event.eventId)) continue;
    found.push({ kind: 'missing', text: `${event.key} ${event.sequence} is on no topic` });
  }
  return found;
}

/**
 * First appearances of each key in sequence order, and the last record by offset has the highest sequence. Between partitions
 * there is no order at all, so a key has one.
 */
export function checkOrder({ records }: LedgerEvidence): Violation[] {
  const found: Violation[] = [];
  for (const [key, ofKey] of Map.groupBy(records, (record) => `${record.topic} ${record.key}`)) {
    const seen = new Set<string>();
    let highest = '';
    for (const record of ofKey.sort(byOffset)) {
      const id = headerOf(record, 'ce_id');
      const sequence = headerOf(record, 'ce_sequence');
      if (!seen.has(id) && sequence <= highest)
        found.push({ kind: 'order', text: `${key} ${sequence} first appears late` });
      seen.add(id);
      if (sequence > highest) highest = sequence;
    }
    const partitions = new Set(ofKey.map(({ partition }) => partition));
    if (partitions.size > 1)
      found.push({ kind: 'order', text: `${key} stands in partitions ${[...partitions].join(', ')}` });
    const last = ofKey.at(-1);
    if (last !== undefined && headerOf(last, 'ce_sequence') !== highest) {
      found.push({ kind: 'newest', text: `${key}: the last record is not the newest` });
    }
  }
  return found;
}

function byOffset(left: TopicRecord, right: TopicRecord): number {
  return left.partition - right.partition || Number(BigInt(left.offset) - BigInt(right.offset));
}

export function headerOf(record: TopicRecord, wanted: string): string {
  return record.headers.find(([name]) => name === wanted)?.[1] ?? '';
}

export function sameBytes(
  record: TopicRecord,
  event: Pick<DecidedEvent, 'topic' | 'key' | 'value' | 'headers'>,
): boolean {
  return (
    record.topic === event.topic &&
    record.key === event.key &&
    record.value === event.value &&
    JSON.stringify(record.headers) === JSON.stringify(event.headers)
  );
}

export function where({ topic, partition, offset }: TopicRecord): string {
  return `${topic}/${partition}@${offset}`;
}
