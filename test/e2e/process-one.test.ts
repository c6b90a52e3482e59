/**
 * Goal: as process 1 of a container, where the system keeps a signal from whoever does not wait for it, a stop is heard from the
 * beginning. Method: a namespace of processes of its own, and a signal that comes while modules are loaded.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describeWithNeighbour } from '../support/neighbour';
import { nodeFlags, runnerEnvironment } from '../support/node-flags';
import { cleanUp, temporaryFolder } from '../support/ready-process';
import { repositoryRoot } from '../support/repository';

const inNamespace = ['--pid', '--fork', '--kill-child'];
const availability =
  spawnSync('unshare', [...inNamespace, 'true']).status === 0
    ? ({ available: true } as const)
    : ({ available: false, reason: 'no namespace of processes may be made here' } as const);

describeWithNeighbour('unshare', availability, 'process 1', () => {
  afterAll(cleanUp);

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends at a %s that comes while its modules are loaded',
    async (signal) => {
      const folder = temporaryFolder();
      const hook = join(folder, 'hook.cjs');
      writeFileSync(
        hook,
        `const Module = require('node:module');
      const load = Module._load;
      Module._load = function (name, ...others) {
        if (name === './commands/command-line') process.kill(process.pid, '${signal}');
        return load.call(this, name, ...others);
      };`,
      );
      const program = [
        '--require',
        hook,
        join(repositoryRoot(), 'dist/src/cli.js'),
        'simulate',
        '--port',
        '0',
      ];
      const child = spawn('unshare', [...inNamespace, process.execPath, ...nodeFlags(), ...program], {
        env: runnerEnvironment(),
        stdio: 'ignore',
        detached: true,
      });
      const overdue = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 10_000);
      const [status] = await once(child, 'exit');
      clearTimeout(overdue);
      // By its own handler where it has one by then.
      expect([0, 128 + constants.signals[signal]]).toContain(status);
    },
    20_000,
  );
});
