// What the proof runs on: a simulator, a Kafka of two brokers, a store and n processes of the service, each real, each
// with an address of its own that outlives its deaths. Starts, breaks and heals them; decides nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Browser } from '../support/browser';
import { freePort } from '../support/free-port';
import { type KafkaCluster, startKafka } from '../support/kafka';
import { repositoryRoot } from '../support/repository';
import type { Failpoint } from '../support/serve-with-failpoints';
import { EndedBeforeReady, type Exit, type Service, startService, temporaryFolder } from '../support/service';
import { type Simulator, startSimulator } from '../support/simulator';
import { type OnCall, startOnCall } from './on-call';
import { startInTries, triesMax } from './starts';
import type { StoreUnderProof } from './store';

export type StageOptions = {
  store: () => Promise<StoreUnderProof>;
  processes: number;
  seed: number;
  /** Machines of each organization. */
  equipment: number;
  /** After how long what is found absent counts as gone. */
  goneAfterSeconds: number;
  tell: (line: string) => void;
};

type Role = 'all' | 'receiver' | 'worker';

/** One process of the service, dead or alive. */
export type Actor = {
  role: Role;
  service: Service | null;
  environment: Record<string, string>;
  /** Ends that nobody asked for, and orderly stops that did not end with 0. */
  complaints: string[];
  /** Files and sockets that its process had open when it was ready. */
  filesWhenReady: number;
  failedStarts: number;
  /** No start of it succeeded, however often it was tried: it is started no more. */
  givenUp: boolean;
  /** What each of its processes printed. */
  logs: (() => string[])[];
};

