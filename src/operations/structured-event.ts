/**
 * A published event in CloudEvents' structured JSON form (JSON Event Format 1.0, section 3), with where it is: the
 * same attributes and the same data as the record's headers and value. Pure.
 */
import type { StructuredEvent } from '../model/api';
import type { PublishedEvent } from '../model/event';

/** Of an event whose record cannot be read back, whatever it was. */
const damagedType = 'io.tramline.damaged';

/** One that cannot be read back is not left out: it says so in its place. */
export function structuredEvent(event: PublishedEvent): StructuredEvent {
  if (event.damaged !== null) return damagedEvent(event, event.damaged);
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of event.record.headers) {
    if (name === 'content-type') attributes.datacontenttype = value;
    else attributes[name.replace(/^ce_/, '')] = name === 'ce_reconciled' ? value === 'true' : value;
  }
  const { position, topic, partition, offset } = event;
  const data: unknown = JSON.parse(event.record.value);
  return { ...attributes, position, topic, partition, offset, data } as StructuredEvent;
}

function damagedEvent({ record, position, topic, partition, offset }: PublishedEvent, damaged: string) {
  const { eventId: id, key: subject } = record;
  const place = { position, topic, partition, offset };
  return { specversion: '1.0', id, type: damagedType, subject, ...place, data: null, damaged } as never;
}
