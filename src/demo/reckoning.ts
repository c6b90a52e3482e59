/**
 * The end of the demonstration: the ledger, read back. What was sent is counted from the sender's own log, what became of
 * it from the journal, and the newest event of each announced machine is held against what the provider holds now. Nothing
 * is counted from what was meant to happen, so this can fail, and the demonstration with it.
 */

import type { StructuredEvent } from '../model/api';
import type { Ledger } from '../model/ledger';
import type { Pager } from './pager';
import type { Stage } from './stage';
import { termsPage, type World } from './story';
import type { Teller } from './tell';

interface SentDelivery {
  accepted?: boolean;
  notifications: { targetResource?: unknown }[];
}

const remarks: [line: keyof Ledger, remark: string][] = [
  ['published', 'became an event'],
  ['merged', 'covered by a read that began after them'],
  ['unchanged', 'read, and nothing was new'],
  ['gone', 'the resource is no more'],
  ['acted', 'verification and heartbeat'],
  ['ignored', 'of a type that leads to no read'],
  ['parked', 'wait for a customer'],
  ['quarantined', 'wait for an operator'],
  ['discarded', 'by an operator'],
  ['waiting', 'still to be read'],
];

/** Tells the ledger; the sentences that say what does not add up, none when all is well. */
export async function reckon(
  stage: Pick<Stage, 'control' | 'ask' | 'recordsOnTopics'>,
  teller: Teller,
  pager: Pick<Pager, 'count'>,
): Promise<string[]> {
  const sent = (await stage.control<SentDelivery[]>('GET', 'deliveries')).filter(({ accepted }) => accepted);
  const notifications = sent.flatMap((delivery) => delivery.notifications);
  const ledger = await stage.ask<Ledger & { lost: number }>('/api/ledger');
  const events = await stage.ask<StructuredEvent[]>('/api/events?limit=1000');
  const world = await stage.control<World>('GET', 'state');
  const records = await stage.recordsOnTopics();

  teller.step('The ledger');
  const lines = remarks.filter(([line]) => ledger[line] > 0 || line === 'waiting');
  const sum = remarks.reduce((total, [line]) => total + ledger[line], 0);
  teller.table([
    ['accepted', String(ledger.accepted), 'notifications in deliveries answered 204'],
    ...lines.map(([line, remark]): [string, string, string] => [line, String(ledger[line]), remark]),
    ['lost', String(ledger.accepted - sum), 'accepted, and in no line above'],
  ]);
  const faults: string[] = [];
  if (notifications.length !== ledger.accepted) {
    faults.push(`the sender counts ${notifications.length} accepted notifications`);
  }
  if (sum !== ledger.accepted) faults.push(`the lines add up to ${sum}`);
  if (ledger.waiting !== 0) faults.push(`${ledger.waiting} notifications still wait`);
  const announced = new Set(notifications.map(({ targetResource }) => targetResource));
  const changed = world.equipment.filter(({ uri }) => announced.has(uri));
  faults.push(
    ...unlike(events, ledger.published),
    ...outOfOrder(events),
    ...untrue(events, changed),
    ...(records === null ? [] : notOnTopics(events, records)),
    ...badlyPaged(pager),
  );
  const onTopics = records === null ? '' : ` and ${records.length} records on the topics`;
  teller.say(
    faults.length === 0
      ? `The sender’s own log says the same. The ${events.length} events of the event log${onTopics} are the published ones, ` +
          `in order for each key; the newest of each of the ${changed.length} announced machines has the identity, ` +
          'organization, name, serial number and archived mark that the provider holds now.'
      : `This does not add up: ${faults.join('; ')}.`,
  );
  return faults;
}

/** Each notification that ended as published became one event, and nobody else's event stands beside them. */
function unlike(events: StructuredEvent[], published: number): string[] {
  const announced = events.filter(
    ({ type, reconciled }) => !type.startsWith('io.tramline.organization-access.') && reconciled !== true,
  );
  const faults: string[] = [];
  if (announced.length !== published) {
    faults.push(`${published} notifications ended as published and ${announced.length} events are there`);
  }
  if (new Set(events.map(({ id }) => id)).size !== events.length) faults.push('an event is there twice');
  return faults;
}

/** The events of each key are numbered from one on, without a gap. */
function outOfOrder(events: StructuredEvent[]): string[] {
  const last = new Map<string, number>();
  return events.flatMap(({ subject, sequence }) => {
    const expected = (last.get(subject) ?? 0) + 1;
    last.set(subject, Number(sequence));
    return Number(sequence) === expected
      ? []
      : [`${subject} has sequence ${sequence} in the place of ${expected}`];
  });
}

/** What is held against the provider, besides identity and organization: sent and published under the same names. */
const compared = ['name', 'serialNumber', 'archived'];

/** Each machine that was announced has an event, and the newest one says of it what the provider says. */
function untrue(events: StructuredEvent[], changed: World['equipment']): string[] {
  const newest = new Map(events.map((event) => [event.subject, event]));
  return changed.flatMap(({ id, organizationId, content }) => {
    const key = `${organizationId}/equipment/${id}`;
    const event = newest.get(key);
    if (event === undefined) return [`${key} was announced and has no event`];
    const data = event.data as Record<string, unknown>;
    const same = data.id === id && data.organizationId === organizationId;
    return same && compared.every((member) => content[member] === data[member])
      ? []
      : [`${key} is not what the provider holds`];
  });
}

/** What stands on the topics, by key, number, identity and place, is what the log says; repeats aside. */
function notOnTopics(
  events: StructuredEvent[],
  records: NonNullable<Awaited<ReturnType<Stage['recordsOnTopics']>>>,
): string[] {
  const said = new Set(events.map(({ subject, sequence, id }) => `${subject} ${Number(sequence)} ${id}`));
  const found = new Set(records.map(({ key, sequence, eventId }) => `${key} ${sequence} ${eventId}`));
  const last = new Map(records.map(({ key, sequence }) => [key, sequence]));
  return [
    ...[...said].filter((event) => !found.has(event)).map((event) => `${event} is not on its topic`),
    ...[...found]
      .filter((event) => !said.has(event))
      .map((event) => `${event} is on a topic and not in the log`),
    ...records
      .filter(({ key, sequence }) => sequence > (last.get(key) ?? 0))
      .map(({ key }) => `the last record of ${key} is not its newest`),
  ];
}

/** One block is one page, and its end another. */
function badlyPaged(pager: Pick<Pager, 'count'>): string[] {
  return (['firing', 'resolved'] as const).flatMap((state) => {
    const pages = pager.count(termsPage, state);
    return pages === 1 ? [] : [`on-call got ${pages} ${state} pages`];
  });
}
