// The documented backup of a database and the way back, as an operator types them: `pg_dump` while the service runs, and
// `pg_restore` into an empty database. Programs of the system; throws what they said.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installedPrograms } from './postgres';

export function dumpDatabase(url: string, file: string): void {
  run('pg_dump', ['--format=custom', `--file=${file}`, url]);
}

export function restoreDatabase(file: string, url: string): void {
  run('pg_restore', ['--exit-on-error', `--dbname=${url}`, file]);
}

function run(program: string, words: string[]): void {
  const { status, stderr, error } = spawnSync(join(installedPrograms()!, program), words, {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
}
