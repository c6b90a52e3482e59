/**
 * A real pooler before a real PostgreSQL. Started as a user without rights where the tests run as root, since it refuses that;
 * ended by its own id, also when the runner dies.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import type { Availability } from './neighbour';
import { endWithRunner } from './reaper';
import { until } from './until';

const nobody = 65_534;
const identity = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
/** Debian has it in a folder where a user's shell does not look. */
const program = ['/usr/sbin/pgbouncer', 'pgbouncer'].find(
  (name) => spawnSync(name, ['--version'], identity).status === 0,
);

export function pgbouncerAvailable(): Availability {
  if (program !== undefined) return { available: true };
  return { available: false, reason: 'the package pgbouncer is not installed' };
}

/** As README names them. */
const ignoredParameters = 'lock_timeout, idle_in_transaction_session_timeout, statement_timeout, options';

export interface Pooler {
  /** The address of what stands behind it, through it. */
  url: string;
  stop(): Promise<void>;
}

/**
 * `url` names the server, a user who needs no password, and the database. Ready within seconds; `size` sessions at most, which
 * are lent `inTurns` or the last returned first; what it is asked for as it connects and is not `ignored` it refuses.
 */
export async function startPgbouncer(
  url: string,
  mode: 'session' | 'transaction',
  { size = 20, inTurns = false, ignored = ignoredParameters } = {},
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-pgbouncer-'));
  if (identity.uid !== undefined) chownSync(folder, nobody, nobody);
  const { hostname, port, username, pathname } = new URL(url);
  const listening = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${port} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listening}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${size}
server_round_robin = ${Number(inTurns)}
ignore_startup_parameters = ${ignored}
`,
  );
  const child = spawn(program!, [file], { ...identity, stdio: 'ignore' });
  endWithRunner(child);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await until(() => answers(listening), { what: 'the pooler to listen', withinMs: 10_000 });
  return {
    url: `postgres://${username}@127.0.0.1:${listening}${pathname}`,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
