import Ajv2020 from 'ajv/dist/2020';
import { z } from 'zod';
import { deliverySchema, isStorable, notificationSchema } from '../../../src/webhook/notification-schema';
import { notification } from './receiver';

test('the schema that is published accepts what the provider posts, with more fields than are known', () => {
  const check = new Ajv2020({ strict: true }).compile(z.toJSONSchema(deliverySchema, { io: 'input' }));
  expect(check([notification({ token: 'x', version: 2 }), { eventTypeId: 'heartbeat' }])).toBe(true);
  expect(check([{ eventTypeId: 5 }])).toBe(false);
  expect(check([])).toBe(false);
  expect(check(Array.from({ length: 257 }, () => notification()))).toBe(false);
  expect(check(notification())).toBe(false);
});

test('the schema of a resource notification names what must be there', () => {
  const schema = z.toJSONSchema(notificationSchema, { io: 'input' });
  expect(schema.required).toEqual(['eventTypeId', 'targetResource', 'metadata']);
  expect(schema.additionalProperties).toBeUndefined();
});

test('text with NUL or a lone surrogate cannot be stored', () => {
  expect(isStorable('Ä🚜')).toBe(true);
  expect(isStorable('a\0')).toBe(false);
  expect(isStorable('\ud83d')).toBe(false);
});
