/**
 * A field operation: what was done on a field, with which machines and products, and what was measured. All forms that
 * the provider has sent are one document here. Names of persons are left out unless they are asked for.
 */
import { measurements, settleMeasurement } from './measurement';
import { indexProducts, product, products } from './product';
import {
  asRecord,
  type Facts,
  optional,
  optionalWhen,
  ownValue,
  type Reading,
  required,
  shapeOf,
  single,
} from './reading';
import type { ResourceFacts } from './resource-facts';
import { flag, label, readId, text, time, word } from './scalars';
import { setBy } from './sets';

const operator = shapeOf(
  {
    id: optional('operatorId', label),
    name: optionalWhen((reading) => reading.includeOperatorNames, 'name', text),
  },
  // A licence is a person's, and no fact about the operation.
  /^license$/,
);

const machine = shapeOf({
  machineId: optional('machineId', label),
  erid: optional('erid', label),
  guid: optional('GUID', label),
  vin: optional('vin', text),
  operators: optional('operators', setBy(operator, 'id', 'name')),
});

const published = {
  fieldOperationType: required('fieldOperationType', word),
  adaptMachineType: optional('adaptMachineType', text),
  cropSeason: optional('cropSeason', label),
  cropName: optional('cropName', text),
  startTime: optional('startDate', time),
  endTime: optional('endDate', time),
  modifiedTime: optional('modifiedTime', time),
  archived: optional('archived', flag),
  products: optional('products', products, 'What was applied: single products and tank mixes.'),
  varieties: optional('varieties', products, 'What was planted or harvested.'),
  machines: optional('fieldOperationMachines', setBy(machine, 'machineId', 'erid', 'guid', 'vin')),
  measurements: optional(
    'measurementTypes',
    measurements,
    'Absent when not asked for; empty when nothing was recorded.',
  ),
};

const leftOut = /^(?:id|orgId|tasks)$/;
const sent = shapeOf({ ...published, oldProduct: optional('product', single(product)) }, leftOut);

/** The schema of the facts; `sent` differs only by what is folded in. */
export const fieldOperationFacts = shapeOf(published).schema;

/** Reads a document whose `@type` is FieldOperation. Throws `Fault`. */
export function readFieldOperation(body: unknown, reading: Reading): ResourceFacts {
  const record = asRecord(body, '');
  const id = readId(ownValue(record, 'id'), '/id');
  const organizationId = readId(ownValue(record, 'orgId'), '/orgId');
  const facts = sent.read(record, '', reading);
  foldOldProduct(facts);
  const operation = {
    isApplication: facts.fieldOperationType === 'application',
    products: indexProducts(listOf(facts.products)),
  };
  for (const measurement of listOf(facts.measurements)) settleMeasurement(measurement, operation);
  return {
    id,
    organizationId,
    facts,
    modifiedTime: typeof facts.modifiedTime === 'string' ? facts.modifiedTime : null,
    archived: facts.archived === true,
  };
}

/** The list wins where both are sent; the old single product fills in where the list says nothing. */
function foldOldProduct(facts: Facts): void {
  const { oldProduct } = facts;
  delete facts.oldProduct;
  if (oldProduct === undefined || listOf(facts.products).length > 0) return;
  if (oldProduct !== null) facts.products = [oldProduct];
  else if (facts.products === undefined) facts.products = null;
}

function listOf(value: unknown): Facts[] {
  return Array.isArray(value) ? (value as Facts[]) : [];
}
