/**
 * What became of each notification of a delivery: one step each, with its line of the ledger and, where it was set aside,
 * the entry that an operator has of it. Pure: all stores hand over rows with the same names.
 */
import type { ExplainStep } from '../model/inspection';
import {
  type AsideToTell,
  type Covered,
  type DeliveryToTell,
  type ElementEntry,
  forgottenReason,
  type RefusedEntry,
  type TaskToTell,
  type ToldRead,
} from './covered';
import type { EntryToTell } from './event-steps';
import { leftOutStep, stepsMax } from './left-out';

interface Journalled {
  line: string;
  eventTypeId?: string;
  address?: string | null;
  reason?: string;
  path?: string;
}

/** `line` is null where nothing is known of it, or it is not that of the ledger for certain. */
interface Became {
  line: string | null;
  text: string;
  aside?: AsideToTell | EntryToTell | null;
}

/** Whatever somebody sent as a type or an address, so much of it is told. */
const toldMax = 300;

/** Of a type and of an address 300 characters are told. */
export function notificationSteps(
  delivery: DeliveryToTell,
  covered: Covered[],
  entries: ElementEntry[],
): ExplainStep[] {
  const elements = JSON.parse(delivery.elements) as Journalled[];
  const entryOf = new Map(entries.map((entry) => [entry.element, entry]));
  const hinted = new Map(
    covered.flatMap((one) => one.hints.map(({ element, generation }) => [element, { one, generation }])),
  );
  return elements.map((element, index): ExplainStep => {
    const entry = entryOf.get(index);
    const kept = element.line === 'quarantined' ? keptOf(entry?.raw ?? null) : {};
    const told = { ...kept, ...element };
    const hint = hinted.get(index);
    const became = hint === undefined ? receivedAs(element, entry) : hintBecame(hint.one, hint.generation);
    const before =
      entry?.state === 'released' ? `; before, it was ${whichOf(entry)}, which was released` : '';
    const aside = became.aside ?? entry ?? null;
    const where = typeof told.address === 'string' ? ` ${told.address}` : '';
    return {
      at: new Date(delivery.received_at).toISOString(),
      step: element.line,
      text: `notification ${index} (${told.eventTypeId ?? 'type unknown'})${where} → ${became.text}${before}`,
      ...told,
      notification: index,
      ledger: became.line,
      entry: aside === null ? null : `q${aside.id}`,
      entryState: aside?.state ?? null,
    };
  });
}

/** Its type and its address, as far as what was kept of it can be read. */
function keptOf(raw: string | null): { eventTypeId?: string; address?: string } {
  const { eventTypeId, targetResource } = membersOf(raw);
  return {
    ...(typeof eventTypeId === 'string' ? { eventTypeId: eventTypeId.slice(0, toldMax) } : {}),
    ...(typeof targetResource === 'string' ? { address: targetResource.slice(0, toldMax) } : {}),
  };
}

function membersOf(raw: string | null): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(raw ?? 'null');
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** How an address stands in what is kept of a notification: with its quotes, since others begin as it does. */
export function keptAddress(address: string): string {
  return JSON.stringify(address);
}

/**
 * Notifications that were set aside as they came, and named this address, of which nothing else is known: of the newest entries the
 * newest 200. Of a type and of an address 300 characters are told.
 */
export function refusedSteps(of: string, entries: RefusedEntry[]): ExplainStep[] {
  const named = entries.filter(({ raw }) => membersOf(raw).targetResource === of);
  const told = named.slice(-stepsMax);
  const steps = told.map((entry): ExplainStep => {
    const { element, delivery_id: delivery, state } = entry;
    const { eventTypeId, address } = keptOf(entry.raw);
    const since = state === 'waiting' ? '' : `, and was ${state}`;
    return {
      at: new Date(entry.at).toISOString(),
      step: 'quarantined',
      text: `notification ${element} (${eventTypeId ?? 'type unknown'}) of delivery d${delivery} named it, and was set aside as it came, as ${whichOf(entry)}${since}`,
      deliveryId: `d${delivery}`,
      notification: element,
      address,
      entry: `q${entry.id}`,
      entryState: state,
    };
  });
  const isAll = told.length === named.length;
  return isAll ? steps : [leftOutStep(told[0]!.at, 'notifications of it'), ...steps];
}

