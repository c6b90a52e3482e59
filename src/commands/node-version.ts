/**
 * Which Node this program runs on. Looked at before anything else is loaded: an older one lacks modules that are loaded
 * at the start, and would end with a stack that says nothing. Imports nothing.
 */

export const nodeMajorMin = 24;

/** A sentence that says what is needed when `version` (`20.1.0`) is too old; null when it will do. */
export function complaintOfNode(version: string): string | null {
  if (Number.parseInt(version, 10) >= nodeMajorMin) return null;
  return (
    `tramline needs Node ${nodeMajorMin} or later and this is Node ${version}: ` +
    'start it with `npm run -s tramline -- …`, which finds the Node that `npm ci` has installed\n'
  );
}
