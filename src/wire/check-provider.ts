/**
 * What `check` says of the provider: what it answers now, and what it refuses the client key, as the processes told it. A
 * list of organizations needs other scopes than a read, so that it is answered says nothing of those.
 */
import { conditionRows } from '../alert/catalogue';
import { tellsOf } from '../alert/tells-of';
import type { Alert, ConditionName } from '../model/alert';
import { isProblem } from '../model/problem';
import { CheckFailure, type Found, StoreFailure } from '../operations/check';

const unreadStep =
  'Look at the provider’s status page: it answers lists of organizations, and not what is read. Reading goes on by itself.';

/** What a command lacks of what the provider is asked with, as its keys, begins with the setting's name. */
const settingFirst = /^[A-Z]+_[A-Z_]+\b/;
const setStep = 'Set what it names to what the workers have: `tramline config` says what is accepted.';

/**
 * Rejects as `ask` does, and with what is to be done about a setting that is missing, a token that cannot be opened or a
 * client key that is refused. Reads without an answer are a warning: the other API may be away alone, and the alert outlasts
 * it by some minutes.
 * Where alerts cannot be listed, that is told in a line of its own.
 */
export async function checkProvider(
  ask: () => Promise<Found>,
  listAlerts: () => Promise<Alert[]>,
): Promise<Found> {
  const [answer, alerts] = await Promise.all([ask().catch(unopened), listAlerts().catch(() => [])]);
  const told = (wanted: ConditionName) => alerts.find((alert) => tellsOf(alert, wanted));
  const said = ({ name, annotations }: Alert) => `${answer.detail}; ${name}: ${annotations.description}`;
  const refused = told('client-refused');
  if (refused !== undefined) throw new CheckFailure(said(refused), conditionRows['client-refused'].firstStep);
  const unread = told('provider-unavailable');
  return unread === undefined ? answer : { detail: said(unread), next: answer.next ?? unreadStep };
}

/** Where neither the provider's address nor its answer is to blame. */
function unopened(error: unknown): never {
  if (isProblem(error, 'store.unavailable'))
    throw new StoreFailure(`not asked, since its tokens cannot be read: ${error.message}`);
  if (isProblem(error, 'settings.invalid') && settingFirst.test(error.message))
    throw new CheckFailure(error.message, setStep);
  if (!isProblem(error, 'store.key-missing')) throw error;
  throw new CheckFailure(
    `stored tokens cannot be opened: ${error.message}`,
    conditionRows['decryption-failed'].firstStep,
  );
}
