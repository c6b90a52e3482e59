/**
 * How a command ends before its work has: at an interrupt, or when nobody reads any more what it prints. What only this process
 * knows, as a token that the provider has turned, is kept first; a second interrupt waits for nothing.
 */

/** The last comes where the terminal goes away, and then more than once: of the shell and of the system. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const nothing = () => {};

let interrupt: AbortController | null = null;
let keep: () => Promise<unknown> = async () => {};
let heeds = false;

/** Aborted by the first interrupt: whoever asks for it ends by itself then. */
export function interrupted(): AbortSignal {
  interrupt ??= new AbortController();
  heedSignals();
  return interrupt.signal;
}

/** From now on `work`, which must be bounded in time, is awaited before the process ends early. */
export function keepBeforeEnd(work: () => Promise<unknown>): void {
  keep = work;
  heedSignals();
}

/** Calls `end` when what was to be kept is, or cannot be. Never rejects, unless `end` throws. */
export async function endEarly(end: () => void): Promise<void> {
  await keep().catch(() => {});
  end();
}

/** Once for each process: when one was heard, the system does what it does with the next. */
function heedSignals(): void {
  if (heeds) return;
  heeds = true;
  for (const signal of signals) process.once(signal, heard);
}

function heard(signal: NodeJS.Signals): void {
  for (const each of signals) process.removeListener(each, heard);
  process.on('SIGHUP', nothing);
  const endBySignal = () => {
    process.removeListener('SIGHUP', nothing);
    // By the signal itself, so that a shell sees that its script is to end too.
    process.kill(process.pid, signal);
  };
  if (interrupt === null) void endEarly(endBySignal);
  else interrupt.abort();
}
