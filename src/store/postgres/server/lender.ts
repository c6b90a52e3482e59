/**
 * Who has which connection of the pool. One that failed may not be the only one: where the server's address moved, each that
 * was made before is silent, and would cost its borrower the time limit of a statement. All that are idle are replaced with it;
 * what is lent out shows by itself whether it still holds. Where the server has no place for one more, who wants one waits for
 * those that there are.
 */
import type { Pool, PoolClient } from 'pg';
import { Problem } from '../../../model/problem';
import { socketOf } from './client';
import { saysFull } from './faults';
import { wordsOf } from './words';

export interface Lender {
  /** Throws `store.unavailable`: whoever is not let in has asked for nothing yet that could be at fault. */
  borrow(): Promise<PoolClient>;
  /** `failed`: it is of no more use. */
  giveBack(client: PoolClient, failed: Error | undefined): void;
  /** Was it made so long ago that another may be of another kind? */
  isOld(client: PoolClient): boolean;
}

const oldMs = 5000;

/** For a place at the server `waitMs` are waited, while any connection is lent out. Old is what was made five seconds ago. */
export function makeLender(pool: Pool, waitMs: number): Lender {
  /** How many losses there had been when it was made, or was last seen to hold. */
  const heldAfter = new WeakMap<PoolClient, number>();
  const madeAtMs = new WeakMap<PoolClient, number>();
  const idle = new Set<PoolClient>();
  const waiting = new Set<(fault?: Problem) => void>();
  let losses = 0;
  let lent = 0;
  /** Connections that are being made. */
  let asked = 0;
  pool.on('connect', (client) => {
    heldAfter.set(client, losses);
    madeAtMs.set(client, performance.now());
  });
  pool.on('remove', (client) => idle.delete(client));

  /** One was given back, or it took too long. Throws once there is none to wait for. */
  function returned(withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (fault?: Problem) => {
        clearTimeout(overdue);
        waiting.delete(done);
        if (fault === undefined) resolve();
        else reject(fault);
      };
      const overdue = setTimeout(done, withinMs);
      waiting.add(done);
    });
  }

  async function connect(untilMs: number): Promise<PoolClient | null> {
    asked += 1;
    try {
      const client = await pool.connect();
      asked -= 1;
      return client;
    } catch (error) {
      asked -= 1;
      const fault = new Problem('store.unavailable', wordsOf(error), error);
      const leftMs = untilMs - performance.now();
      const isNone = lent + asked + idle.size === 0;
      if (isNone) for (const tell of [...waiting]) tell(fault);
      if (!saysFull(error) || isNone || leftMs <= 0) throw fault;
      // One that came back while the server was asked is had by asking again.
      if (idle.size === 0) await returned(leftMs);
      return null;
    }
  }

  return {
    async borrow() {
      const untilMs = performance.now() + waitMs;
      for (;;) {
        const client = await connect(untilMs);
        if (client === null) continue;
        idle.delete(client);
        if (socketOf(client).destroyed) client.release(true);
        else {
          lent += 1;
          return client;
        }
      }
    },
    giveBack(client, failed) {
      lent -= 1;
      if (failed === undefined) {
        heldAfter.set(client, losses);
        idle.add(client);
      } else if (heldAfter.get(client) === losses) {
        // Of several that were lent out when it happened, the first says it for all.
        losses += 1;
        for (const one of idle) socketOf(one).destroy();
      }
      client.release(failed);
      const [first] = waiting;
      first?.();
    },
    isOld: (client) => performance.now() - (madeAtMs.get(client) ?? 0) > oldMs,
  };
}
