// promtool and amtool of this machine, run on files of the repository: what Prometheus and Alertmanager themselves say
// of rules and configurations.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Availability } from './neighbour';
import { repositoryRoot } from './repository';

export type ToolAnswer = { code: number | null; output: string };

/** Whether both are installed. */
export function prometheusToolsAvailable(): Availability {
  const missing = ['promtool', 'amtool'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  if (missing.length === 0) return { available: true };
  return { available: false, reason: `no ${missing.join(' and no ')} on the PATH` };
}

/** What evaluates a month of rules is busy for a dozen seconds of both cores, and for many times that beside other suites. */
export const toolMsMax = 300_000;

/** Runs a tool in a folder of the repository, for at most five minutes: that is a hang, also where much else runs. */
export function runTool(folder: string, tool: 'promtool' | 'amtool', ...words: string[]): ToolAnswer {
  const { status, stdout, stderr } = spawnSync(tool, words, {
    cwd: join(repositoryRoot(), folder),
    encoding: 'utf8',
    timeout: toolMsMax,
  });
  return { code: status, output: `${stdout}${stderr}` };
}
