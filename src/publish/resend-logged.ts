/**
 * What the embedded log held when brokers were named becomes unsent again, a page at a time, each a transaction of its own:
 * a log of any size holds up neither the store nor, after an end in between, whoever goes on. Sends nothing.
 */
import type { Outbox } from '../model/store';

/** Rows of a page: some tens of milliseconds of the store's time. */
const pageRows = 2000;

/**
 * True when nothing is left that only the log has. Nothing may be picked before: what a key has in the log is older than
 * what is unsent. `mayGoOn` is asked before each page; where it says no, the next call begins anew and finds the rest.
 */
export async function resendLogged(
  outbox: Pick<Outbox, 'resendLogged'>,
  mayGoOn: () => boolean | Promise<boolean>,
): Promise<boolean> {
  for (let after: number | null = 0; after !== null; ) {
    if (!(await mayGoOn())) return false;
    after = await outbox.resendLogged(after, pageRows);
  }
  return true;
}
