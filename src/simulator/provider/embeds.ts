// What may be asked for beside a record. Promises that an embed which an endpoint does not know is a 400 and never left
// unheard: a client that asks for what nobody documents is found. An endpoint that names none knows none.
import { Refusal } from './refusal';

/** The embeds of a query: a comma list, which may also be repeated. */
export function embedsIn(query: string): ReadonlySet<string> {
  if (!query.includes('embed')) return NONE;
  const texts = new URLSearchParams(query).getAll('embed');
  return new Set(texts.flatMap((text) => text.split(',').filter((part) => part !== '')));
}

const NONE: ReadonlySet<string> = new Set();

/** Throws 400 for an embed that is not among these. */
export function refuseUnknownEmbeds(query: string, known: readonly string[]): void {
  for (const embed of embedsIn(query)) {
    if (known.includes(embed)) continue;
    const message = known.length === 0 ? 'embed is unknown' : `embed must be one of ${known.join(', ')}`;
    throw new Refusal(400, message, { field: 'embed', value: embed });
  }
}
