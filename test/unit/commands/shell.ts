// A shell for command tests: words in, exit code and both streams out, against a sample installation that a command
// reaches either through the API of a listener or by opening the store itself.

import { runCommandLine } from '../../../src/commands/command-line';
import type { CommandDoors, StoreWish, TopicLine } from '../../../src/commands/context';
import { type Environment, loadSettings } from '../../../src/config';
import type { AlertTestLine, Api, CheckLine } from '../../../src/model/api';
import { makeApi } from '../../../src/operations/api';
import { makeOperationsServer, type OperationsServer } from '../../../src/operations/server';
import { unattendedAlert } from '../../../src/operations/unattended';
import { idleView } from '../../../src/sync/progress';
import type { Clock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { makeScriptedProvider, type ScriptedProvider } from '../../support/scripted-provider';
import { makeScriptedSubscriptions, type ScriptedSubscriptions } from '../../support/scripted-subscriptions';
import { makeSampleStore, organizations, rejudge, type SampleStore } from '../operations/sample-store';

export const checkLines: CheckLine[] = [
  { name: 'store', state: 'ok', detail: 'takes writes', next: null },
  { name: 'kafka', state: 'failed', detail: 'no broker answers', next: 'Look at KAFKA_BROKERS.' },
];

export interface Shell {
  sample: SampleStore;
  provider: ScriptedProvider;
  subscriptions: ScriptedSubscriptions;
  api: Api;
  /** Settings of the commands to come. */
  environment: Environment;
  topics: TopicLine[];
  /** What commands asked, and what they will be answered. */
  asked: string[];
  answers: string[];
  /** Called for an answer when there is none of `answers` left. */
  answered(): Promise<string>;
  alertTests: AlertTestLine[];
  /** What probes on demand find. */
  probed: string | null;
  /** From where to where stores were moved. */
  moves: [string, string][];
  /** Whether a move that is interrupted has copied all, and not read it back yet. */
  isCopied: boolean;
  /** What opening the store is refused with. */
  refused: Error | null;
  /** How often the store was opened and closed. */
  opened: number;
  /** Whether the last was to be there already, or might be made. */
  wish: StoreWish | null;
  closed: number;
  /** How many stores were open whenever somebody was asked. */
  openWhileAsking: number[];
  clock: Clock & { waits: number[] };
  interrupt: AbortController;
  /** True: both streams go to a terminal, one without colours. */
  terminal: boolean;
  run(...words: string[]): Promise<{ code: number; out: string; error: string }>;
  /** The same with `--json`, its output parsed. */
  json<Value>(...words: string[]): Promise<{ code: number; value: Value; error: string }>;
}

export function makeShell(): Shell {
  const sample = makeSampleStore();
  const provider = makeScriptedProvider();
  const subscriptions = makeScriptedSubscriptions();
  let nowMs = 0;
  const waits: number[] = [];
  const shell: Shell = {
    sample,
    provider,
    subscriptions,
    api: makeApi({
      store: sample.store,
      rejudge,
      released: () => {},
      probeNow: async (id) => organizations.some((organization) => organization.id === id) && shell.probed,
      listAlerts: async () => {
        const told = { runbookBase: 'https://runbooks.test', journalDays: 7 };
        const unattended = unattendedAlert(sample.unattendedMs, nowMs, told);
        const saved = (await sample.store.listAlerts()).map((alert) => ({ ...alert, notTold: [] }));
        return unattended === null ? saved : [unattended, ...saved];
      },
      manageUrl: (id) => (id === '4711' ? 'https://connections.test/manage' : null),
      endConnection: async (id) => id === '4711',
      forget: async (id) => sample.forget(id),
      check: async () => checkLines,
      testAlerts: async () => shell.alertTests,
      config: () => ({}),
      provider: provider.api,
      sync: { begin: () => idleView(), view: idleView },
      replay: null,
      sandbox: async () => ({ plan: 'production', limits: [] }),
      connections: sample.connections,
      subscriptions: subscriptions.api,
    }),
    // Nobody listens there, whatever runs on this machine.
    environment: { TRAMLINE_URL: 'http://127.0.0.1:2' },
    topics: [],
    asked: [],
    answers: [],
    answered: async () => '',
    probed: 'ok',
    alertTests: [],
    moves: [],
    isCopied: false,
    refused: null,
    opened: 0,
    wish: null,
    closed: 0,
    openWhileAsking: [],
    clock: {
      waits,
      nowMs: () => nowMs,
      steadyMs: () => nowMs,
      wait: async (ms) => {
        waits.push(ms);
        nowMs += ms;
      },
    },
    interrupt: new AbortController(),
    terminal: false,
    async run(...words) {
      let out = '';
      let error = '';
      const streams = {
        out: (text: string) => {
          out += text;
        },
        error: (text: string) => {
          error += text;
        },
        colors: shell.terminal,
        plain: true,
      };
      const code = await runCommandLine(words, streams, doorsOf(shell));
      return { code, out, error };
    },
    async json<Value>(...words: string[]) {
      const { code, out, error } = await shell.run(...words, '--json');
      return { code, value: JSON.parse(out) as Value, error };
    },
  };
  return shell;
}

function doorsOf(shell: Shell): CommandDoors {
  return {
    version: () => '1.2.3',
    load: () => loadSettings('command', shell.environment),
    async openStore(_loaded, wish) {
      shell.wish = wish;
      if (shell.refused !== null) throw shell.refused;
      shell.opened += 1;
      return {
        api: shell.api,
        close: async () => {
          shell.closed += 1;
        },
      };
    },
    createTopics: async () => shell.topics,
    reencrypt: async () => ({ resealed: 2, kept: 1 }),
    async ask(question) {
      shell.asked.push(question);
      shell.openWhileAsking.push(shell.opened - shell.closed);
      return shell.answers.shift() ?? shell.answered();
    },
    async moveStore(from, to, { paged, begunAnew, interrupted }) {
      shell.moves.push([from, to]);
      if (to.endsWith('/begun-by-another')) begunAnew();
      paged('tasks', 3);
      const tables = [{ name: 'tasks', rows: 3, hash: 'abc' }];
      if (interrupted().aborted) return { outcome: 'stopped', tables, of: 9, isCopied: shell.isCopied };
      return shell.moves.length > 1
        ? { outcome: 'already', tables: [], of: 0, isCopied: true }
        : { outcome: 'moved', tables, of: 1, isCopied: true };
    },
    clock: shell.clock,
    interrupted: () => shell.interrupt.signal,
  };
}

/** Serves the shell's installation, on a free port unless one is named, and makes its commands find it. */
export async function serveFor(
  shell: Shell,
  token: string | null = null,
  wantedPort = 0,
): Promise<OperationsServer> {
  const server = makeOperationsServer({
    api: shell.api,
    health: { live: () => ({ status: 'live' }), ready: async () => ({ status: 'ready' }) },
    metricsText: async () => '',
    token: token === null ? null : new Secret(token),
    fault: () => {},
  });
  const { port } = await server.listen('127.0.0.1', wantedPort);
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${port}` };
  return server;
}
