/**
 * The store's revision: a sequence outside transactions. A number that was given is seen at once by everybody, so what
 * was asked for after one was noted began after every read that got a lower one had ended.
 */
import type { Context } from './context';

export async function currentRevision({ database }: Context): Promise<number> {
  return (await database.get('SELECT last_value AS revision FROM revision'))!.revision;
}
