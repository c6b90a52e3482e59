/**
 * The store as its callers see it: calls of one turn of the event loop leave together, in order, many of them before it
 * ends, and whoever executes them makes groups of what has come meanwhile. No call waits for a timer, and none for an
 * answer unless several are owed.
 */
import { emptyLedger, type Ledger } from '../model/ledger';
import type { QuarantineReason } from '../model/notification';
import type { Forgotten } from '../model/organization';
import { Problem, type ProblemCode } from '../model/problem';
import type { Store } from '../model/store';
import { type Forgetting, type ForgettingPage, forgetRest } from './forgetting';
import { type HastenedPage, hastenRest } from './hastened-page';
import type { SetAside } from './quarantine-entry';
import type { Call } from './sqlite/engine';
import type { LedgerOfDeliveries, LedgerPage } from './sqlite/ledger';
import type { VerbName } from './sqlite/verbs';

/** A result as it crosses the thread: a value, with why things were set aside, or a problem's code and message. */
export type Result =
  | { value: unknown; setAside?: QuarantineReason[] }
  | { code: ProblemCode; message: string };

/** Executes calls in order, also after those of earlier calls of it; rejects only when the executor itself is lost. */
export type Executor = (calls: Call[]) => Promise<Result[]>;

interface Waiting extends Call {
  resolve: (value: unknown) => void;
  reject: (problem: Problem) => void;
}

type CallVerb = (verb: VerbName, ...args: unknown[]) => Promise<unknown>;

/** So many leave at once, whatever is away: the executor works on them while the rest of the turn is still being read. */
const leaveAt = 25;
/** Enough that the executor has its next calls when it ends a group, few enough that small messages do not add up. */
const awayUnfilled = 16;
const ledgerPageTasks = 2000;
/**
 * A hint that moves to the resource it turned out to be between two pages is counted twice or not at all, and so may be what
 * retention takes once it has waited for ledgers for long. What is really lost is so each time.
 */
const ledgerAttempts = 4;

export function groupedStore(
  execute: Executor,
  closeExecutor: () => Promise<void>,
  setAside: SetAside = () => {},
): Store {
  let waiting: Waiting[] = [];
  let away = 0;
  let leaving = false;
  let closed = false;
  let drained = (): void => {};

  /** What a turn asks for leaves at its end, much of it before; a little waits for more while enough is away. */
  function leaveSoon(): void {
    if (waiting.length >= leaveAt) void leave();
    else if (waiting.length > 0 && away < awayUnfilled && !leaving) {
      leaving = true;
      setImmediate(leaveAtLast);
    }
  }

  function leaveAtLast(): void {
    leaving = false;
    if (waiting.length > 0 && away < awayUnfilled) void leave();
    else if (away === 0) drained();
  }

  async function leave(): Promise<void> {
    const calls = waiting;
    waiting = [];
    away += 1;
    try {
      const results = await execute(calls.map(({ verb, args }) => ({ verb, args })));
      for (const [index, call] of calls.entries()) settle(call, results[index], setAside);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      for (const call of calls) call.reject(new Problem('store.unavailable', message, error));
    }
    away -= 1;
    leaveSoon();
    if (away === 0 && !leaving) drained();
  }

  function call(verb: VerbName, ...args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(new Problem('store.closed', 'the store is closed'));
    return new Promise((resolve, reject) => {
      waiting.push({ verb, args, resolve, reject });
      leaveSoon();
    });
  }

  async function close(): Promise<void> {
    closed = true;
    await new Promise<void>((resolve) => {
      drained = resolve;
      if (away === 0 && !leaving) resolve();
    });
    await closeExecutor();
  }

  // Whoever makes something due in the one process wakes who waits for it.
  const heed = async (): Promise<void> => {};
  return Object.assign(Object.create(verbsOf(call)) as Store, {
    ledger: () => ledger(call),
    ...hastening(call, () => closed),
    forgetOrganization: (organizationId: string) => forgetting(call, organizationId),
    heed,
    close,
  });
}

async function ledger(call: CallVerb): Promise<Ledger> {
  for (let attempt = 1; ; attempt += 1) {
    const told = await tellLedger(call);
    const { accepted, ...lines } = told;
    const sum = Object.values(lines).reduce((total, count) => total + count, 0);
    if (sum === accepted || attempt === ledgerAttempts) return told;
  }
}

async function tellLedger(call: CallVerb): Promise<Ledger> {
  const total = emptyLedger();
  const add = (lines: Partial<Ledger>) => {
    for (const [line, count] of Object.entries(lines)) total[line as keyof Ledger] += count;
  };
  let untilDelivery: number | null = null;
  for (let after: number | null = 0; after !== null; ) {
    const page = (await call('ledgerOfDeliveries', after, untilDelivery)) as LedgerOfDeliveries;
    add(page.lines);
    ({ after, untilDelivery } = page);
  }
  for (let after: number | null = 0; after !== null; ) {
    const page = (await call('ledgerPage', after, ledgerPageTasks, untilDelivery)) as LedgerPage;
    add(page.lines);
    add({ accepted: page.folded });
    after = page.after;
  }
  return total;
}

/** Deliveries and takes pass between two pages; who closes the store waits for one at most. */
function hastening(call: CallVerb, isClosed: () => boolean): Pick<Store, 'hasten' | 'hastenRefused'> {
  async function hastenFrom(first: Promise<unknown>): Promise<number> {
    return hastenRest((await first) as HastenedPage, async (page) =>
      isClosed() ? null : ((await call('hastenOn', page)) as HastenedPage),
    );
  }
  return {
    hasten: () => hastenFrom(call('hasten')),
    hastenRefused: (refusedAtMs) => hastenFrom(call('hastenRefused', refusedAtMs)),
  };
}

/** Deliveries and takes pass between two pages; where the store is closed between two the next is refused. */
async function forgetting(call: CallVerb, organizationId: string): Promise<Forgotten | null> {
  const begun = (await call('forgetOrganization', organizationId)) as Forgetting | null;
  return forgetRest(begun, async (page) => (await call('forgetOn', page)) as ForgettingPage | null);
}

/** Each verb is made when it is first asked for, and found without the proxy from then on. */
function verbsOf(call: CallVerb): object {
  return new Proxy(Object.create(null) as object, {
    get(_none, name, store: object) {
      if (typeof name === 'symbol' || name === 'then') return undefined;
      const value = (...args: unknown[]) => call(name as VerbName, ...args);
      Object.defineProperty(store, name, { value });
      return value;
    },
  });
}

function settle(call: Waiting, result: Result | undefined, setAside: SetAside): void {
  if (result === undefined) call.reject(new Problem('store.unavailable', 'the store gave no answer'));
  else if ('code' in result) call.reject(new Problem(result.code, result.message));
  else {
    for (const reason of result.setAside ?? []) setAside(reason);
    call.resolve(result.value);
  }
}
