// A command as a person runs it: `tramline …` as a process of its own, beside a service or a store, with what it printed
// and how it ended.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from './repository';

export interface CommandEnd {
  code: number | null;
  out: string;
  error: string;
}

/** Runs to its end; killed after 30 s. Without `TRAMLINE_URL` among the settings it finds no service of another test. */
export function runCommand(words: string[], environment: Record<string, string>): Promise<CommandEnd> {
  const entry = join(repositoryRoot(), 'dist/src/cli.js');
  const child = spawn(process.execPath, [entry, ...words], {
    env: { PATH: process.env.PATH ?? '', TRAMLINE_URL: 'http://127.0.0.1:29464', ...environment },
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  let out = '';
  let error = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    error += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, error }));
  });
}
