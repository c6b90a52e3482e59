// Goal: every rule of .ci/dependency-cruiser.cjs catches what it forbids, and lets the intended layout through.
// Method: two small repositories in temporary folders, one with a file per broken rule, one as it should be; the real
// tool runs over both with the real rules.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../support/repository';

const root = repositoryRoot();
const configuration = join(root, '.ci', 'dependency-cruiser.cjs');
const rules = (require(configuration) as { forbidden: { name: string; comment: string }[] }).forbidden;

type Tree = Record<string, string>;
type Violation = { from: string; rule: { name: string } };

/** Packages as far as resolution needs them, so that nothing is read from the real ones. */
const packages = ['express', 'helmet', 'kafkajs', 'undici', 'pino', 'pg', 'jest-only'];
const manifest = {
  name: 'toy',
  dependencies: Object.fromEntries(packages.slice(0, -1).map((name) => [name, '1.0.0'])),
  devDependencies: { 'jest-only': '1.0.0' },
};

const roomFiles: Tree = {
  'src/model/task.ts': 'export type Task = { id: string };',
  'src/tools/clock.ts':
    "import type { Task } from '../model/task'; export const clock = (task: Task) => task.id;",
  'src/webhook/accept.ts': "import express from 'express'; import 'helmet'; export const accept = express;",
  'src/webhook/parse.ts': 'export const parse = 1;',
  'src/inbox/take.ts': "import type { Task } from '../model/task'; export const take = (task: Task) => task;",
  'src/store/open.ts':
    "import { DatabaseSync } from 'node:sqlite'; import 'pg'; import './postgres/take'; export const open = DatabaseSync;",
  'src/store/sqlite/thread.ts': "import './engine';",
  'src/store/sqlite/engine.ts': 'export const engine = 1;',
  'src/store/postgres/tables.ts': 'export const tables = 1;',
  'src/store/postgres/server/database.ts': "import '../tables'; export const database = 1;",
  'src/store/postgres/take.ts': "import './server/database'; export const take = 1;",
  'src/fetch/client.ts':
    "import { request } from 'node:https'; import 'node:http'; export const client = request;",
  'src/publish/kafka-producer.ts': "import { Kafka } from 'kafkajs'; export const producer = Kafka;",
  'src/alert/slack.ts': "import 'undici'; export const slack = 1;",
  'src/observe/log.ts': "import pino from 'pino'; export const log = pino;",
  'src/simulator/start-simulator.ts': "import express from 'express'; export const startSimulator = express;",
};

const wholeFiles: Tree = {
  'src/config.ts': "import './config/table'; import './model/task'; export const config = 1;",
  'src/config/table.ts': 'export const table = 1;',
  'src/pipeline.ts':
    "import type { Task } from './model/task'; import './inbox/take'; export const step = (task: Task) => task;",
  'src/wire.ts': [
    "import { createServer } from 'node:http'; import './config'; import './pipeline'; import './tools/clock';",
    "import './webhook/accept'; import './webhook/parse'; import './inbox/take'; import './store/open';",
    "import './fetch/client'; import './publish/kafka-producer'; import './alert/slack'; import './observe/log';",
    'export const wire = createServer;',
  ].join('\n'),
  'src/wire/options.ts': "import '../model/task'; import '../config'; export const options = 1;",
  'src/main.ts':
    "import './wire/options'; import './webhook/accept'; import { wire } from './wire'; import './config'; export const main = wire;",
  'src/commands/serve.ts': "import { main } from '../main'; import '../config'; export const serve = main;",
  'src/commands/simulate.ts': "export const simulate = () => import('../simulator/start-simulator');",
  'src/cli.ts': "import './commands/serve'; import './commands/simulate'; import './main';",
};