/** A notification that made nothing due. */
function receivedAs({ line, reason, path }: Journalled, entry: ElementEntry | undefined): Became {
  if (line !== 'quarantined') return { line: line === 'hint' ? null : line, text: line };
  if (entry === undefined) return { line, text: `quarantined: ${reason}${placeOf(path)}` };
  if (entry.state === 'discarded')
    return { line: 'discarded', text: `discarded as ${whichOf(entry)}, by an operator`, aside: entry };
  return { line, text: `quarantined as ${whichOf(entry)}`, aside: entry };
}

function hintBecame(one: Covered, generation: number): Became {
  if (!('read' in one)) return waitingAs(one.waiting);
  const { read, events } = one;
  const why = read.reason === null ? '' : ` (${read.reason})`;
  if (read.outcome === 'discarded')
    return { line: 'discarded', text: discardedAs(read), aside: read.givenUp };
  if (generation < read.generation)
    return { line: 'merged', text: 'merged: one read answers it and a newer one of the same resource' };
  if (read.outcome !== 'published') return { line: read.outcome, text: `${read.outcome}${why}` };
  const event = events.find(({ event_id }) => event_id === read.event_id);
  if (event === undefined)
    return { line: read.swept ? 'published' : null, text: `decided as published${why}` };
  // What has a position went out: a replay may have it go once more.
  if (event.state === 0 && event.position === null)
    return { line: 'waiting', text: `waiting: its event is decided${why}, not sent yet` };
  if (event.state === 3) {
    const state = event.entry?.state;
    const line = state === 'discarded' ? 'discarded' : state === 'released' ? 'merged' : 'quarantined';
    return { line, text: `${line}: its event was refused${asOf(event.entry)}`, aside: event.entry };
  }
  if (event.state === 4) {
    const line = event.awaits ? 'waiting' : 'merged';
    return { line, text: `${line}: its event was set aside, and is told by a newer one` };
  }
  return { line: 'published', text: `published${why}` };
}

function waitingAs(task: TaskToTell | undefined): Became {
  if (task === undefined) return { line: null, text: 'hint' };
  const why = task.code === null ? '' : `: ${wordsOf(task.code)}`;
  if (isParked(task)) return { line: 'parked', text: `parked: its organization is ${task.access}` };
  if (task.state !== 'quarantined') return { line: 'waiting', text: `waiting, ${task.state}${why}` };
  const aside = asideOf(task);
  return { line: 'quarantined', text: `quarantined${aside === null ? why : ` as ${whichOf(aside)}`}`, aside };
}

export function isParked({ due_at, access }: TaskToTell): boolean {
  return due_at !== null && access !== null && access !== 'active';
}

/** Why a task waits, as its code says it; the word for an older version says what is to be done. */
export function wordsOf(code: string): string {
  return code === 'older-normalizer'
    ? `${code}: a newer version has read it, and only one of that version reads it again`
    : code;
}

/** The entry of a task that was set aside; null of any other. */
export function asideOf({
  entry_id: id,
  entry_at,
  entry_reason,
  entry_path,
}: TaskToTell): AsideToTell | null {
  if (id === null) return null;
  return { id, at: entry_at!, reason: entry_reason!, path: entry_path ?? '', state: 'waiting' };
}

/** Who ended it, and why it was set aside, if it was. */
export function discardedAs({ reason, givenUp }: ToldRead): string {
  const why = reason === forgottenReason ? 'since an operator forgot its organization' : 'by an operator';
  return `discarded${asOf(givenUp)}, ${why}`;
}

function asOf(entry: AsideToTell | EntryToTell | null | undefined): string {
  return entry === null || entry === undefined ? '' : ` as ${whichOf(entry)}`;
}

export function whichOf(entry: AsideToTell | EntryToTell): string {
  return `q${entry.id}: ${entry.reason}${'path' in entry ? placeOf(entry.path) : ''}`;
}

function placeOf(path: string | undefined): string {
  return path === undefined || path === '' ? '' : ` at ${path}`;
}
