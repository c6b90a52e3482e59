/**
 * What `check` says of the provider: what it answers now, and what it refuses the client key, as the processes told it. A
 * list of organizations needs other scopes than a read, so that it is answered says nothing of those.
 */
import { conditionRows } from '../alert/catalogue';
import type { Alert } from '../model/alert';
import { isProblem } from '../model/problem';
import { CheckFailure, type ProviderAnswer } from '../operations/check';

const { name: clientRefused, firstStep } = conditionRows['client-refused'];

/**
 * Rejects as `ask` does, and with what is to be done about a token that cannot be opened. Where alerts cannot be listed,
 * that is told in a line of its own.
 */
export async function checkProvider(
  ask: () => Promise<ProviderAnswer>,
  listAlerts: () => Promise<Alert[]>,
): Promise<ProviderAnswer> {
  const [answer, alerts] = await Promise.all([ask().catch(unopened), listAlerts().catch(() => [])]);
  const told = alerts.find(
    ({ name, state, quietSinceMs }) => name === clientRefused && state === 'firing' && quietSinceMs === null,
  );
  if (told === undefined) return answer;
  const said = `${answer.detail}; ${told.name}: ${told.annotations.description}`;
  return { ...answer, failure: new CheckFailure(said, firstStep) };
}

/** Neither the provider's address nor its answer is to blame. */
function unopened(error: unknown): never {
  if (!isProblem(error, 'store.key-missing')) throw error;
  throw new CheckFailure(
    `stored tokens cannot be opened: ${error.message}`,
    conditionRows['decryption-failed'].firstStep,
  );
}
