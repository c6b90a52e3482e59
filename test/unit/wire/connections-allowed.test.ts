// Goal: senders' connections leave files for all else, whatever a process may have open.
import { defaultWebhookLimits } from '../../../src/webhook/settings';
import { connectionsAllowed } from '../../../src/wire/connections-allowed';

test.each([
  [null, 4096],
  [1_048_576, 4096],
  [4352, 4096],
  [1024, 768],
  [256, 64],
  [64, 16],
])('of %s files senders have %i', (files, allowed) => {
  expect(connectionsAllowed(files)).toBe(allowed);
});

test('the limit of this process is asked for where none is given', () => {
  const allowed = connectionsAllowed();
  expect(allowed).toBeGreaterThan(0);
  expect(allowed).toBeLessThanOrEqual(defaultWebhookLimits.connectionsMax);
});
