/**
 * What was set aside is judged again from its kept bytes, by the rules of today.
 */
import { Secret } from '../../../src/tools/secret';
import { makeRejudge } from '../../../src/webhook/rejudge';

const eventTypes = {
  requiredAction: ['action'],
  equipment: ['equipment'],
  fieldOperation: ['fieldOperation'],
};
const rejudge = makeRejudge(eventTypes, () => [new Secret('a-secret')]);
const notification = {
  clientKey: 'k',
  eventTypeId: 'equipment',
  targetResource: 'https://provider.example/equipment/1',
  metadata: [{ key: 'orgId', value: 12345678901234567890n }],
  links: [],
};
const text = (value: unknown) =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `#${part}#` : part)).replace(
    /"#(\d+)#"/g,
    '$1',
  );

test('what can be understood now is what it says, with every digit', () => {
  expect(rejudge(text(notification))).toEqual({
    line: 'hint',
    eventTypeId: 'equipment',
    address: notification.targetResource,
    organizationId: '12345678901234567890',
    user: null,
  });
});

test('what is still bad is set aside again', () => {
  expect(rejudge('{"eventTypeId":"equipment"}')).toMatchObject({
    line: 'quarantined',
    reason: 'malformed-notification',
  });
});

test('what repeats a member is set aside again, and not decided for the last', () => {
  const raw = text(notification).replace('{', '{"targetResource":"https://provider.example/equipment/2",');
  expect(rejudge(raw)).toEqual({
    line: 'quarantined',
    reason: 'repeated-member',
    path: '/targetResource',
    raw,
  });
});

test.each([
  ['what was cut', '{"eventTypeId":"equip'],
  ['nothing', ''],
  ['more than one', '{},{}'],
  ['no JSON', 'x'],
])('%s is no notification', (_what, raw) => {
  expect(rejudge(raw)).toBeNull();
});
