/**
 * Stored alerts without the name of an organization that is forgotten. Texts name it as `NAME (organization ID)`, and an
 * ended alert keeps its texts for a day or longer. Pure.
 */
import type { Alert } from '../model/alert';

/**
 * The alerts that name it, each without its name; those that do not are left out. `name` is the one that is known; a text
 * that shows another one, such as a former or shortened one, is replaced whole.
 */
export function withoutName(alerts: Alert[], organizationId: string, name: string | null): Alert[] {
  const shown = ` (organization ${organizationId})`;
  return alerts.flatMap((alert) => {
    const texts = Object.entries(alert.annotations);
    if (!texts.some(([, text]) => text.includes(shown))) return [];
    const annotations = Object.fromEntries(
      texts.map(([of, text]) => [of, withoutNameIn(text, organizationId, name, shown)]),
    );
    return [{ ...alert, annotations }];
  });
}

function withoutNameIn(text: string, organizationId: string, name: string | null, shown: string): string {
  const [first = '', ...others] = text.split(`${name ?? ''}${shown}`);
  let left = first;
  for (const other of others) {
    // What stands before is the rest of another name, unless a sentence or a list begins here.
    const begins = /^$|[(,:] ?$|\. $/.test(left);
    left += begins ? `Organization ${organizationId}${other}` : `${shown}${other}`;
  }
  return left.includes(shown)
    ? `Organization ${organizationId} was forgotten, and what named it here.`
    : left;
}
