/**
 * What was measured in a field operation: the operation with its list of measurement types, or with the one that is named
 * as its own address shows it. All of it is asked of whoever read the operation.
 */
import type { Connection } from '../model/connection';
import type { ProviderData, RawItem, RawRead } from '../model/provider-data';
import type { Caller } from './caller';
import type { Gate } from './gate';
import { linksOf } from './links';
import type { ProviderDoors } from './options';
import { faultOf, itemsOf, type ListParts } from './reach';
import type { ReadRecord } from './read-record';

export interface MeasurementParts extends ListParts {
  doors: Pick<ProviderDoors, 'connections'>;
  gate: Gate;
  readRecord: ReadRecord;
  /** Each of its calls has a deadline of its own. */
  caller(): Caller;
}

type Measured = { operation: RawItem; values: unknown[] };

/** Never rejects; holds one page of the list at a time. */
export function makeMeasurements(parts: MeasurementParts): ProviderData['measurements'] {
  const { doors, readRecord } = parts;
  return async (id, organizationId, name) => {
    const read = await readRecord('field-operation', id, organizationId);
    if ('fault' in read) return read;
    const operation = read.value;
    const { connectionId, address } = operation;
    const first = linksOf(operation.body).get('measurementTypes');
    const connection = doors.connections().find((one) => one.connectionId === connectionId);
    if (first === undefined || connection === undefined) {
      const message = 'the operation has no relationship `measurementTypes`';
      return { fault: faultOf({ kind: 'no-access', connectionId, message }, address, organizationId) };
    }
    const caller = parts.caller();
    const reach = { connection, organizationId };
    const values: unknown[] = [];
    const walk = { first, operation: 'field-operation', reach, caller, embeds: [] } as const;
    for await (const line of itemsOf(parts, walk)) {
      if ('fault' in line) return line;
      const { body } = line.item;
      if (name === null) values.push(body);
      else if (nameOf(body) === name) return readOne(parts.gate, operation, body, connection, caller);
    }
    if (name === null) return { value: { operation, values } };
    const origin = URL.parse(first)?.origin ?? '';
    return {
      fault: faultOf({ kind: 'gone', certain: false, connectionId, origin }, first, organizationId),
    };
  };
}

function nameOf(body: unknown): unknown {
  return (body as { measurementName?: unknown } | null)?.measurementName;
}

/** One measurement type at its own address; as it is listed where it names none. */
async function readOne(
  gate: Gate,
  operation: RawItem,
  listed: unknown,
  connection: Connection,
  caller: Caller,
): Promise<RawRead<Measured>> {
  const address = linksOf(listed).get('self');
  if (address === undefined) return { value: { operation, values: [listed] } };
  const admission = gate.admit(address);
  if (!admission.admitted) {
    const { code, detail } = admission;
    return { fault: faultOf({ kind: 'address-refused', code, detail }, address, null) };
  }
  const verdict = await caller.call({ url: admission.url, operation: 'field-operation', connection });
  if (verdict.kind === 'ok') return { value: { operation, values: [verdict.document.body] } };
  if (verdict.kind !== 'forbidden') return { fault: faultOf(verdict, address, null) };
  const { connectionId, message } = verdict;
  return { fault: faultOf({ kind: 'no-access', connectionId, message }, address, null) };
}
