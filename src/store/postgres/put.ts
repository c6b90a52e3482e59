/**
 * Acceptance, in sets: deliveries that come together are journalled and their tasks marked due in one transaction. Plain
 * ones are one message to the server; others need its answers in between. A message id is one delivery, whichever receiver was
 * asked first.
 */
import type { Accepted, Delivery, Element } from '../../model/notification';
import { countLines, elementsText } from '../delivery-row';
import type { QuarantineEntry } from '../quarantine-entry';
import { hintProbes } from './ask-probes';
import type { Context } from './context';
import { type Hint, hintLists, markHints, organizationsIn } from './mark-hints';
import { ensureOrganizations } from './organization-rows';
import { insertEntries } from './quarantine-entries';

interface Journalled {
  id: number;
  isNew: boolean;
  /** Of what was stored under the same message id. */
  bodyHash: string;
}

/** Are these only to be journalled and their tasks marked due? A repeated id, what is set aside and a probe ask for more. */
export function arePlain(deliveries: Delivery[]): boolean {
  return deliveries.every(({ messageId, elements }) => messageId === null && elements.every(isPlain));
}

function isPlain(element: Element): boolean {
  if (element.line === 'acted') return element.probeOrganizationId === null;
  return element.line !== 'quarantined';
}

export async function put(context: Context, calls: [Delivery][]): Promise<Accepted[]> {
  const deliveries = calls.map(([delivery]) => delivery);
  return arePlain(deliveries) ? putPlain(context, deliveries) : putAny(context, deliveries);
}

/** One statement, which needs no other to begin or commit it. */
async function putPlain(context: Context, deliveries: Delivery[]): Promise<Accepted[]> {
  const counts = deliveries.map(countLines);
  const hints = deliveries.flatMap((delivery, nth) => hintsOf(delivery, nth + 1));
  const { addresses, places } = hintLists(hints);
  if (hints.length > 0) context.news.add('work');
  const row = await context.database.get(
    `SELECT accept_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
       $22) AS ids, coalesce($1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now`,
    context.toldMs,
    context.settings.readGapMs,
    ...journalLists(deliveries, counts),
    organizationsIn(hints),
    ...addresses,
    ...places,
  );
  const { ids, now } = row as { ids: number[]; now: number };
  context.seen.furthestMs = Math.max(context.seen.furthestMs, now);
  return ids.map((id, at) => ({
    deliveryId: `d${id}`,
    repeated: false,
    idReused: false,
    due: counts[at]!.hint,
    probes: false,
  }));
}

/** What the journal has of every delivery, a list for each column. */
function journalLists(deliveries: Delivery[], counts: ReturnType<typeof countLines>[]): unknown[][] {
  return [
    deliveries.map(({ receivedAtMs }) => receivedAtMs),
    deliveries.map(({ bodyHash }) => bodyHash),
    deliveries.map(({ bytes }) => bytes),
    deliveries.map(({ traceparent }) => traceparent),
    deliveries.map(({ elements }) => elements.length),
    counts.map(({ acted }) => acted),
    counts.map(({ ignored }) => ignored),
    deliveries.map(elementsText),
  ];
}

function hintsOf({ elements, receivedAtMs, traceparent }: Delivery, of: number): Hint[] {
  return elements.flatMap((hint, element) =>
    hint.line === 'hint' ? [{ of, element, receivedAtMs, traceparent, hint }] : [],
  );
}

