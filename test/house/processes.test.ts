// Goal: what tests start as processes is found ready, ends as asked, and never outlives the runner.
// Method: toy programs in a temporary folder, started as the service is.
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProcess, temporaryFolder } from '../support/ready-process';
import { repositoryRoot } from '../support/repository';
import { startService } from '../support/service';
import { until } from '../support/until';

function toy(program: string): string {
  const file = join(temporaryFolder(), 'toy.cjs');
  writeFileSync(file, program);
  return file;
}

const serving = `
  console.log('a line that is no JSON');
  console.log(JSON.stringify({ level: 30, msg: 'starting' }));
  setTimeout(() => console.log(JSON.stringify({
    public: 'http://127.0.0.1:1/', operations: 'http://127.0.0.1:2', role: process.env.ROLE ?? 'all',
    store: process.env.DATABASE_URL, events: 'log', token: process.env.TEST_SECRET_OF_THE_RUNNER,
  })), 20);
  process.on('SIGTERM', () => process.exit(7));
  setInterval(() => {}, 1000);
`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a service is ready when its line is printed, and its addresses are those of the line', async () => {
  process.env.TEST_SECRET_OF_THE_RUNNER = 'set';
  const service = await startService({ entry: toy(serving), environment: { ROLE: 'worker' } });
  delete process.env.TEST_SECRET_OF_THE_RUNNER;
  expect(service.publicUrl).toBe('http://127.0.0.1:1');
  expect(service.operationsUrl).toBe('http://127.0.0.1:2');
  expect(service.ready).toMatchObject({ role: 'worker', store: `sqlite:${service.dataFolder}/tramline.db` });
  expect(service.ready).not.toHaveProperty('token');
  expect(service.lines()[0]).toBe('a line that is no JSON');
  expect(service.records()[0]).toEqual({ level: 30, msg: 'starting' });
  expect(await service.stop()).toEqual({ code: 7, signal: null });
});

test('a killed service answers with the signal that ended it', async () => {
  const service = await startService({ entry: toy(serving) });
  expect(await service.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isAlive(service.pid)).toBe(false);
});

test('a program that ends before it is ready is reported with what it printed', async () => {
  const entry = toy(`console.error('PORT: not a number'); process.exit(2);`);
  const started = startProcess({ entry, environment: {}, readyKeys: ['public'] });
  await expect(started).rejects.toThrow(/ended before it was ready: 2\nPORT: not a number/);
});

test('a program that never gets ready is killed and reported', async () => {
  const entry = toy(`console.log(process.pid); setInterval(() => {}, 1000);`);
  const options = { entry, environment: {}, readyKeys: ['public'], readyWithinMs: 1_000 };
  const error: Error = await startProcess(options).then(
    () => new Error('it was called ready'),
    (thrown: Error) => thrown,
  );
  expect(error.message).toMatch(/Not within 1000 ms/);
  expect(isAlive(Number(/\n(\d+)/.exec(error.message)?.[1]))).toBe(false);
});

test('a program that does not obey SIGTERM in time is killed and reported', async () => {
  const entry = toy(`process.on('SIGTERM', () => {}); console.log('{"on":1}'); setInterval(() => {}, 1000);`);
  const started = await startProcess({ entry, environment: {}, readyKeys: ['on'] });
  await expect(started.stop('SIGTERM', 100)).rejects.toThrow(/the end after SIGTERM/);
  expect(isAlive(started.pid)).toBe(false);
});

describe('when the runner is killed', () => {
  let runner: ChildProcess;

  afterEach(() => {
    runner.kill('SIGKILL');
  });

  test('what it handed over dies with it', async () => {
    const reaper = JSON.stringify(join(repositoryRoot(), 'dist', 'test', 'support', 'reaper.js'));
    const program = toy(`
      const { spawn } = require('node:child_process');
      const { endWithRunner } = require(${reaper});
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      endWithRunner(child);
      console.log(child.pid);
      setInterval(() => {}, 1000);
    `);
    runner = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<number>((resolve) => {
      runner.stdout?.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
    });
    expect(isAlive(pid)).toBe(true);
    runner.kill('SIGKILL');
    await until(() => !isAlive(pid), { withinMs: 5_000 });
  });
});
