/**
 * Acceptance, in sets: deliveries that come together are journalled and their tasks marked due in one transaction and a
 * few round trips. A message id is one delivery, whichever receiver was asked first.
 */
import type { Accepted, Delivery } from '../../model/notification';
import { countLines, elementsText } from '../delivery-row';
import type { QuarantineEntry } from '../quarantine-entry';
import { hintProbes } from './ask-probes';
import type { Context } from './context';
import { type Hint, markHints, tasksAt } from './mark-hints';
import { ensureOrganizations } from './organization-rows';
import { insertEntries } from './quarantine-entries';

interface Journalled {
  id: number;
  isNew: boolean;
  /** Of what was stored under the same message id. */
  bodyHash: string;
}

export async function put(context: Context, calls: [Delivery][]): Promise<Accepted[]> {
  const deliveries = calls.map(([delivery]) => delivery);
  const elements = deliveries.flatMap((delivery) => delivery.elements);
  const hinted = elements.filter((element) => element.line === 'hint');
  // Organizations are locked before tasks: where one is to be probed, tasks wait for it.
  const probing = elements.some(
    (element) => element.line === 'acted' && element.probeOrganizationId !== null,
  );
  const journalling = journal(context, deliveries);
  const ensuring = ensureOrganizations(
    context,
    hinted.flatMap(({ organizationId }) => organizationId ?? []),
  );
  const known =
    probing || hinted.length === 0
      ? undefined
      : tasksAt(context, [...new Set(hinted.map(({ address }) => address))]);
  const [journalled] = await Promise.all([journalling, ensuring, known]);
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
    const before = { hints: hints.length, probes: probes.length };
    for (const [element, judged] of delivery.elements.entries()) {
      if (judged.line === 'hint') {
        const { receivedAtMs, traceparent } = delivery;
        hints.push({ deliveryId: id, element, receivedAtMs, traceparent, hint: judged });
      } else if (judged.line === 'quarantined') {
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
      due: hints.length - before.hints,
      probes: probes.length > before.probes,
    };
  });
  await hintProbes(context, probes, 'notification');
  await markHints(context, hints, known);
  await insertEntries(context, entries);
  return accepted;
}

/** Where each delivery stands in the journal. Ids rise in the order of the deliveries. */
async function journal(context: Context, deliveries: Delivery[]): Promise<Journalled[]> {
  const counts = deliveries.map(countLines);
  // Looking for a conflict costs each row a second entry in the log of the server.
  const isAnyNamed = deliveries.some(({ messageId }) => messageId !== null);
  const rows = await context.database.all(
    `INSERT INTO deliveries (received_at, message_id, body_hash, bytes, traceparent, notifications, acted, ignored,
       quarantined, elements)
     SELECT received_at, message_id, body_hash, bytes, traceparent, notifications, acted, ignored, quarantined, elements
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::int[], $8::int[],
       $9::int[], $10::text[]) WITH ORDINALITY
       AS d (received_at, message_id, body_hash, bytes, traceparent, notifications, acted, ignored, quarantined,
         elements, nth)
     ORDER BY nth
     ${isAnyNamed ? 'ON CONFLICT (message_id) WHERE message_id IS NOT NULL DO NOTHING' : ''} RETURNING id, message_id`,
    deliveries.map(({ receivedAtMs }) => receivedAtMs),
    deliveries.map(({ messageId }) => messageId),
    deliveries.map(({ bodyHash }) => bodyHash),
    deliveries.map(({ bytes }) => bytes),
    deliveries.map(({ traceparent }) => traceparent),
    deliveries.map(({ elements }) => elements.length),
    counts.map(({ acted }) => acted),
    counts.map(({ ignored }) => ignored),
    counts.map(({ quarantined }) => quarantined),
    deliveries.map(elementsText),
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

async function knownUnder(context: Context, messageIds: string[]): Promise<Map<string, Journalled>> {
  if (messageIds.length === 0) return new Map();
  const rows = await context.database.all(
    'SELECT id, message_id, body_hash FROM deliveries WHERE message_id = ANY($1::text[])',
    messageIds,
  );
  return new Map(
    rows.map(({ id, message_id, body_hash }) => [message_id, { id, isNew: false, bodyHash: body_hash }]),
  );
}
