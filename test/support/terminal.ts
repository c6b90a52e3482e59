// A command as a person at a terminal runs it: under a pseudo-terminal of so many columns, made by `script` of util-linux.
// Both streams come as one, as they are shown.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { shellValue } from '../../src/model/shell-word';
import { noService } from './command';
import type { Availability } from './neighbour';
import { runnerEnvironment } from './node-flags';
import { endWithRunner } from './reaper';
import { repositoryRoot } from './repository';

/** Another system's `script` has other words. */
export const terminals: Availability =
  spawnSync('script', ['--version']).stdout?.includes('util-linux') === true
    ? { available: true }
    : { available: false, reason: 'there is no `script` of util-linux' };

export type Shown = {
  code: number | null;
  /** What stood in the line that is written over, one after the other. */
  progress: string[];
  /** What came when it had been taken away for the last time; all of it where there was none. */
  rest: string;
};

/** Runs to its end; killed after 30 s. */
export async function runOnTerminal(
  words: string[],
  columns: number,
  environment: Record<string, string>,
): Promise<Shown> {
  const command = [process.execPath, join(repositoryRoot(), 'dist/src/cli.js'), ...words].map(shellValue);
  const child = spawn('script', ['-qec', `stty cols ${columns}; exec ${command.join(' ')}`, '/dev/null'], {
    env: { ...runnerEnvironment(), TERM: 'xterm', SHELL: '/bin/sh', TRAMLINE_URL: noService, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithRunner(child);
  const limit = setTimeout(() => child.kill('SIGKILL'), 30_000);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  const parts = text.split('\r\x1b[K');
  const rest = parts.pop() ?? '';
  return { code, progress: parts.filter((part) => part !== ''), rest };
}
