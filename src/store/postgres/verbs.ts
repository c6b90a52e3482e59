/**
 * The verbs of the scaled store, by name. Each takes the context of its transaction first; what it resolves to is what
 * the store's promise resolves to. Whatever it throws rolls the transaction back.
 */
import type { Delivery } from '../../model/notification';
import type { Store } from '../../model/store';
import { shareConditions } from './conditions';
import type { Context, InTransaction } from './context';
import type { TransactionOptions } from './database';
import { hasten, nextDueInMs } from './due';
import { type EndingCall, endings, endTasks } from './end-tasks';
import { keepSample } from './keep-sample';
import { holdLease } from './leases';
import { markSent, pickUnsent, quarantineRecord, resendLogged, unsentCount } from './outbox';
import { put } from './put';
import { ready } from './ready';
import { claimLock, take } from './take';

type Name = Exclude<keyof Store, 'close'>;
type Answer<Verb extends Name> = Promise<Awaited<ReturnType<Store[Verb]>>>;

/** One call, one transaction. */
export const verbs: {
  [Verb in Name]?: (context: Context, ...args: Parameters<Store[Verb]>) => Answer<Verb>;
} = {
  take,
  hasten,
  nextDueInMs,
  keepSample,
  holdLease,
  shareConditions,
  pickUnsent,
  markSent,
  quarantineRecord,
  resendLogged,
  unsentCount,
  ready,
};

const longMs = 30_000;

/** What a verb's transaction needs beyond the usual. */
export const transactionOptions: { [Verb in Name]?: TransactionOptions } = {
  take: { lock: claimLock },
  hasten: { statementMs: longMs },
  resendLogged: { statementMs: longMs },
};

/** One call, several transactions. */
export const longVerbs: {
  [Verb in Name]?: (inTransaction: InTransaction, ...args: Parameters<Store[Verb]>) => Answer<Verb>;
} = {};

/** Calls that come together are made in one transaction: the results in the order of the calls. */
export interface VerbGroup {
  verbs: Name[];
  execute(context: Context, calls: { verb: Name; args: unknown[] }[]): Promise<unknown[]>;
}

export const groups: VerbGroup[] = [
  {
    verbs: ['put'],
    execute: (context, calls) =>
      put(
        context,
        calls.map(({ args }) => args as [Delivery]),
      ),
  },
  {
    verbs: Object.keys(endings) as Name[],
    execute: (context, calls) => endTasks(context, calls as EndingCall[]),
  },
];
