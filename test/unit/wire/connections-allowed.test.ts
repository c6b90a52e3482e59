// Goal: connections of senders and of operators leave files for all else, whatever a process may have open.
import { operationsConnectionsMax } from '../../../src/operations/server';
import { defaultWebhookLimits } from '../../../src/webhook/settings';
import { connectionsAllowed } from '../../../src/wire/connections-allowed';

test.each([
  [null, 4096, 512],
  [1_048_576, 4096, 512],
  [4352, 4096, 128],
  [1024, 768, 128],
  [256, 64, 96],
  [64, 16, 24],
])('of %s files senders have %i, and the operations listener %i', (files, senders, operations) => {
  expect(connectionsAllowed(files)).toEqual({ senders, operations });
});

test('the limit of this process is asked for where none is given', () => {
  const { senders, operations } = connectionsAllowed();
  for (const [allowed, most] of [
    [senders, defaultWebhookLimits.connectionsMax],
    [operations, operationsConnectionsMax],
  ] as const) {
    expect(allowed).toBeGreaterThan(0);
    expect(allowed).toBeLessThanOrEqual(most);
  }
});
