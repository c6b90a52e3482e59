/**
 * An address or path without the slashes at its end. Looks at each of them once, since some addresses come from outside:
 * an expression for it tries every run of slashes from each of its places. Pure.
 */

const slash = '/'.charCodeAt(0);

/** `path` as it is but for the slashes at its end; empty when it is nothing else. Never throws. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === slash) end -= 1;
  return path.slice(0, end);
}
