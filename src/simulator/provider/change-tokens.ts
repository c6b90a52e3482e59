// Change tokens: for one user and one address, query included, a place in the order of changes.
// Promises that a token given for another user, address or form of answer counts as none, and a bound: the oldest of
// 100,000 gives way, whose client then gets the whole list again. Units are no part of it: nothing known says that the
// provider looks at them, so a client that asks in others must not use what it was given before.
import { randomBytes } from 'node:crypto';
import type { Mark } from '../world/changes';

const KEPT_MAX = 100_000;

export class ChangeTokens {
  readonly #given = new Map<string, { list: string; mark: Mark }>();

  /** A new token: 32 hex digits. */
  give(list: string, mark: Mark): string {
    const oldest = this.#given.keys().next();
    if (this.#given.size >= KEPT_MAX && !oldest.done) this.#given.delete(oldest.value);
    const token = randomBytes(16).toString('hex');
    this.#given.set(token, { list, mark });
    return token;
  }

  /** Undefined for an unknown token, and for one of another list. */
  find(token: string, list: string): Mark | undefined {
    const given = this.#given.get(token);
    return given?.list === list ? given.mark : undefined;
  }
}
