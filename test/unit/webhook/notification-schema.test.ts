import {
  anyNotificationSchema,
  isStorable,
  notificationSchema,
} from '../../../src/webhook/notification-schema';
import { notification } from './receiver';

test('what the provider posts is accepted, with more fields than are known', () => {
  const accepts = (schema: typeof notificationSchema | typeof anyNotificationSchema, element: unknown) =>
    schema.safeParse(element).success;
  expect(accepts(notificationSchema, notification({ token: 'x', version: 2 }))).toBe(true);
  expect(accepts(anyNotificationSchema, { eventTypeId: 'heartbeat' })).toBe(true);
  expect(accepts(anyNotificationSchema, { eventTypeId: 5 })).toBe(false);
});

test.each(['eventTypeId', 'targetResource', 'metadata'])('a notification of a resource has %s', (name) => {
  expect(notificationSchema.safeParse({ ...notification(), [name]: undefined }).success).toBe(false);
});

test('text with NUL or a lone surrogate cannot be stored', () => {
  expect(isStorable('Ä🚜')).toBe(true);
  expect(isStorable('a\0')).toBe(false);
  expect(isStorable('\ud83d')).toBe(false);
});
