/**
 * The end of the demonstration: the ledger, read back. What was sent is counted from the sender's own log, what became of
 * it from the journal, and every published event is held against what the provider holds now. Nothing is counted from
 * what was meant to happen, so this can fail, and the demonstration with it.
 */
import type { Ledger } from '../model/store';
import type { StructuredEvent } from '../operations/structured-event';
import type { Stage } from './stage';
import type { World } from './story';
import type { Teller } from './tell';

interface SentDelivery {
  accepted?: boolean;
  notifications: unknown[];
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
export async function reckon(stage: Stage, teller: Teller): Promise<string[]> {
  const sent = await stage.control<SentDelivery[]>('GET', 'deliveries');
  const accepted = sent
    .filter((delivery) => delivery.accepted)
    .flatMap(({ notifications }) => notifications).length;
  const ledger = await stage.ask<Ledger & { lost: number }>('/api/ledger');
  const events = await stage.ask<StructuredEvent[]>('/api/events?limit=1000');
  const world = await stage.control<World>('GET', 'state');

  teller.step('The ledger');
  const lines = remarks.filter(([line]) => ledger[line] > 0 || line === 'waiting');
  const sum = remarks.reduce((total, [line]) => total + ledger[line], 0);
  teller.table([
    ['accepted', String(ledger.accepted), 'notifications in deliveries answered 204'],
    ...lines.map(([line, remark]): [string, string, string] => [line, String(ledger[line]), remark]),
    ['lost', String(ledger.accepted - sum), 'accepted, and in no line above'],
  ]);
  const faults: string[] = [];
  if (accepted !== ledger.accepted) faults.push(`the sender counts ${accepted} accepted notifications`);
  if (sum !== ledger.accepted) faults.push(`the lines add up to ${sum}`);
  if (ledger.waiting !== 0) faults.push(`${ledger.waiting} notifications still wait`);
  faults.push(...outOfOrder(events), ...untrue(events, world));
  teller.say(
    faults.length === 0
      ? `The sender’s own log says the same, the ${events.length} events are in order for each key, and the newest event of ` +
          'each machine is what the provider holds now.'
      : `This does not add up: ${faults.join('; ')}.`,
  );
  return faults;
}

/** First appearances of each key must be in sequence. */
function outOfOrder(events: StructuredEvent[]): string[] {
  const last = new Map<string, string>();
  return events.flatMap((event) => {
    const key = String(event.subject);
    const before = last.get(key) ?? '';
    last.set(key, String(event.sequence));
    return String(event.sequence) > before ? [] : [`${key} is out of order`];
  });
}

/** The newest event of each machine must say what the provider says. */
function untrue(events: StructuredEvent[], world: World): string[] {
  const newest = new Map<string, StructuredEvent>();
  for (const event of events) newest.set(String(event.subject), event);
  return [...newest].flatMap(([key, event]) => {
    const machine = world.equipment.find(
      ({ id, organizationId }) => `${organizationId}/equipment/${id}` === key,
    );
    const told = (event.data as { name?: unknown }).name;
    return machine === undefined || machine.content.name === told
      ? []
      : [`${key} is not what the provider holds`];
  });
}
