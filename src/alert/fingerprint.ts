/**
 * The identity of an alert as text: name and identity labels, nothing that changes while it lives. Stored and compared,
 * never taken apart again.
 */

/** The same name and labels, in whatever order, give the same text; different ones never do. */
export function fingerprintOf(name: string, labels: Record<string, string>): string {
  return `${name}{${subjectOf(labels)}}`;
}

/** What an alert is about, whatever its name. */
export function subjectOf(labels: Record<string, string>): string {
  return Object.keys(labels)
    .sort()
    .map((label) => `${label}=${JSON.stringify(labels[label])}`)
    .join(',');
}
