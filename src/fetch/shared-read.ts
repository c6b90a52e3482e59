/**
 * One read at a time for callers that come together. Who needs what is current joins the read under way; who needs what
 * is true from now on gets the next one, together with all who ask meanwhile.
 */

export interface SharedRead<T> {
  /** The read under way, or a new one. */
  join(): Promise<T>;
  /** A read that begins after this call. */
  next(): Promise<T>;
}

/** `read` must not reject. */
export function makeSharedRead<T>(read: () => Promise<T>): SharedRead<T> {
  let running: Promise<T> | null = null;
  let following: Promise<T> | null = null;

  function start(): Promise<T> {
    running = read().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    join: () => running ?? start(),
    next() {
      if (running === null) return start();
      following ??= running.then(() => {
        following = null;
        return start();
      });
      return following;
    },
  };
}
