/**
 * A published event in CloudEvents' structured JSON form (JSON Event Format 1.0, section 3), with where it is: the
 * same attributes and the same data as the record's headers and value. Pure.
 */
import type { StructuredEvent } from '../model/api';
import type { PublishedEvent } from '../model/event';

export type { StructuredEvent } from '../model/api';

export function structuredEvent(event: PublishedEvent): StructuredEvent {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of event.record.headers) {
    if (name === 'content-type') attributes.datacontenttype = value;
    else attributes[name.replace(/^ce_/, '')] = name === 'ce_reconciled' ? value === 'true' : value;
  }
  const { position, topic, partition, offset } = event;
  const data: unknown = JSON.parse(event.record.value);
  return { ...attributes, position, topic, partition, offset, data } as StructuredEvent;
}
