// A clock that is off costs something only where signatures are made or judged by it.
import { loadSettings } from '../../../src/config';
import type { Connection } from '../../../src/model/connection';
import { signs } from '../../../src/wire/hear-calls';

test.each([
  ['authorization', 'oauth2', false],
  ['authorization,hmac', 'oauth2', true],
  ['authorization', 'oauth1', true],
])('where deliveries are known by %s and a connection is of %s, signing is %s', (known, auth, expected) => {
  const { settings } = loadSettings('command', { WEBHOOK_AUTH: known });
  expect(signs(settings, { connections: () => [{ auth } as Connection] })).toBe(expected);
});
