/**
 * The sender of the proof is itself checked: what is never accepted does not keep it from telling so.
 */
import { makeRandom } from '../prove/random';
import { startSender } from '../prove/sender';
import { freePort } from '../support/free-port';

test('deliveries that nobody ever accepts are told as not settled, within the time that is given', async () => {
  const nobody = `http://127.0.0.1:${await freePort()}/webhooks`;
  const sender = startSender(
    () => [nobody],
    'Bearer true',
    makeRandom(7),
    () => false,
  );
  try {
    sender.send([{ eventTypeId: 'equipment' }]);
    await expect(sender.settled(200)).resolves.toBe(false);
    expect(sender.log.accepted).toBe(0);
  } finally {
    sender.end();
  }
});