async function putAny(context: Context, deliveries: Delivery[]): Promise<Accepted[]> {
  const hinted = deliveries.map((delivery, nth) => hintsOf(delivery, nth + 1));
  const journalling = journal(context, deliveries);
  const ensuring = ensureOrganizations(context, organizationsIn(hinted.flat()));
  const [journalled] = await Promise.all([journalling, ensuring]);
  const hints: Hint[] = [];
  const probes: { organizationId: string; dueAt: string | null }[] = [];
  const entries: QuarantineEntry[] = [];
  const accepted = deliveries.map((delivery, index): Accepted => {
    const { id, isNew, bodyHash } = journalled[index]!;
    const deliveryId = `d${id}`;
    if (!isNew) {
      const idReused = bodyHash !== delivery.bodyHash;
      return { deliveryId, repeated: true, idReused, due: 0, probes: false };
    }
    const probesBefore = probes.length;
    const due = hinted[index]!;
    hints.push(...due);
    for (const [element, judged] of delivery.elements.entries()) {
      if (judged.line === 'quarantined') {
        const { reason, path, raw } = judged;
        entries.push({ what: 'notification', reason, path, deliveryId: id, element, raw });
      } else if (judged.line === 'acted' && judged.probeOrganizationId !== null) {
        probes.push({ organizationId: judged.probeOrganizationId, dueAt: judged.dueAt });
      }
    }
    return {
      deliveryId,
      repeated: false,
      idReused: false,
      due: due.length,
      probes: probes.length > probesBefore,
    };
  });
  await hintProbes(context, probes, 'notification');
  const ids = journalled.map(({ id }) => id);
  markHints(context, ids, hints);
  await insertEntries(context, entries);
  return accepted;
}

/** Where each delivery stands in the journal. Ids rise in the order of the deliveries. */
async function journal(context: Context, deliveries: Delivery[]): Promise<Journalled[]> {
  const counts = deliveries.map(countLines);
  // Looking for a conflict costs each row a second entry in the log of the server.
  const isAnyNamed = deliveries.some(({ messageId }) => messageId !== null);
  const rows = await context.database.all(
    `INSERT INTO deliveries (received_at, body_hash, bytes, traceparent, notifications, acted, ignored, elements,
       message_id, quarantined)
     SELECT received_at, body_hash, bytes, traceparent, notifications, acted, ignored, elements, message_id, quarantined
     FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::int[], $6::int[], $7::int[], $8::text[],
       $9::text[], $10::int[]) WITH ORDINALITY
       AS d (received_at, body_hash, bytes, traceparent, notifications, acted, ignored, elements, message_id,
         quarantined, nth)
     ORDER BY nth
     ${isAnyNamed ? 'ON CONFLICT (message_id) WHERE message_id IS NOT NULL DO NOTHING' : ''} RETURNING id, message_id`,
    ...journalLists(deliveries, counts),
    deliveries.map(({ messageId }) => messageId),
    counts.map(({ quarantined }) => quarantined),
  );
  const unnamed = rows.filter(({ message_id }) => message_id === null).map(({ id }) => Number(id));
  unnamed.sort((left, right) => left - right);
  const named = new Map<string, number>(
    rows.flatMap(({ id, message_id }) => (message_id === null ? [] : [[message_id, id]])),
  );
  const known = await knownUnder(
    context,
    deliveries.flatMap(({ messageId }) => (messageId === null || named.has(messageId) ? [] : [messageId])),
  );
  return deliveries.map(({ messageId, bodyHash }) => {
    if (messageId === null) return { id: unnamed.shift()!, isNew: true, bodyHash };
    const before = known.get(messageId);
    if (before !== undefined) return before;
    const first = { id: named.get(messageId)!, isNew: true, bodyHash };
    known.set(messageId, { ...first, isNew: false });
    return first;
  });
}

/**
 * Locked, so that the commit waits for the standbys as that of the first one did: it may have been given up there, and whoever repeats
 * it is told that it is kept. Nobody else waits for this lock but who deletes.
 */
async function knownUnder(context: Context, messageIds: string[]): Promise<Map<string, Journalled>> {
  if (messageIds.length === 0) return new Map();
  const rows = await context.database.all(
    'SELECT id, message_id, body_hash FROM deliveries WHERE message_id = ANY($1::text[]) FOR KEY SHARE',
    messageIds,
  );
  return new Map(
    rows.map(({ id, message_id, body_hash }) => [message_id, { id, isNew: false, bodyHash: body_hash }]),
  );
}
