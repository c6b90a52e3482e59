/**
 * Of a row `o` of the outbox: the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

const [organization, kind] = ["split_part(o.key, '/', 1)", "split_part(o.key, '/', 2)"];

/** An id may hold anything. */
export const readTask = readTaskBy(kind, `substr(o.key, length(${organization}) + length(${kind}) + 3)`);
