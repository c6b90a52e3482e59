// Ends the processes a test started, even when the test runner is killed: a small watcher process, one for all suites of
// a worker, holds their ids and a pipe to this process; when the pipe closes, it kills what is left, by id. Processes
// that were not handed over are never touched.
import { ChildProcess, spawn } from 'node:child_process';

const watcherProgram = `
  const alive = new Set();
  let rest = '';
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line[0] === '+') alive.add(Number(line.slice(1)));
      else alive.delete(Number(line.slice(1)));
    }
  });
  process.stdin.on('close', () => {
    for (const pid of alive) try { process.kill(pid, 'SIGKILL'); } catch {}
  });
`;

const watcher = Symbol.for('tramline.test.watcher');
/** Each suite loads this file anew; the class is shared by all suites of one worker. */
const shared = ChildProcess as unknown as { [watcher]?: ChildProcess };

function startWatcher(): ChildProcess {
  const started = spawn(process.execPath, ['-e', watcherProgram], {
    // A group of its own, so that an interrupt typed at the terminal ends the runner first and then, by the pipe, this.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  started.unref();
  (started.stdin as unknown as { unref?: () => void }).unref?.();
  started.stdin?.on('error', () => {});
  return started;
}

/** Hands a child over: it is killed when this process ends, however that happens. Forgotten when it exits by itself. */
export function endWithRunner(child: ChildProcess): void {
  if (child.pid === undefined) return;
  shared[watcher] ??= startWatcher();
  const { pid } = child;
  const { stdin } = shared[watcher];
  stdin?.write(`+${pid}\n`);
  child.once('exit', () => stdin?.write(`-${pid}\n`));
}
