// A real Prometheus for tests, as a process of this machine: it scrapes one address and evaluates rules each second, and
// tells one Alertmanager. Its folder is temporary, and it ends by its own id, also when the test runner dies.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import type { Availability } from './neighbour';
import { endWithRunner } from './reaper';
import { until } from './until';

export type PrometheusOptions = {
  /** Absolute. */
  rulesFile: string;
  /** `http://127.0.0.1:port` of each. */
  scraped: string;
  alertmanagerUrl: string;
};

export type Prometheus = {
  url: string;
  /** Ends it and removes its folder. May be called twice. */
  stop(): Promise<void>;
};

/** Whether it is installed on this machine. */
export function prometheusAvailable(): Availability {
  const { status } = spawnSync('prometheus', ['--version'], { stdio: 'ignore' });
  return status === 0 ? { available: true } : { available: false, reason: 'no prometheus on the PATH' };
}

/** Starts it and answers when it is ready. Throws the end of its log when it is not within 30 s. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-prometheus-'));
  writeFileSync(join(folder, 'prometheus.yml'), configuration(options));
  const url = `http://127.0.0.1:${await freePort()}`;
  const log = openSync(join(folder, 'log'), 'a');
  const words = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${new URL(url).host}`,
    // What fires before Alertmanager is known to it is told again after this.
    '--rules.alert.resend-delay=10s',
  ];
  const child = spawn('prometheus', words, { stdio: ['ignore', log, log], cwd: folder });
  closeSync(log);
  endWithRunner(child);
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/-/ready`)).ok;
  try {
    await until(() => hasEnded(child) || isReady(), { withinMs: 30_000, what: 'Prometheus to be ready' });
    if (hasEnded(child)) throw new Error('Prometheus ended by itself.');
  } catch (error) {
    const lines = readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n').slice(-10).join('\n');
    await stop();
    throw new Error(`${(error as Error).message}\n${lines}`, { cause: error });
  }
  return { url, stop };
}

/** Every JSON document is a YAML document. */
function configuration({ rulesFile, scraped, alertmanagerUrl }: PrometheusOptions): string {
  const at = (url: string) => [{ targets: [new URL(url).host] }];
  return JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    alerting: { alertmanagers: [{ static_configs: at(alertmanagerUrl) }] },
    scrape_configs: [{ job_name: 'tramline', static_configs: at(scraped) }],
  });
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
