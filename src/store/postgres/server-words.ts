/**
 * What is said of an error of the server or of the way to it: its own words, and where those do not tell whoever reads them what
 * to look at or to change, ours. By SQLSTATE or the system's code. Pure.
 */

const ours: [RegExp, (said: string) => string][] = [
  [/^25006$/, () => 'the database takes no writes now: it is a standby, or set read-only'],
];

/** Never empty where the error has a message. */
export function wordsOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  const { code } = error as { code?: unknown };
  const plain = ours.find(([codes]) => typeof code === 'string' && codes.test(code))?.[1];
  return plain?.(said) ?? said;
}
