/**
 * The embedded store's own thread: a stalled disk stops this thread, never the event loop that answers probes. Calls come
 * in as messages; all that have come while a group was executed are the next group.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { isProblem } from '../../model/problem';
import type { Result } from '../group';
import type { StoreSettings } from './context';
import { type Call, type CallResult, type Engine, openEngine } from './engine';
import { type Answered, type Keeper, makeKeeper } from './keeper';

/** What is answered and not on disk is committed after so long without a call. */
const commitAfterMs = 50;
/** So long without a call is idle: then the log is moved into the file. */
const idleMs = 100;
/** A group ends with the message that makes it this large: whoever waits for it must not wait long. */
const groupCalls = 1000;

/** Calls with the number under which they are answered. */
export type NumberedCalls = [number: number, calls: Call[]];
export type NumberedResults = [number: number, results: Result[]];
type Message = NumberedCalls | 'close';

const port = parentPort!;
let keeper: Keeper<NumberedCalls[]> | null = null;
let engine: Engine | null = null;
let idle: NodeJS.Timeout | undefined;

try {
  engine = openEngine(workerData as StoreSettings, Date.now);
  keeper = makeKeeper(engine, answer, (error) => {
    throw error;
  });
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
  if (next !== 'close') idle = setTimeout(rest, commitAfterMs);
  else if (keeper === null) port.close();
  else keeper.close(() => port.close());
});

function rest(): void {
  idle = keeper!.rest()
    ? setTimeout(() => engine!.checkpoint(true), idleMs)
    : setTimeout(rest, commitAfterMs);
}

/** Executes one group; answers the message that came after it, if one did. */
function serve(first: NumberedCalls): Message | undefined {
  const messages = [first];
  let count = first[1].length;
  let next = received();
  while (Array.isArray(next) && count < groupCalls) {
    messages.push(next);
    count += next[1].length;
    next = received();
  }
  keeper!.serve(messages, messages.length === 1 ? first[1] : messages.flatMap(([, calls]) => calls));
  return next;
}

function answer(groups: Answered<NumberedCalls[]>[]): void {
  const answers: NumberedResults[] = [];
  for (const { asker, results } of groups) {
    let from = 0;
    for (const [number, { length }] of asker) {
      answers.push([number, results.slice(from, from + length).map(crossing)]);
      from += length;
    }
  }
  if (answers.length > 0) port.postMessage(answers);
}

function crossing(result: CallResult): Result {
  return 'problem' in result ? { code: result.problem.code, message: result.problem.message } : result;
}

function received(): Message | undefined {
  return (receiveMessageOnPort(port) as { message: Message } | undefined)?.message;
}
