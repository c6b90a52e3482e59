/**
 * What is said of an error of the server or of the way to it: its own words, and where those do not tell whoever reads them what
 * to look at or to change, ours. By SQLSTATE or the system's code. Pure.
 */

/** Does a pooler not take what a session is asked for as it connects? It names one at a time, in English. */
export function refusesParameter(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  return code === '08P01' && message?.startsWith('unsupported startup parameter') === true;
}

/** What an operator is to change. */
export const lendsSessions =
  'DATABASE_URL leads to a pooler that lends a session for one transaction: it must keep one for each connection';

const letPass =
  'a pooler must be set to let it pass: ' +
  '`ignore_startup_parameters = lock_timeout, idle_in_transaction_session_timeout, statement_timeout, options`';

/** Node's own advice is of another way, and says of which authority nothing is known. */
const signedBy = (said: string) =>
  `${said.replace(/; if the root CA is installed locally.*$/, '')}; ` +
  "`sslrootcert=/path/of/ca.pem` in the address names the authority that signed the server's certificate";

/** The driver names the server's address, which is not at fault. */
const outOfFiles =
  'no connection to the database: this process, or its machine, has as many files and connections open as it may (`ulimit -n`)';

const refusesLogin = (said: string) => `the database refuses the login: ${said}`;

const ours: [RegExp, (said: string) => string][] = [
  [/^28P01$/, (said) => `${refusesLogin(said)}; a process has a new password by a restart with it alone`],
  [/^28/, refusesLogin],
  [/^25006$/, () => 'the database takes no writes now: it is a standby, or set read-only'],
  // Statements are prepared under names of their texts: who meets one there, or misses it, is in the session of another.
  [/^(26000|42P05)$/, () => lendsSessions],
  [/^E[MN]FILE$/, () => outOfFiles],
  [/^(UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF)|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT)/, signedBy],
];

/** Never empty where the error has a message. */
export function wordsOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: string };
  // By what it has: what Node makes is not always of the class that is known here.
  const said = message ?? String(error);
  if (refusesParameter(error)) return `${said}; ${letPass}`;
  const plain = ours.find(([codes]) => typeof code === 'string' && codes.test(code))?.[1];
  return plain?.(said) ?? said;
}
