/**
 * Members of one name in one object, of which a parser keeps the last (RFC 8259, section 4): two readers of the same
 * bytes may take different ones. Found only where fewer members were built than were written. Pure, without recursion in
 * the bytes.
 */
import { isExact } from './exact-number';

interface Frame {
  /** null in an array. */
  names: Set<string> | null;
  key: string | number;
  /** The next string is a name. */
  expectsName: boolean;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openObject, openArray, closeObject, closeArray] = [0x7b, 0x5b, 0x7d, 0x5d];

/** How many members the objects in it have, at any depth. */
export function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || isExact(value)) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + membersIn(item), 0);
  let count = 0;
  for (const key of Object.keys(value)) count += 1 + membersIn((value as Record<string, unknown>)[key]);
  return count;
}

export interface RepeatedMember {
  /** A JSON pointer (RFC 6901) to the first member that came before under the same name. */
  path: string;
  /** The item as it was written: built from it, the others of that name are gone. */
  text: string;
}

/** Of the bytes of a JSON array, by the place of the item. */
export function repeatedMembers(bytes: Buffer): Map<number, RepeatedMember> {
  const found = new Map<number, RepeatedMember>();
  const frames: Frame[] = [];
  let itemAt = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    const top = frames.at(-1);
    if (byte === quote) {
      const opening = at;
      for (at += 1; bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
      if (top?.names == null || !top.expectsName) continue;
      const name = JSON.parse(bytes.toString('utf8', opening, at + 1)) as string;
      Object.assign(top, { key: name, expectsName: false });
      const item = frames[0]!.key as number;
      // Once for an item: a pointer costs as much as the names above it are long, and each member could repeat.
      if (top.names.has(name) && !found.has(item)) found.set(item, { path: pointerOf(frames), text: '' });
      top.names.add(name);
    } else if (byte === openObject || byte === openArray) {
      if (frames.length === 1) itemAt = at;
      if (byte === openObject) frames.push({ names: new Set(), key: '', expectsName: true });
      else frames.push({ names: null, key: 0, expectsName: false });
    } else if (byte === closeObject || byte === closeArray) {
      frames.pop();
      const ended = frames.length === 1 ? found.get(frames[0]!.key as number) : undefined;
      if (ended !== undefined) ended.text = bytes.toString('utf8', itemAt, at + 1);
    } else if (byte === comma && top !== undefined) {
      if (top.names === null) top.key = (top.key as number) + 1;
      else top.expectsName = true;
    }
  }
  return found;
}

function pointerOf(frames: Frame[]): string {
  const parts = frames.slice(1).map(({ key }) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'));
  return `/${parts.join('/')}`;
}
