/**
 * What `check` says of the provider: what it answers now, and what it refuses the client key, as the processes told it. A
 * list of organizations needs other scopes than a read, so that it is answered says nothing of those.
 */
import { conditionRows } from '../alert/catalogue';
import type { Alert } from '../model/alert';
import { isProblem } from '../model/problem';
import { CheckFailure, type Found, storeFirst } from '../operations/check';

const { name: clientRefused, firstStep } = conditionRows['client-refused'];

/**
 * Rejects as `ask` does, and with what is to be done about a token that cannot be opened or a client key that is refused.
 * Where alerts cannot be listed, that is told in a line of its own.
 */
export async function checkProvider(
  ask: () => Promise<Found>,
  listAlerts: () => Promise<Alert[]>,
): Promise<Found> {
  const [answer, alerts] = await Promise.all([ask().catch(unopened), listAlerts().catch(() => [])]);
  const told = alerts.find(
    ({ name, state, quietSinceMs }) => name === clientRefused && state === 'firing' && quietSinceMs === null,
  );
  if (told === undefined) return answer;
  throw new CheckFailure(`${answer.detail}; ${told.name}: ${told.annotations.description}`, firstStep);
}

/** Neither the provider's address nor its answer is to blame. */
function unopened(error: unknown): never {
  if (isProblem(error, 'store.unavailable'))
    throw new CheckFailure(`not asked, since its tokens cannot be read: ${error.message}`, storeFirst);
  if (!isProblem(error, 'store.key-missing')) throw error;
  throw new CheckFailure(
    `stored tokens cannot be opened: ${error.message}`,
    conditionRows['decryption-failed'].firstStep,
  );
}
