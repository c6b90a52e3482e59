/**
 * Calls that are made while a group is under way form the next group: the busier the store, the larger its groups, and
 * each costs one transaction. No call waits for a timer.
 */
import { Problem, type ProblemCode } from '../model/problem';
import type { Store } from '../model/store';
import type { Call, VerbName } from './sqlite/engine';
import { emptyLedger, type LedgerPage } from './sqlite/ledger';

/** A result as it crosses the thread: a value, or a problem's code and message. */
export type Result = { value: unknown } | { code: ProblemCode; message: string };

/** Executes a group; rejects only when the executor itself is lost. */
export type Executor = (calls: Call[]) => Promise<Result[]>;

interface Waiting extends Call {
  resolve: (value: unknown) => void;
  reject: (problem: Problem) => void;
}

const groupMax = 1000;
const ledgerPageTasks = 2000;

export function groupedStore(execute: Executor, closeExecutor: () => Promise<void>): Store {
  const waiting: Waiting[] = [];
  let busy = false;
  let closed = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.splice(0, groupMax);
      try {
        const results = await execute(group.map(({ verb, args }) => ({ verb, args })));
        for (const [index, call] of group.entries()) settle(call, results[index]);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        for (const call of group) call.reject(new Problem('store.unavailable', message, error));
      }
    }
    busy = false;
  }

  function call(verb: VerbName, ...args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(new Problem('store.closed', 'the store is closed'));
    return new Promise((resolve, reject) => {
      waiting.push({ verb, args, resolve, reject });
      if (busy) return;
      busy = true;
      setImmediate(() => void run());
    });
  }

  const served = new Proxy({} as Record<string, (...args: unknown[]) => Promise<unknown>>, {
    get: (doors, verb: string) => (doors[verb] ??= (...args: unknown[]) => call(verb as VerbName, ...args)),
  });

  async function ledger() {
    const total = { ...emptyLedger(), ...((await call('ledgerOfDeliveries')) as object) };
    let after: number | null = 0;
    while (after !== null) {
      const page = (await call('ledgerPage', after, ledgerPageTasks)) as LedgerPage;
      for (const [line, count] of Object.entries(page.lines)) total[line as keyof typeof total] += count;
      total.accepted += page.folded;
      after = page.after;
    }
    return total;
  }

  async function close(): Promise<void> {
    closed = true;
    while (busy) await new Promise((resolve) => setImmediate(resolve));
    await closeExecutor();
  }

  const own: Record<string, unknown> = { ledger, close };
  return new Proxy({} as Store, {
    get: (_target, name: string) => (name === 'then' ? undefined : (own[name] ?? served[name])),
  });
}

function settle(call: Waiting, result: Result | undefined): void {
  if (result === undefined) call.reject(new Problem('store.unavailable', 'the store gave no answer'));
  else if ('code' in result) call.reject(new Problem(result.code, result.message));
  else call.resolve(result.value);
}
