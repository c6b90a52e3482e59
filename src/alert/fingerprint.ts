/**
 * The identity of an alert as text: name and identity labels, nothing that changes while it lives. Stored and compared,
 * never taken apart again.
 */

/** The same name and labels, in whatever order, give the same text; different ones never do. */
export function fingerprintOf(name: string, labels: Record<string, string>): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((label) => `${label}=${JSON.stringify(labels[label])}`);
  return `${name}{${pairs.join(',')}}`;
}
