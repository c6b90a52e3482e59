// The floor of acceptance: the service's own public listener, with the same limits, authentication and parsing, whose
// store answers at once and keeps nothing. It writes no log and counts nothing.
import { loadSettings } from '../../src/config';
import { systemClock } from '../../src/tools/clock';
import { makeWebhookServer } from '../../src/webhook/server';
import { webhookOptions } from '../../src/wire/options';

const { settings } = loadSettings('serve');
const secrets = {
  authorizationValues: () => settings.webhookAuthorization ?? [],
  tokens: () => settings.webhookTokens ?? [],
};
const server = makeWebhookServer(webhookOptions(settings, secrets), {
  accept: async () => ({ deliveryId: 'd0', repeated: false, idReused: false, due: 1, probes: false }),
  clock: systemClock,
  refused: () => {},
  keepSample: async () => {},
});

void server.listen(settings.host, settings.port).then(({ port }) => {
  process.stdout.write(`${JSON.stringify({ public: `http://127.0.0.1:${port}` })}\n`);
});
