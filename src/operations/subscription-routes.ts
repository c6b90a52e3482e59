/**
 * Routes of webhook subscriptions and of how they are delivered. What is wanted is sent as a body: an Authorization value
 * must stand in no address.
 */
import { z } from 'zod';
import { Problem } from '../model/problem';
import { schemaFaultOf } from '../tools/schema';
import { idOf, oneLine, readParameters } from './parameters';
import type { Asked, Route } from './route';
import { streamedLines } from './streamed';

const wantedSchema = z.strictObject({
  eventTypeId: oneLine(100),
  filters: z
    .array(z.strictObject({ key: oneLine(100), values: z.array(oneLine(256)).min(1).max(1000) }))
    .max(20)
    .default([]),
  displayName: oneLine(100).nullable().default(null),
  user: oneLine(256).nullable().default(null),
});

const deliverySettingsSchema = z.strictObject({
  status: z.enum(['Active', 'Paused']).optional(),
  concurrentDeliveries: z.int().min(1).max(10).optional(),
  maxBatchSize: z.int().min(1).max(256).optional(),
  authorization: z
    .union([
      z.strictObject({ generate: z.literal(true) }),
      // What a header can carry, and not less than a guess would take.
      z.strictObject({ value: z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]{6,4094}[\x21-\x7e])$/) }),
    ])
    .optional(),
});

export const subscriptionRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/subscriptions',
    summary: 'webhook subscriptions as the provider has them',
    answer: async ({ subscriptions }, asked) => {
      readParameters(asked.search, {});
      return streamedLines(subscriptions.list());
    },
  },
  {
    method: 'post',
    path: '/api/subscriptions',
    summary: 'create one, with a token of its own',
    takesBody: true,
    answer: ({ subscriptions }, asked) =>
      subscriptions.create(
        bodyOf(asked, wantedSchema, '{"eventTypeId", "filters"?, "displayName"?, "user"?}'),
      ),
  },
  {
    method: 'post',
    path: '/api/subscriptions/:id/renew',
    summary: 'make an expired one active again',
    answer: ({ subscriptions }, asked) => subscriptions.renew(idOf(asked)),
  },
  {
    method: 'post',
    path: '/api/subscriptions/:id/end',
    summary: 'end it for good',
    answer: ({ subscriptions }, asked) => subscriptions.end(idOf(asked)),
  },
  {
    method: 'get',
    path: '/api/delivery',
    summary: 'how the provider delivers to this client',
    answer: ({ subscriptions }, asked) => {
      readParameters(asked.search, {});
      return subscriptions.delivery();
    },
  },
  {
    method: 'post',
    path: '/api/delivery',
    summary: 'change that, or rotate the Authorization value',
    takesBody: true,
    answer: ({ subscriptions }, asked) =>
      subscriptions.setDelivery(
        bodyOf(
          asked,
          deliverySettingsSchema,
          '{"status"?, "concurrentDeliveries"?, "maxBatchSize"?, "authorization"?}',
        ),
      ),
  },
];

/** Says what a body must be, never what it was. */
function bodyOf<Schema extends z.ZodType>(
  { search, body }: Asked,
  schema: Schema,
  expected: string,
): z.output<Schema> {
  readParameters(search, {});
  const fault = schemaFaultOf(schema, body);
  if (fault !== null) throw new Problem('command.usage', `the body must be ${expected}, in their bounds`);
  return schema.parse(body);
}
