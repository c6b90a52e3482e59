/**
 * The values of events, said as schemas. What is published is checked against them, and the files that readers get are
 * written from them. A reader's schema is open: fields may be added, none is taken away or changes. Which facts a kind has
 * is said in the kind's own file.
 */
import { z } from 'zod';
import type { EventKind, ResourceKind } from '../model/resource';
import { type SchemaFault, schemaFaultOf } from '../tools/schema';
import { equipmentFacts } from './equipment';
import { fieldOperationFacts } from './field-operation';
import type { Facts } from './reading';
import { utcTimeSchema } from './scalars';

const common = {
  id: z.string().describe("The provider's id of the resource."),
  organizationId: z.string().describe('The organization that owns it.'),
  observedAt: utcTimeSchema.describe('When the state was read.'),
  source: z
    .object({ address: z.string(), mediaType: z.string() })
    .describe('Where it was read. Addresses may change and identify nothing.'),
};

const movedTo = z
  .string()
  .optional()
  .describe('Only when deleted: the organization to which the resource has moved.');

// Of the facts none is required of a whole value, because the value of a `deleted` event has none.
const equipmentSchema = z
  .object({ ...common, movedTo, ...equipmentFacts.partial({ category: true }).shape })
  .meta({
    title: 'Equipment',
    description: 'A machine or an implement of an organization. A deleted one has no facts.',
  });

const fieldOperationSchema = z
  .object({ ...common, movedTo, ...fieldOperationFacts.partial({ fieldOperationType: true }).shape })
  .meta({
    title: 'Field operation',
    description: 'What was done on a field, and what was measured. A deleted one has no facts.',
  });

const access = z.enum(['active', 'terms-required', 'not-connected', 'reauthorize']);

const organizationAccessSchema = z
  .object({
    ...common,
    name: z.string().nullish().describe("The organization's name, as last learned."),
    access: access.describe('Whether the organization can be read, and if not, what its customer must do.'),
    previousAccess: access,
    cause: z.string().nullable().describe('What was found; null when nothing keeps it from being read.'),
    since: utcTimeSchema.nullable().describe('Since when the access is what it is.'),
    actionUrl: z.string().nullable().describe('Where a person acts.'),
    message: z.string().nullable().describe("The provider's own words."),
  })
  .meta({
    title: 'Organization access',
    description: 'Whether an organization can be read now, and what must be done where it cannot.',
  });

/** The schema of each kind's value, `deleted` included. */
export const eventSchemas: Record<EventKind, z.ZodObject> = {
  equipment: equipmentSchema,
  'field-operation': fieldOperationSchema,
  'organization-access': organizationAccessSchema,
};

const factsSchemas: Record<ResourceKind, z.ZodObject> = {
  equipment: equipmentFacts,
  'field-operation': fieldOperationFacts,
};

/** The first fault of a whole value against the schema of its kind; null when it fits. Never throws. */
export function checkEventValue(kind: EventKind, value: unknown): SchemaFault | null {
  return schemaFaultOf(eventSchemas[kind], value);
}

/** The same for the facts alone, which is all of a value that this room makes. */
export function checkFacts(kind: ResourceKind, facts: Facts): SchemaFault | null {
  return schemaFaultOf(factsSchemas[kind], facts);
}
