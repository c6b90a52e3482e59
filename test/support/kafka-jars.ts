// Brings the jars of the Apache Kafka that test/support/kafka/pom.xml names into .cache/kafka, once, however many test
// workers ask at the same time. Needs Maven only when they are not there yet. Starts no Kafka.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './repository';
import { until } from './until';

const run = promisify(execFile);
const bringMsMax = 300_000;

/** The folder of the jars; named after the pom, so that another version never meets the jars of the last one. */
export function kafkaJarsFolder(): string {
  const pom = readFileSync(pomFile());
  return join(cacheFolder(), createHash('sha256').update(pom).digest('hex').slice(0, 12));
}

/** Where the classes of a broker stand as Java had loaded them, once somebody has archived them. */
export function kafkaClassesFile(): string {
  return `${kafkaJarsFolder()}.jsa`;
}

/** What a formatted storage holds beside the names of its node and cluster, once somebody has kept it. */
export function kafkaCheckpointFile(): string {
  return `${kafkaJarsFolder()}.checkpoint`;
}

export function kafkaJarsCached(): boolean {
  return existsSync(kafkaJarsFolder());
}

export function mavenFound(): boolean {
  return spawnSync('mvn', ['-v'], { stdio: 'ignore' }).status === 0;
}

/**
 * Answers the folder with the jars, fetching them first when needed (about 50 MB; up to five minutes). Throws what Maven
 * said when they cannot be had.
 */
export async function bringKafkaJars(): Promise<string> {
  const folder = kafkaJarsFolder();
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder(), { recursive: true });
  const lock = `${folder}.lock`;
  await until(() => existsSync(folder) || takeLock(lock), {
    withinMs: bringMsMax,
    everyMs: 200,
    what: 'another process to bring the Kafka jars',
  });
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial`;
  try {
    rmSync(partial, { recursive: true, force: true });
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${partial}`];
    await run('mvn', ['-q', '-B', '-f', pomFile(), ...goal], { timeout: bringMsMax });
    // Renamed when complete: the folder is there with everything or not at all.
    renameSync(partial, folder);
  } finally {
    rmSync(lock, { force: true });
  }
  return folder;
}

/** Whether this process now holds the lock. A lock whose owner has died, or that nobody owns, is taken over. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!isAlive(readFileSync(lock, 'utf8')) || Date.now() - statSync(lock).mtimeMs > bringMsMax) {
    rmSync(lock, { force: true });
  }
  return false;
}

function isAlive(pid: string): boolean {
  // Empty for the moment between the creation of the file and its content.
  if (pid === '') return true;
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function cacheFolder(): string {
  return join(repositoryRoot(), '.cache', 'kafka');
}

function pomFile(): string {
  return join(repositoryRoot(), 'test', 'support', 'kafka', 'pom.xml');
}
