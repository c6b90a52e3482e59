/**
 * The one record in an answer. An address such as `…/equipment?ids=217001` names a record and is answered with a
 * collection; this takes the record out. Pure.
 */

/**
 * The document itself when it is no collection; its record with that id, or its only one when no id is known; undefined,
 * which no JSON holds, when it is a complete collection without the record. A collection that leaves it open is returned
 * as it is.
 */
export function singleDocument(body: unknown, id: string | null): unknown {
  if (typeof body !== 'object' || body === null || 'id' in body) return body;
  const { values } = body as { values?: unknown };
  if (!Array.isArray(values)) return body;
  if (values.length === 0) return undefined;
  if (id === null) return values.length === 1 ? values[0] : body;
  const found = values.find((value) => String((value as { id?: unknown } | null)?.id) === id);
  return found ?? body;
}

/** True where a list is asked for what has an id: an answer without entries then says that there is no such record. */
export function isAskedById(url: URL): boolean {
  return url.searchParams.has('ids') || url.searchParams.has('principalIds');
}
