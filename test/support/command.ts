// A command as a person runs it: `tramline …` as a real process, with what it prints as it comes, and a hand on its
// standard input.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runnerEnvironment } from './node-flags';
import { endWithRunner } from './reaper';
import { repositoryRoot } from './repository';
import { until } from './until';

export type Ended = { code: number | null; out: string; error: string };

export type Command = {
  /** Everything printed so far, both streams. */
  printed(): string;
  /** Until something is printed that matches; its first group, or all of it. */
  untilPrinted(pattern: RegExp): Promise<string>;
  write(line: string): void;
  interrupt(): void;
  signal(signal: NodeJS.Signals): void;
  kill(): void;
  /** As `head` does when it has what it wants. */
  stopReading(): void;
  ended: Promise<Ended>;
};

/** Where no service answers: a port that no program is given by chance, since it is below those that are. */
export const noService = 'http://127.0.0.1:2';

/** Runs until it ends by itself; killed with the suite. Without `TRAMLINE_URL` it finds no service of another test. */
export function startCommand(words: string[], environment: Record<string, string | undefined>): Command {
  const child = spawn(process.execPath, [join(repositoryRoot(), 'dist/src/cli.js'), ...words], {
    cwd: repositoryRoot(),
    env: { ...runnerEnvironment(), TRAMLINE_URL: noService, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  endWithRunner(child);
  let out = '';
  let error = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    error += text;
  });
  const printed = () => out + error;
  return {
    printed,
    async untilPrinted(pattern) {
      const found = await until(() => pattern.exec(printed()), {
        withinMs: 20_000,
        what: `${words.join(' ')} to print ${pattern}`,
      });
      return found[1] ?? found[0];
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    interrupt: () => void child.kill('SIGINT'),
    signal: (signal) => void child.kill(signal),
    kill: () => void child.kill('SIGKILL'),
    stopReading: () => void child.stdout.destroy(),
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, out, error }))),
  };
}

/** Runs to its end; killed after a minute. */
export async function runCommand(
  words: string[],
  environment: Record<string, string | undefined>,
): Promise<Ended> {
  const command = startCommand(words, environment);
  const limit = setTimeout(() => command.kill(), 60_000);
  return command.ended.finally(() => clearTimeout(limit));
}
