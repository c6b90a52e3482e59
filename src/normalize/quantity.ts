/**
 * A quantity: a number with its unit, published in the canonical metric unit with the provider's own value and unit kept
 * beside it. The provider calls it EventMeasurement.
 */
import { z } from 'zod';
import { pointerStep } from '../tools/schema';
import { asRecord, type Facts, Fault, noteUnknown, ownValue, type Part, type Reading } from './reading';
import { flag, plainNumber, text } from './scalars';
import { convertUnit } from './units';

const quantitySchema = z
  .object({
    value: z.number(),
    unit: z.string().describe('UCUM. What the provider names and we do not know is an annotation in braces.'),
    source: z
      .object({ value: z.number(), unit: z.string() })
      .describe('As the provider sent it, in its own name of the unit.'),
    edited: z.boolean().nullish().describe('True when a person changed the measured value.'),
  })
  .meta({
    id: 'quantity',
    description:
      'In one unit per quantity: m, har, L, kg, h, {seeds}, {bales}, %, Cel, kPa, /min, deg, 1, km/h, and quotients of these.',
  });

const known = new Set(['@type', 'value', 'unitId', 'variableRepresentation', 'edited', 'links']);

/** Null when the provider sent a null value: it was cleared as a whole. An unknown unit is counted, not refused. */
export const quantity: Part = {
  schema: quantitySchema,
  read(wire, path, reading) {
    const record = asRecord(wire, path);
    const value = ownValue(record, 'value');
    if (value === undefined) throw new Fault(`${path}/value`, 'required', 'expected a value, got none');
    countUnknown(record, path, reading);
    return value === null ? null : readQuantity(record, value, path, reading);
  },
};

function readQuantity(record: Facts, wireValue: unknown, path: string, reading: Reading): Facts {
  const value = plainNumber.read(wireValue, `${path}/value`, reading) as number;
  const unitId = ownValue(record, 'unitId');
  if (unitId === undefined || unitId === null) {
    throw new Fault(`${path}/unitId`, 'required', 'expected a unit, got none');
  }
  const unit = text.read(unitId, `${path}/unitId`, reading) as string;
  const converted = convertUnit(value, unit);
  if (!Number.isFinite(converted.value)) {
    throw new Fault(`${path}/value`, 'out-of-range', 'the number is too large for its unit');
  }
  if (!converted.known) noteUnknown(`${path}/unitId`, reading);
  const facts: Facts = { value: converted.value, unit: converted.unit, source: { value, unit } };
  const edited = ownValue(record, 'edited');
  if (edited !== undefined) {
    facts.edited = edited === null ? null : flag.read(edited, `${path}/edited`, reading);
  }
  return facts;
}

function countUnknown(record: Facts, path: string, reading: Reading): void {
  for (const key of Object.keys(record)) {
    if (!known.has(key)) noteUnknown(`${path}/${pointerStep(key)}`, reading);
  }
}