/** What happens to a process at a named step: it ends, is told to end, or stands still until somebody lets it go on. */
export type AtStep = { failpoint: Failpoint; signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' };

export type Stage = {
  simulator: Simulator;
  kafka: KafkaCluster;
  onCall: OnCall;
  store: StoreUnderProof;
  actors: Actor[];
  topics: string[];
  /** Where deliveries are posted. */
  receivers(): string[];
  /**
   * As `serve` does, or, given a named step, so that this happens to it there: also before it is ready, but for standing
   * still, which comes later than that. What fails is tried again; in the end it is given up, which is a complaint.
   */
  start(actor: Actor, at?: AtStep): Promise<void>;
  /** The provider's user consents anew, by a link that the service gives, if any process runs. */
  consent(): Promise<void>;
  stop(): Promise<void>;
};

const kinds = ['equipment', 'field-operation', 'organization-access'];
export const resendSeconds = 1;
export const leaseSeconds = 3;

/** Short times, so that minutes of waiting become seconds; sync is off, since it would repair what was lost. */
const settings = {
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  KAFKA_TOPIC_PREFIX: 'proof',
  KAFKA_CLIENT_ID: 'proof',
  SETTLE_SECONDS: '1',
  READ_GAP_MS: '100',
  LEASE_SECONDS: String(leaseSeconds),
  PROVIDER_TIMEOUT_MS: '2000',
  PROBE_SECONDS: '1',
  PROBE_SECONDS_MAX: '2',
  SYNC_INTERVAL_SECONDS: '0',
  ALERT_RESEND_SECONDS: String(resendSeconds),
  SHUTDOWN_SECONDS: '10',
  LOG_LEVEL: 'warn',
};

export async function makeStage(options: StageOptions): Promise<Stage> {
  const [store, simulator, kafka, onCall] = await Promise.all([
    options.store(),
    startSimulator({
      organizations: 6,
      equipment: options.equipment,
      'field-operations': 10,
      'heartbeat-ms': 0,
      seed: options.seed,
    }),
    startKafka({ brokers: 2 }),
    startOnCall(),
  ]);
  const environment = {
    ...simulator.environment,
    ...settings,
    GONE_AFTER_SECONDS: String(options.goneAfterSeconds),
    ...store.environment,
    // Its hundred starts compile the same files: whoever ends in order leaves that to those that follow.
    NODE_COMPILE_CACHE: temporaryFolder(),
    KAFKA_BROKERS: kafka.brokers.join(','),
    ALERTMANAGER_URLS: onCall.url,
  };
  migrate(environment);
  const actors = await Promise.all(rolesOf(options.processes).map((role) => makeActor(role, environment)));
  // Where browsers come back to: one address for all, as behind a load balancer.
  const publicUrl = new URL(addressOf(actors[0]!)).origin;
  for (const actor of actors) actor.environment.PUBLIC_URL = publicUrl;
  const folder = temporaryFolder();
  const stage: Stage = {
    simulator,
    kafka,
    onCall,
    store,
    actors,
    topics: kinds.map((kind) => `${settings.KAFKA_TOPIC_PREFIX}.${kind}.v1`),
    receivers: () => actors.filter(({ role }) => role !== 'worker').map(addressOf),
    async start(actor, at) {
      if (actor.givenUp) return;
      const { environment } = actor;
      const service = await startInTries(
        () =>
          at === undefined
            ? startService({ dataFolder: folder, environment })
            : startWithFailpoint(folder, environment, at),
        (error) => noteFailedStart(actor, error, options.tell),
      );
      if (service === null) return giveUp(actor);
      actor.service = service;
      actor.logs.push(service.lines);
      if (at === undefined) actor.filesWhenReady = openFilesOf(service.pid);
    },
    async consent() {
      const running = actors.findLast(runs);
      if (running === undefined) return;
      const { operationsUrl } = running.service!;
      const asked = await fetch(`${operationsUrl}/api/connections/links`, { method: 'POST' });
      const { address } = (await asked.json()) as { address: string };
      const browser = new Browser();
      const shown = await browser.answer(await browser.press(address), userOf(simulator));
      if (shown.status !== 200) throw new Error(`no consent: ${shown.status} ${shown.text}`);
    },
    async stop() {
      await Promise.all(actors.map(({ service }) => service?.kill()));
      await Promise.all([simulator.kill(), kafka.stop(), onCall.stop(), store.stop()]);
    },
  };
  await Promise.all(actors.map((actor) => stage.start(actor)));
  return stage;
}

function noteFailedStart(actor: Actor, error: Error, tell: StageOptions['tell']): void {
  actor.failedStarts += 1;
  actor.logs.push(() => error.message.split('\n'));
  tell(`${actor.role} was not started: ${error.message}`);
}

/** Where nothing ever ran, nothing can be proven. */
function giveUp(actor: Actor): void {
  const what = `${actor.role} did not start, ${triesMax} times: ${actor.logs.at(-1)!().join(' | ').slice(0, 2000)}`;
  if (actor.service === null) throw new Error(what);
  actor.givenUp = true;
  actor.complaints.push(what);
}

/** Whose token the settings name. */
function userOf({ environment }: Simulator): string {
  const [named] = JSON.parse(environment.PROVIDER_TOKENS!) as { user: string }[];
  return named!.user;
}

/** Work that waits may take it to its named step before it is ready: then it has ended when this answers. */
async function startWithFailpoint(
  dataFolder: string,
  settings: Record<string, string>,
  { failpoint, signal }: AtStep,
): Promise<Service> {
  const entry = 'dist/test/support/serve-with-failpoints.js';
  const what = { FAILPOINT: failpoint, FAILPOINT_SIGNAL: signal };
  try {
    const service = await startService({ dataFolder, environment: { ...settings, ...what }, entry });
    if (signal === 'SIGSTOP') process.kill(service.pid, 'SIGUSR2');
    return service;
  } catch (error) {
    const asked = (exit: Exit) => (signal === 'SIGTERM' ? exit.code === 0 : exit.signal === 'SIGKILL');
    if (!(error instanceof EndedBeforeReady) || !asked(error.exit)) throw error;
    return Object.assign(error.started, { publicUrl: '', operationsUrl: '', dataFolder });
  }
}

/** Where it takes deliveries. */
export const addressOf = ({ environment }: Actor): string => `http://127.0.0.1:${environment.PORT}/webhooks`;

function rolesOf(processes: number): Role[] {
  if (processes <= 2) return Array.from({ length: processes }, () => 'all');
  return ['receiver', 'all', ...Array.from({ length: processes - 2 }, (): Role => 'worker')];
}

async function makeActor(role: Role, environment: Record<string, string>): Promise<Actor> {
  const port = String(await freePort());
  const own = { ...environment, ROLE: role, PORT: port };
  const none = {
    service: null,
    complaints: [],
    filesWhenReady: 0,
    failedStarts: 0,
    givenUp: false,
    logs: [],
  };
  return { role, environment: own, ...none };
}

/** Whether its process is there, even if it stands still. */
export const runs = ({ service }: Actor): boolean => service !== null && existsSync(`/proc/${service.pid}`);

/** Files and sockets that a process has open now; of one that has ended, none. */
export function openFilesOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return existsSync(folder) ? readdirSync(folder).length : 0;
}

function migrate(environment: Record<string, string>): void {
  const { status, stderr } = spawnSync(process.execPath, [join('dist', 'src', 'cli.js'), 'migrate'], {
    cwd: repositoryRoot(),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  });
  if (status !== 0) throw new Error(`migrate: ${stderr}`);
}
