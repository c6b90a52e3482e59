/**
 * How calls and their answers cross between the threads. Copying an object costs several times what copying its values
 * does, and deliveries come by thousands a second: they and their answers cross as values in a fixed order, all else as it
 * is. Both sides are of one build, so nothing here has a version.
 */
import type { Accepted, Delivery, Element } from '../../model/notification';
import type { Result } from '../group';
import type { Call } from './engine';

/** A call as it is, or the values of a delivery, of which the first is how many elements it has. */
export type PackedCalls = unknown[];

/** A result as it is, or the values of what an accepted delivery is told, of which the first is its id. */
export type PackedResults = unknown[];

export function packCalls(calls: readonly Call[]): PackedCalls {
  const packed: PackedCalls = [];
  for (const call of calls) {
    if (call.verb === 'put') packDelivery(packed, call.args[0] as Delivery);
    else packed.push(call);
  }
  return packed;
}

export function unpackCalls(packed: PackedCalls): Call[] {
  const calls: Call[] = [];
  const values = new Values(packed);
  while (!values.atEnd()) {
    const first = values.next<Call | number>();
    if (typeof first === 'number') calls.push({ verb: 'put', args: [readDelivery(first, values)] });
    else calls.push(first);
  }
  return calls;
}

/** `calls` are those that the results are of. */
export function packResults(calls: readonly Call[], results: readonly Result[]): PackedResults {
  const packed: PackedResults = [];
  for (const [at, result] of results.entries()) {
    if (calls[at]?.verb === 'put' && 'value' in result && result.setAside === undefined) {
      const { deliveryId, repeated, idReused, due, probes } = result.value as Accepted;
      packed.push(deliveryId, repeated, idReused, due, probes);
    } else packed.push(result);
  }
  return packed;
}

export function unpackResults(packed: PackedResults): Result[] {
  const results: Result[] = [];
  const values = new Values(packed);
  while (!values.atEnd()) {
    const first = values.next<Result | string>();
    if (typeof first !== 'string') results.push(first);
    else {
      const value: Accepted = {
        deliveryId: first,
        repeated: values.next(),
        idReused: values.next(),
        due: values.next(),
        probes: values.next(),
      };
      results.push({ value });
    }
  }
  return results;
}

function packDelivery(packed: PackedCalls, delivery: Delivery): void {
  const { elements, receivedAtMs, messageId, bodyHash, bytes, traceparent } = delivery;
  packed.push(elements.length, receivedAtMs, messageId, bodyHash, bytes, traceparent);
  for (const element of elements) packElement(packed, element);
}

function readDelivery(count: number, values: Values): Delivery {
  const delivery: Delivery = {
    receivedAtMs: values.next(),
    messageId: values.next(),
    bodyHash: values.next(),
    bytes: values.next(),
    traceparent: values.next(),
    elements: [],
  };
  for (let at = 0; at < count; at += 1) delivery.elements.push(readElement(values));
  return delivery;
}

function packElement(packed: PackedCalls, element: Element): void {
  const { line } = element;
  switch (line) {
    case 'hint':
      packed.push(line, element.eventTypeId, element.address, element.organizationId, element.user);
      break;
    case 'acted':
      packed.push(line, element.eventTypeId, element.probeOrganizationId, element.dueAt);
      break;
    case 'ignored':
      packed.push(line, element.eventTypeId, element.address);
      break;
    case 'quarantined':
      packed.push(line, element.reason, element.path, element.raw);
      break;
  }
}

function readElement(values: Values): Element {
  const line = values.next<Element['line']>();
  switch (line) {
    case 'hint':
      return {
        line: 'hint',
        eventTypeId: values.next(),
        address: values.next(),
        organizationId: values.next(),
        user: values.next(),
      };
    case 'acted':
      return {
        line: 'acted',
        eventTypeId: values.next(),
        probeOrganizationId: values.next(),
        dueAt: values.next(),
      };
    case 'ignored':
      return { line: 'ignored', eventTypeId: values.next(), address: values.next() };
    case 'quarantined':
      return { line: 'quarantined', reason: values.next(), path: values.next(), raw: values.next() };
  }
}

/** One after the other; the order in which members are written above is the order in which they are taken. */
class Values {
  #at = 0;

  constructor(private readonly packed: unknown[]) {}

  atEnd(): boolean {
    return this.#at >= this.packed.length;
  }

  next<Value>(): Value {
    const value = this.packed[this.#at] as Value;
    this.#at += 1;
    return value;
  }
}
