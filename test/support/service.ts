// The service as a real process, `node dist/src/cli.js serve` or another entry built on the same wiring, for stories and
// for tests that kill it. Its settings are the environment it is given and nothing else. `npm test` builds dist/ first.
import { join } from 'node:path';
import { type ReadyProcess, startProcess, temporaryFolder } from './ready-process';

export { cleanUp, EndedBeforeReady, type Exit, temporaryFolder } from './ready-process';
export { until } from './until';

export type ServiceOptions = {
  /** Settings, by the names of the README; they win over the defaults below. */
  environment?: Record<string, string | undefined>;
  /** The folder of the embedded store; a new one when left out. Give the same one again to start after a kill. */
  dataFolder?: string;
  /** A program that serves, relative to the repository; `dist/src/cli.js` when left out. */
  entry?: string;
  /** Its words; `serve` for the command line, none for another entry. */
  words?: string[];
  workingFolder?: string;
  /** See `ProcessOptions`. */
  under?: string[];
  /** As whom it runs; only root may choose. */
  identity?: { uid: number; gid: number };
  readyWithinMs?: number;
};

export type Service = ReadyProcess & {
  /** Without a slash at the end. Empty where the role has no such listener. */
  publicUrl: string;
  operationsUrl: string;
  dataFolder: string;
};

const commandLine = 'dist/src/cli.js';

/**
 * Starts the service on free ports of loopback with an embedded store, and answers when it has printed its ready line
 * `{public, operations, role, store, events}`. Throws what it printed when it ends instead.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const dataFolder = options.dataFolder ?? temporaryFolder();
  const entry = options.entry ?? commandLine;
  const started = await startProcess({
    entry,
    words: options.words ?? (entry === commandLine ? ['serve'] : []),
    environment: {
      HOST: '127.0.0.1',
      PORT: '0',
      OPERATIONS_HOST: '127.0.0.1',
      OPERATIONS_PORT: '0',
      DATABASE_URL: `sqlite:${join(dataFolder, 'tramline.db')}`,
      // Nobody spreads load over it that would have to hear of its end.
      DRAIN_SECONDS: '0',
      ...options.environment,
    },
    readyKeys: ['operations', 'role', 'store'],
    ...(options.workingFolder === undefined ? {} : { workingFolder: options.workingFolder }),
    ...(options.under === undefined ? {} : { under: options.under }),
    ...(options.identity === undefined ? {} : { identity: options.identity }),
    ...(options.readyWithinMs === undefined ? {} : { readyWithinMs: options.readyWithinMs }),
  });
  return Object.assign(started, {
    publicUrl: address(started.ready.public),
    operationsUrl: address(started.ready.operations),
    dataFolder,
  });
}

function address(value: unknown): string {
  return typeof value === 'string' ? value.replace(/\/$/, '') : '';
}
