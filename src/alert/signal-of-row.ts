/**
 * A signal as its row of the catalogue has it: fixed summary, owner, first step and severity, with what is known of this
 * one. Pure; runbooks are added where all signals come together.
 */
import type { IdentityLabels, Signal } from '../model/alert';
import type { CatalogueRow } from './catalogue';

/** What is given is shown as it is: no secret and nobody's address may be in it. Of the sentences those that are not empty. */
export function signalOfRow(
  row: CatalogueRow,
  parts: { labels: IdentityLabels; sentences: string[]; further: Record<string, string>; sinceMs: number },
): Signal {
  return {
    name: row.name,
    severity: row.severity,
    labels: parts.labels,
    annotations: {
      summary: row.summary,
      description: parts.sentences.filter((sentence) => sentence !== '').join(' '),
      owner: row.owner,
      first_step: row.firstStep,
      ...parts.further,
    },
    sinceMs: parts.sinceMs,
  };
}
