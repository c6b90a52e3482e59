/**
 * What the journal's row of a delivery says of its elements, on either store: how many became what, and what each said.
 */
import type { Delivery, Element } from '../model/notification';

/**
 * Compared, not looked up: the engine makes the code of a look-up by a name that came over from another thread anew with
 * each group, since it is never the text that it saw before.
 */
export function countLines({ elements }: Pick<Delivery, 'elements'>): Record<Element['line'], number> {
  const counts = { acted: 0, ignored: 0, quarantined: 0, hint: 0 };
  for (const { line } of elements) {
    if (line === 'hint') counts.hint += 1;
    else if (line === 'acted') counts.acted += 1;
    else if (line === 'ignored') counts.ignored += 1;
    else counts.quarantined += 1;
  }
  return counts;
}

/** As JSON, for people. What cannot be read stands in quarantine, once. */
export function elementsText({ elements }: Pick<Delivery, 'elements'>): string {
  return JSON.stringify(elements.map(withoutRaw));
}

function withoutRaw(element: Element): unknown {
  if (element.line !== 'quarantined') return element;
  const { raw: _raw, ...rest } = element;
  return rest;
}
