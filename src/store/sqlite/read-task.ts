/**
 * Of a row `o` of the outbox: the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

const kindAndId = "substr(o.key, instr(o.key, '/') + 1)";
const end = `instr(${kindAndId}, '/')`;

/** An id may hold anything. */
export const readTask = readTaskBy(`substr(${kindAndId}, 1, ${end} - 1)`, `substr(${kindAndId}, ${end} + 1)`);