/** Each breaks one rule, or the same rule in another way. */
const badExamples: [rule: string, file: string, text: string][] = [
  ['model and tools import no room', 'src/model/bad.ts', "import type { take } from '../inbox/take';"],
  ['model and tools import no room', 'src/tools/bad.ts', "import '../config';"],
  ['rooms do not import each other', 'src/inbox/bad.ts', "import { parse } from '../webhook/parse';"],
  [
    'rooms do not import each other',
    'src/inbox/bad-type.ts',
    "import type { parse } from '../webhook/parse';",
  ],
  [
    'rooms do not import each other',
    'src/inbox/bad-inline.ts',
    "import { type parse } from '../webhook/parse';",
  ],
  [
    'rooms do not import each other',
    'src/inbox/bad-again.ts',
    "export type { parse } from '../webhook/parse';",
  ],
  ['rooms do not import each other', 'src/inbox/bad-all.ts', "export * from '../webhook/parse';"],
  [
    'rooms do not import each other',
    'src/inbox/bad-late.ts',
    "export const late = () => import('../webhook/parse');",
  ],
  [
    'rooms do not import each other',
    'src/inbox/bad-old.ts',
    "export const old = require('../webhook/parse');",
  ],
  ['rooms do not import each other', 'src/sync/bad.ts', "import '../commands/serve';"],
  ['rooms do not know who joins them', 'src/fetch/bad.ts', "import type { config } from '../config';"],
  ['rooms do not know who joins them', 'src/alert/bad.ts', "import { table } from '../config/table';"],
  ['the path touches nothing outside', 'src/pipeline.ts', "import type { open } from './store/open';"],
  ['settings know no room', 'src/config/bad.ts', "import type { take } from '../inbox/take';"],
  ['commands open no room', 'src/commands/bad.ts', "import { open } from '../store/open';"],
  ['only the process and the commands use the wiring', 'src/pipeline-bad.ts', "import './wire';"],
  ['rooms do not know who joins them', 'src/connect/bad.ts', "import '../wire/options';"],
  [
    'nothing imports the command line, and only commands and the demonstration import the process',
    'src/observe/bad.ts',
    "import '../main';",
  ],
  ['commands do not import the command line', 'src/commands/bad-cli.ts', "import '../cli';"],
  [
    'the simulator shares no module with the service',
    'src/simulator/bad.ts',
    "import type { Task } from '../model/task';",
  ],
  [
    'only commands and the demonstration start the simulator',
    'src/alert/bad-simulator.ts',
    "import '../simulator/start-simulator';",
  ],
  [
    'express is used where HTTP comes in',
    'src/fetch/bad-express.ts',
    "import type { Request } from 'express';",
  ],
  ['express is used where HTTP comes in', 'src/inbox/bad-helmet.ts', "import 'helmet';"],
  ['kafkajs has one owner', 'src/publish/relay.ts', "import type { Kafka } from 'kafkajs';"],
  [
    'only the store opens the database',
    'src/inbox/bad-sqlite.ts',
    "import type { DatabaseSync } from 'node:sqlite';",
  ],
  ['only the store opens the database', 'src/sync/bad-pg.ts', "import 'pg';"],
  [
    'whoever speaks to PostgreSQL knows no verb of the store',
    'src/store/postgres/server/bad.ts',
    "import { take } from '../take';",
  ],
  [
    'only a few files open connections to others',
    'src/fetch/bad-https.ts',
    "import { get } from 'node:https';",
  ],
  [
    'only a few files open connections to others',
    'src/organization/bad.ts',
    "import { connect } from 'tls';",
  ],
  ['only a few files open connections to others', 'src/sync/bad-undici.ts', "import 'undici';"],
  ['node:http is used at the edges', 'src/publish/bad-http.ts', "import { request } from 'http';"],
  ['only observe writes the log', 'src/inbox/bad-log.ts', "import pino from 'pino';"],
  ['the sources import no test and no bench', 'src/inbox/bad-test.ts', "import '../../test/support/until';"],
  ['the service runs on its dependencies alone', 'src/inbox/bad-dev.ts', "import 'jest-only';"],
  ['every import leads somewhere', 'src/inbox/bad-nowhere.ts', "import './nowhere';"],
  [
    'nothing imports in a circle',
    'src/normalize/one.ts',
    "import type { two } from './two'; export const one = 1;",
  ],
  ['no file is dead', 'src/normalize/two.ts', "import type { one } from './one'; export const two = 2;"],
  ['no file is dead', 'src/publish/forgotten.ts', 'export const forgotten = 1;'],
];

const folders: string[] = [];

function violationsOf(tree: Tree): Violation[] {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-imports-'));
  folders.push(folder);
  const support: Tree = {
    'package.json': JSON.stringify(manifest),
    'test/support/until.ts': 'export const until = 1;',
  };
  for (const name of packages) {
    support[`node_modules/${name}/package.json`] = JSON.stringify({
      name,
      version: '1.0.0',
      main: 'main.js',
    });
    support[`node_modules/${name}/main.js`] = 'module.exports = {};';
  }
  for (const [path, text] of Object.entries({ ...support, ...tree })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const tool = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const words = [tool, '--config', configuration, '--output-type', 'json', 'src'];
  const done = spawnSync(process.execPath, words, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.stdout === '') throw new Error(done.stderr);
  return (JSON.parse(done.stdout) as { summary: { violations: Violation[] } }).summary.violations;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe('a tree with a file for each broken rule', () => {
  let violations: Violation[];

  beforeAll(() => {
    const bad = Object.fromEntries(badExamples.map(([, file, text]) => [file, text]));
    violations = violationsOf({ ...roomFiles, ...wholeFiles, ...bad });
  });

  test.each(badExamples)('breaks "%s" in %s', (rule, file) => {
    const found = violations
      .filter((violation) => violation.from === file)
      .map((violation) => violation.rule.name);
    expect(found).toContain(rule);
  });

  test('finds nothing wrong with the files that keep the rules', () => {
    const bad = badExamples.map(([, file]) => file);
    const blamed = violations.map((violation) => violation.from).filter((file) => !bad.includes(file));
    expect(blamed).toEqual([]);
  });
});

test('a tree that keeps the rules has no violation', () => {
  expect(violationsOf({ ...roomFiles, ...wholeFiles })).toEqual([]);
});

test('every rule has a bad example', () => {
  const shown = new Set(badExamples.map(([rule]) => rule));
  expect(rules.map((rule) => rule.name).filter((name) => !shown.has(name))).toEqual([]);
});

test('every rule teaches: its name is a sentence and its comment says more than the name', () => {
  const silent = rules.filter((rule) => rule.name.split(' ').length < 4 || rule.comment.length < 40);
  expect(silent.map((rule) => rule.name)).toEqual([]);
});
