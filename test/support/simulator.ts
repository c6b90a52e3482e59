// The provider's stand-in for stories: `tramline simulate` as a real process, or the same program in this one, and its
// controls as functions. Tests talk to it as the service does, over HTTP only. What it heard is counted for the run.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as Here from '../../src/simulator/simulator';
import { type ReadyProcess, startProcess } from './ready-process';

/** The flags of `tramline simulate`, by their long names: `{ 'deliver-to': url, organizations: 2 }`. */
export type SimulateFlags = Record<string, string | number>;

export type Simulator = ReadyProcess &
  SimulatorControls & {
    catalog: string;
    equipment: string;
    control: string;
    consent: string;
    issuer: string;
    vendor: string;
    clientKey: string;
    /** Every setting that `serve` needs to work with this simulator, name → value. */
    environment: Record<string, string>;
  };

/** The truth as the simulator holds it. */
export type SimulatorState = {
  organizations: { id: string; name: string; termsAccepted: boolean; connected: boolean }[];
  equipment: { id: string; organizationId: string; uri: string; content: Record<string, unknown> }[];
  fieldOperations: {
    id: string;
    organizationId: string;
    fieldId: string;
    uri: string;
    content: Record<string, unknown>;
  }[];
};

/** One way to misbehave, for the next `times` requests that match. */
export type SimulatorFault = {
  match: { method?: string; path?: string };
  times?: number;
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  delayMs?: number;
  /** No answer before the faults are set anew. */
  held?: boolean;
  lagMs?: number;
  truncateAt?: number;
  drip?: unknown;
  close?: boolean;
  nextPage?: string;
};

export type SimulatorCounts = {
  requests: number;
  deliveries: number;
  notificationsAccepted: number;
  notificationsPending: number;
};

export type SimulatorControls = {
  state(): Promise<SimulatorState>;
  /** What was asked of the provider, each with the verdict on its signature. */
  requests(): Promise<Record<string, unknown>[]>;
  /** What it delivered, and what it was answered. */
  deliveries(): Promise<Record<string, unknown>[]>;
  /** `notify` also sends a Required Customer Action notification. */
  setOrganization(
    id: string,
    change: {
      termsAccepted?: boolean;
      connected?: boolean;
      requiredAction?: string | { message: string; located: boolean } | null;
      notify?: boolean;
    },
  ): Promise<unknown>;
  /** Merged into the content; `notify: false` keeps quiet about it. */
  changeEquipment(id: string, change: Record<string, unknown>): Promise<unknown>;
  changeFieldOperation(id: string, change: Record<string, unknown>): Promise<unknown>;
  /** It is there no more, which nobody is notified of. */
  remove(kind: 'equipment' | 'fieldOperation', id: string): Promise<unknown>;
  notify(body: unknown): Promise<unknown>;
  /** Where deliveries go from now on, and how: `{ url, maxBatchSize, concurrentDeliveries, retryMs, answerMs, … }`. */
  deliverTo(settings: Record<string, unknown>): Promise<unknown>;
  /** How much was asked and delivered so far, without the entries. */
  counts(): Promise<SimulatorCounts>;
  setFaults(faults: SimulatorFault[]): Promise<unknown>;
  /** Every address but the catalog's changes. */
  moveLinks(): Promise<unknown>;
  setToday(body: unknown): Promise<unknown>;
  /** What the contract leaves open: `organizationFieldOperations`, `changeTokens`, `aboveMax`, … */
  changeSettings(change: Record<string, unknown>): Promise<unknown>;
  expireTokens(which?: {
    user?: string;
    refresh?: boolean;
    kinds?: ('oauth1' | 'access' | 'refresh')[];
    inSeconds?: number;
  }): Promise<unknown>;
  /** Consent pages answer at once, as this user; a null user shows pages again. */
  answerConsent(answer: { user: string | null; approve?: boolean }): Promise<unknown>;
  /** Registered redirect addresses, licensed scopes, the life of access tokens, rotation. */
  changeClient(change: Record<string, unknown>): Promise<unknown>;
  /** Exactly the organizations that a user sees; null goes back to what was dealt. */
  changeUser(name: string, change: { sees: string[] | null }): Promise<unknown>;
  restoreTokens(): Promise<unknown>;
  /** `{ newContent: true }`, another size, archived, removed. */
  changeFile(id: string, change: Record<string, unknown>): Promise<unknown>;
  subscriptions(): Promise<Record<string, unknown>[]>;
  setSubscriptionStatus(id: string, status: 'Active' | 'Expired' | 'Terminated'): Promise<unknown>;
  /** What the sandbox has counted so far, and since when it is used. */
  setSandbox(change: { calls?: number; since?: string }): Promise<unknown>;
  coverage(): Promise<unknown>;
};

