/**
 * The embedded store's own thread: a stalled disk stops this thread, never the event loop that answers probes. Calls come
 * in as messages; all that have come while a group was executed are the next group. Checkpoints happen between groups.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { isProblem } from '../../model/problem';
import type { Result } from '../group';
import type { StoreSettings } from './context';
import { type PackedCalls, type PackedResults, packResults, unpackCalls } from './crossing';
import { type Engine, openEngine } from './engine';

/** What is answered and not on disk is committed after so long without a call. */
const commitAfterMs = 50;
/** So long without a call is idle: then the log is moved into the file. */
const idleMs = 100;
/** A group ends with the message that makes it this large: whoever waits for it must not wait long. */
const groupCalls = 1000;

type Message = PackedCalls | 'close';

export interface ThreadData {
  settings: StoreSettings;
  /** Of the fences and revisions that were heard of the threads before this one; null for the first. */
  highest: number | null;
}

/** What was asked by each message, and the highest fence or revision that anybody can have heard then. */
export interface Answers {
  results: PackedResults[];
  highest: number;
}

const port = parentPort!;
let engine: Engine | null = null;
let idle: NodeJS.Timeout | undefined;

try {
  const { settings, highest } = workerData as ThreadData;
  engine = openEngine(settings, Date.now, highest);
  port.postMessage({ opened: true });
} catch (error) {
  port.postMessage({
    opened: false,
    code: isProblem(error) ? error.code : 'store.unavailable',
    message: (error as Error).message,
  });
}

port.on('message', (first: Message) => {
  clearTimeout(idle);
  let next: Message | undefined = first;
  while (next !== undefined && next !== 'close') next = serve(next);
  if (next === 'close') close();
  else idle = setTimeout(rest, commitAfterMs);
});

function rest(): void {
  engine!.commit();
  idle = setTimeout(() => engine!.checkpoint(true), idleMs);
}

/** Executes one group; answers the message that came after it, if one did. */
function serve(first: PackedCalls): Message | undefined {
  const messages = [unpackCalls(first)];
  let count = messages[0]!.length;
  let next = received();
  while (Array.isArray(next) && count < groupCalls) {
    const calls = unpackCalls(next);
    messages.push(calls);
    count += calls.length;
    next = received();
  }
  const results: Result[] = engine!
    .execute(messages.flat())
    .map((result) =>
      'problem' in result ? { code: result.problem.code, message: result.problem.message } : result,
    );
  let from = 0;
  const answers: Answers = {
    results: messages.map((calls) => {
      from += calls.length;
      return packResults(calls, results.slice(from - calls.length, from));
    }),
    highest: engine!.highest(),
  };
  port.postMessage(answers);
  engine!.checkpoint();
  return next;
}

function received(): Message | undefined {
  return (receiveMessageOnPort(port) as { message: Message } | undefined)?.message;
}

function close(): void {
  engine?.commit();
  engine?.checkpoint(true);
  engine?.close();
  port.close();
}
