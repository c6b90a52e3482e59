/**
 * How calls on the way are made: all within one attempt and its deadline, or each under a deadline of its own where a
 * listing is streamed.
 */
import type { Connection } from '../model/connection';
import type { Ask, Request } from './ask';
import { Attempt } from './attempt';
import type { CatalogResult, Catalogs } from './catalogs';
import type { Verdict } from './classify';

export interface Caller {
  call(question: Request): Promise<Verdict>;
  /** `fresh`: read anew, after this call. */
  catalog(connection: Connection, fresh: boolean): Promise<CatalogResult>;
}

export interface Callers {
  within(attempt: Attempt): Caller;
  alone(timeoutMs: number, signal?: AbortSignal): Caller;
}

export function makeCallers(ask: Ask, catalogs: Catalogs): Callers {
  function within(attempt: Attempt): Caller {
    return {
      call: (question) => ask(question, attempt),
      catalog: (connection, fresh) =>
        fresh ? catalogs.again(connection, attempt) : catalogs.of(connection, attempt),
    };
  }

  return {
    within,
    alone(timeoutMs, signal) {
      const one = async <T>(work: (caller: Caller) => Promise<T>): Promise<T> => {
        const attempt = new Attempt(timeoutMs, signal);
        try {
          return await work(within(attempt));
        } finally {
          attempt.end();
        }
      };
      return {
        call: (question) => one((caller) => caller.call(question)),
        catalog: (connection, fresh) => one((caller) => caller.catalog(connection, fresh)),
      };
    },
  };
}
