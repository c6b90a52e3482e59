// A real Alertmanager for tests, as a process of this machine with one receiver: a webhook that the test listens on.
// It keeps alerts in memory, as Alertmanager does: after `kill` and `restart` it knows none until they are sent again.
// Gossip is off. Its folder is temporary, and it ends by its own id, also when the test runner dies.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import type { Availability } from './neighbour';
import { endWithRunner } from './reaper';
import { until } from './until';

// Debian's name first; the project's own releases use the second.
const programNames = ['prometheus-alertmanager', 'alertmanager'];

export type AlertmanagerOptions = {
  /** Where notifications are POSTed; see `recordNotifications`. */
  webhookUrl: string;
  /** How long the first alert of a group waits for company; 10. */
  groupWaitMs?: number;
  /** How long a changed group waits, and so the latest moment at which a resolve is told; 200. */
  groupIntervalMs?: number;
  /** When an unchanged firing alert is told again; an hour. */
  repeatIntervalMs?: number;
  /** Which labels form a group; every alert is a group of its own when left out. */
  groupBy?: string[];
};

export type Alertmanager = {
  /** `http://127.0.0.1:port`, the same after a restart. */
  url: string;
  readonly pid: number;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  /** Starts it again on its address, killing it first when it runs; waits until it is ready. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. May be called twice. */
  stop(): Promise<void>;
};

export type NotifiedAlert = {
  status: 'firing' | 'resolved';
  labels: Record<string, string>;
  annotations: Record<string, string>;
  startsAt: string;
  endsAt: string;
};

/** One POST of Alertmanager to its receiver: what would reach the person on call. */
export type AlertNotification = { status: 'firing' | 'resolved'; alerts: NotifiedAlert[] };

export type NotificationRecorder = {
  url: string;
  notifications: AlertNotification[];
  /** No connection is open: nothing is on its way. */
  isIdle(): Promise<boolean>;
  stop(): Promise<void>;
};

let availability: Availability | undefined;

/** Whether an Alertmanager is installed on this machine. */
export function alertmanagerAvailable(): Availability {
  availability ??=
    programName() === undefined
      ? { available: false, reason: 'no prometheus-alertmanager or alertmanager on the PATH' }
      : { available: true };
  return availability;
}

function programName(): string | undefined {
  return programNames.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** A webhook receiver on loopback that answers 200 and keeps every notification, in order of arrival. */
export async function recordNotifications(): Promise<NotificationRecorder> {
  const notifications: AlertNotification[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      notifications.push(JSON.parse(Buffer.concat(chunks).toString()) as AlertNotification);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    notifications,
    isIdle: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count === 0))),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Starts it (under a second), with a configuration of its own or the text of another, and answers when it is ready. Throws
 * the end of its log when it is not within 20 s.
 */
export async function startAlertmanager(options: AlertmanagerOptions | string): Promise<Alertmanager> {
  const program = programName();
  if (program === undefined) throw new Error('No Alertmanager on the PATH.');
  const folder = mkdtempSync(join(tmpdir(), 'tramline-alertmanager-'));
  const text = typeof options === 'string' ? options : configuration(options);
  writeFileSync(join(folder, 'alertmanager.yml'), text);
  const port = await freePort();
  let child = await launch(program, folder, port);
  const kill = (): Promise<void> => end(child);
  return {
    url: `http://127.0.0.1:${port}`,
    get pid() {
      return child.pid ?? -1;
    },
    kill,
    async restart() {
      await kill();
      child = await launch(program, folder, port);
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(options: AlertmanagerOptions): string {
  const receiver = {
    name: 'test',
    webhook_configs: [{ url: options.webhookUrl, send_resolved: true }],
  };
  const route = {
    receiver: 'test',
    group_by: options.groupBy ?? ['...'],
    group_wait: `${options.groupWaitMs ?? 10}ms`,
    group_interval: `${options.groupIntervalMs ?? 200}ms`,
    repeat_interval: `${options.repeatIntervalMs ?? 3_600_000}ms`,
  };
  // Every JSON document is a YAML document.
  return JSON.stringify({ route, receivers: [receiver] });
}

async function launch(program: string, folder: string, port: number): Promise<ChildProcess> {
  const log = openSync(join(folder, 'log'), 'a');
  const words = [
    `--config.file=${join(folder, 'alertmanager.yml')}`,
    `--storage.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ];
  const child = spawn(program, words, { stdio: ['ignore', log, log], cwd: folder });
  closeSync(log);
  endWithRunner(child);
  const ready = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok;
  try {
    await until(() => hasEnded(child) || ready(), { withinMs: 20_000, what: 'Alertmanager to be ready' });
    if (hasEnded(child)) throw new Error('Alertmanager ended by itself.');
  } catch (error) {
    await end(child);
    const lines = readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n').slice(-10).join('\n');
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${(error as Error).message}\n${lines}`, { cause: error });
  }
  return child;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