/** Starts it on a free port (unless `port` is among the flags); throws what it printed when it ends instead. */
export async function startSimulator(flags: SimulateFlags = {}): Promise<Simulator> {
  const words = Object.entries({ port: 0, ...flags }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  const started = await startProcess({
    entry: 'dist/src/cli.js',
    words: ['simulate', ...words],
    environment: {},
    readyKeys: ['catalog', 'control', 'environment'],
  });
  const ready = started.ready as Omit<Simulator, keyof ReadyProcess | keyof SimulatorControls>;
  const simulator = Object.assign(started, ready, simulatorControls(ready.control));
  const { kill, stop } = simulator;
  const count = countRowsOnce(simulator);
  simulator.kill = async () => {
    await count();
    return kill();
  };
  simulator.stop = async (...how) => {
    await count();
    return stop(...how);
  };
  return simulator;
}

/** The same in this process; options by the names of its own module. Closed by `close`, not by the end of the suite. */
export async function startSimulatorHere(
  options: Parameters<typeof Here.startSimulator>[0] = {},
): Promise<Here.Simulator & SimulatorControls> {
  // Loaded here: suites of stories have it as a process of its own.
  const { startSimulator: start } = require('../../src/simulator/simulator') as typeof Here;
  const started = await start(options);
  const { close } = started;
  const simulator = Object.assign(started, simulatorControls(started.control));
  const count = countRowsOnce(simulator);
  simulator.close = async () => {
    await count();
    return close();
  };
  return simulator;
}

/**
 * Leaves how often each row of the contract was exercised where the end of the run adds it up. A simulator is killed
 * at the end of a story, so it is asked before. One that has ended, or does not answer, counts for nothing.
 */
function countRowsOnce(controls: SimulatorControls): () => Promise<void> {
  let counted = false;
  return async () => {
    const folder = process.env.TRAMLINE_TEST_ROWS;
    if (counted || folder === undefined) return;
    counted = true;
    try {
      const rows = (await controls.coverage()) as { row: string; events: Record<string, number> }[];
      const line = JSON.stringify(Object.fromEntries(rows.map(({ row, events }) => [row, events])));
      appendFileSync(join(folder, `${process.pid}.jsonl`), `${line}\n`);
    } catch {
      counted = false;
    }
  };
}

/** The controls under this address (`…/_simulator`). Each throws on any answer but 2xx, with the answer's text. */
export function simulatorControls(control: string): SimulatorControls {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await again(() =>
      fetch(`${control.replace(/\/$/, '')}/${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      }),
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const segment = encodeURIComponent;
  return {
    state: () => call('GET', 'state'),
    requests: () => call('GET', 'requests'),
    deliveries: () => call('GET', 'deliveries'),
    setOrganization: (id, change) => call('PATCH', `organizations/${segment(id)}`, change),
    changeEquipment: (id, change) => call('PATCH', `equipment/${segment(id)}`, change),
    changeFieldOperation: (id, change) => call('PATCH', `fieldOperations/${segment(id)}`, change),
    remove: (kind, id) =>
      call('DELETE', `${kind === 'equipment' ? kind : 'fieldOperations'}/${segment(id)}?notify=false`),
    notify: (body) => call('POST', 'notify', body),
    setFaults: (faults) => call('PUT', 'faults', faults),
    deliverTo: (settings) => call('PUT', 'deliver-to', settings),
    counts: () => call('GET', 'counts'),
    moveLinks: () => call('POST', 'links/move', {}),
    changeSettings: (change) => call('PATCH', 'settings', change),
    setToday: (body) => call('PUT', 'today', body),
    expireTokens: (which = {}) => call('POST', 'tokens/expire', which),
    answerConsent: (answer) => call('PUT', 'consent', answer),
    changeClient: (change) => call('PATCH', 'client', change),
    changeUser: (name, change) => call('PATCH', `users/${segment(name)}`, change),
    restoreTokens: () => call('POST', 'tokens/restore', {}),
    changeFile: (id, change) => call('PATCH', `files/${segment(id)}`, change),
    subscriptions: () => call('GET', 'subscriptions'),
    setSubscriptionStatus: (id, status) => call('PATCH', `subscriptions/${segment(id)}`, { status }),
    setSandbox: (change) => call('PUT', 'sandbox', change),
    coverage: () => call('GET', 'coverage'),
  };
}

/** A connection that was kept may end in the moment in which it is used; said twice, a control says the same. */
async function again(ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask();
  } catch {
    return ask();
  }
}
