/**
 * kill -9 at every step of the path, in a real process: what was answered 204 is in exactly one line of the ledger after
 * the restart, and what is published twice is the same bytes. The ledger is read from the tables and the log, by code
 * that is not the product's.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';
import { evidenceOf } from '../support/evidence';
import { checkLedger } from '../support/ledger-checker';
import { startPagerDuty } from '../support/pager-server';
import type { Failpoint } from '../support/serve-with-failpoints';
import { type Service, startService, temporaryFolder, until } from '../support/service';
import { type Simulator, startSimulator } from '../support/simulator';
import { notificationOf } from '../support/story';

const entry = 'dist/test/support/serve-with-failpoints.js';
const settings = {
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  SETTLE_SECONDS: '0',
  READ_GAP_MS: '0',
  LEASE_SECONDS: '30',
  PROBE_SECONDS: '1',
  ALERT_RESEND_SECONDS: '1',
  LOG_LEVEL: 'warn',
};

const soon = { withinMs: 20_000 };

let simulator: Simulator;
let folder: string;
let service: Service;

beforeEach(async () => {
  simulator = await startSimulator({
    organizations: 1,
    equipment: 4,
    'field-operations': 1,
    'heartbeat-ms': 0,
  });
  folder = temporaryFolder();
});
afterEach(async () => {
  await service.kill();
  await simulator.kill();
});

const environment = () => ({ ...simulator.environment, ...settings });

async function start(failpoint: Failpoint | null, more: Record<string, string> = {}): Promise<void> {
  service = await startService({
    dataFolder: folder,
    entry,
    environment: { ...environment(), ...more, ...(failpoint === null ? {} : { FAILPOINT: failpoint }) },
  });
  await simulator.deliverTo({ url: `${service.publicUrl}/webhooks`, retryMs: 50, verify: false });
}

const ask = async <Answer>(path: string): Promise<Answer> =>
  (await fetch(`${service.operationsUrl}${path}`)).json() as Promise<Answer>;

/** What the store's file says, without the product. */
function rowsOf(sql: string): unknown[] {
  const file = new DatabaseSync(join(folder, 'tramline.db'), { readOnly: true });
  try {
    return file.prepare(sql).all();
  } finally {
    file.close();
  }
}

const readsOfMachines = async () =>
  (await simulator.requests()).filter(({ path }) => String(path).includes('/equipment/'));

/** Changes one machine, waits for the death at the failpoint, looks, starts again and waits for quiet. */
async function changeAndDieAt(failpoint: Failpoint, look = () => {}): Promise<void> {
  await start(failpoint);
  const [machine] = (await simulator.state()).equipment;
  await simulator.changeEquipment(machine!.id, { name: 'Changed once' });
  expect((await service.exited).signal).toBe('SIGKILL');
  look();
  await start(null);
  await until(async () => {
    const { notificationsPending } = await simulator.counts();
    const ledger = await ask<Record<string, number>>('/api/ledger');
    const events = await ask<unknown[]>('/api/events');
    return notificationsPending === 0 && events.length > 0 && ledger.waiting === 0;
  }, soon);
}

/** Ends the service and holds everything against everything; `sent` is what the sender was answered 204 for. */
async function reckon(published: number, sent?: number): Promise<void> {
  const { notificationsAccepted } = await simulator.counts();
  await service.stop();
  const evidence = await evidenceOf(join(folder, 'tramline.db'), sent ?? notificationsAccepted, 'embedded');
  expect(checkLedger(evidence)).toEqual([]);
  expect(evidence.records.map(({ value }) => (JSON.parse(value) as { name: string }).name)).toEqual(
    Array.from({ length: published }, () => 'Changed once'),
  );
}

test('K1: killed before the delivery is stored, it is stored once when it is sent again', async () => {
  await changeAndDieAt('S2 verified');
  expect((await ask<Record<string, number>>('/api/ledger')).accepted).toBe(1);
  await reckon(1);
});

test('K2: killed after the commit and before the answer, the repeat is one more hint and no second event', async () => {
  await changeAndDieAt('S3 stored');
  const ledger = await ask<Record<string, number>>('/api/ledger');
  expect(ledger.accepted).toBe(2);
  await reckon(1);
});

test('K2: under hmac the repeat of what was stored before the kill is known by its id and counts once', async () => {
  const secret = Buffer.alloc(32, 5).toString('base64');
  const signed = { WEBHOOK_AUTH: 'hmac', WEBHOOK_HMAC_SECRETS: `whsec_${secret}` };
  await start('S3 stored', signed);
  const [machine] = (await simulator.state()).equipment;
  await simulator.changeEquipment(machine!.id, { name: 'Changed once', notify: false });
  const body = JSON.stringify([notificationOf(machine!)]);
  const sentAt = new Date();
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_once',
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_once', sentAt, body),
  };
  const post = () => fetch(`${service.publicUrl}/webhooks`, { method: 'POST', body, headers });
  await expect(post()).rejects.toThrow();
  expect((await service.exited).signal).toBe('SIGKILL');
  await start(null, signed);
  expect((await post()).status).toBe(204);
  await until(async () => (await ask<Record<string, number>>('/api/ledger')).published === 1, soon);
  expect(await ask<Record<string, number>>('/api/ledger')).toMatchObject({ accepted: 1, merged: 0 });
  await reckon(1, 1);
});

test('K3: killed after the 204 and before the claim, it is read without a new delivery', async () => {
  await start('S4 answered');
  const [machine] = (await simulator.state()).equipment;
  await simulator.changeEquipment(machine!.id, { name: 'Changed once' });
  await until(async () => (await simulator.counts()).notificationsAccepted === 1, soon);
  await service.kill();
  await start(null);
  await until(async () => (await ask<Record<string, number>>('/api/ledger')).published === 1, soon);
  await reckon(1);
});

test('K4: killed after the claim, the task is taken again at once and not twice', async () => {
  await changeAndDieAt('S5 claimed', () => {
    // Its lease outlives the patience of this test: only the start can have freed it.
    expect(rowsOf('SELECT state FROM tasks')).toEqual([{ state: 'taken' }]);
  });
  expect(await readsOfMachines()).toHaveLength(1);
  await reckon(1);
});

test('K6: killed after the fetch and before the decision, it is read again and decided once', async () => {
  await changeAndDieAt('S7 fetched');
  expect(await readsOfMachines()).toHaveLength(2);
  await reckon(1);
});

test('K7: killed after the decision and before it is sent, it is sent after the restart', async () => {
  let decided: unknown[] = [];
  await changeAndDieAt('S8 decided', () => {
    decided = rowsOf('SELECT event_id, value FROM outbox WHERE state = 0');
  });
  expect(decided).toHaveLength(1);
  expect(await readsOfMachines()).toHaveLength(1);
  await reckon(1);
  expect(rowsOf('SELECT event_id, value FROM outbox')).toEqual(decided);
});

test('K8: killed after the log took it and before it is marked, it is the same event', async () => {
  await changeAndDieAt('S9 acknowledged');
  await reckon(1);
});

test('killed after it was marked, nothing is left to do', async () => {
  await changeAndDieAt('S10 marked', () => {
    expect(rowsOf('SELECT event_id FROM outbox WHERE state = 0')).toEqual([]);
    expect(rowsOf('SELECT event_id FROM outbox WHERE state <> 0')).toHaveLength(1);
  });
  await reckon(1);
});

test('K15: a rejection that nobody handles is logged and ends the process; nothing half-alive stays', async () => {
  await start('stray rejection');
  const [machine] = (await simulator.state()).equipment;
  await simulator.changeEquipment(machine!.id, { name: 'Changed once' });
  expect(await service.exited).toMatchObject({ code: 1 });
  const fault = service.records().find(({ line }) => line === 'fault');
  expect(JSON.stringify(fault)).toContain('nobody waits for this');
  await start(null);
  await until(async () => (await ask<Record<string, number>>('/api/ledger')).published === 1, soon);
  await reckon(1);
});

describe.each(['A1 alert saved', 'A2 alert posted'] as const)('K9: killed at %s', (failpoint) => {
  test('on-call is paged once, with the first start, and the page ends', async () => {
    const pager = await startPagerDuty('a-routing-key');
    const paged = { PAGERDUTY_ROUTING_KEY: 'a-routing-key', PAGERDUTY_URL: pager.url };
    try {
      await start(failpoint, paged);
      const { equipment, organizations } = await simulator.state();
      await simulator.setOrganization(organizations[0]!.id, { termsAccepted: false });
      await simulator.changeEquipment(equipment[0]!.id, { name: 'Changed once' });
      expect((await service.exited).signal).toBe('SIGKILL');
      await start(null, paged);
      const incidents = () => [...pager.incidents.values()];
      await until(() => incidents().some(({ open }) => open), soon);
      const [blocked] = await ask<{ since: string; access: string }[]>('/api/organizations');
      expect(blocked!.access).toBe('terms-required');
      await simulator.setOrganization(organizations[0]!.id, { termsAccepted: true });
      await until(() => incidents().some(({ open }) => !open), soon);
      await until(async () => (await ask<Record<string, number>>('/api/ledger')).published === 1, soon);
      const starts = pager.events
        .filter(({ event_action }) => event_action === 'trigger')
        .map(({ payload }) => (payload as { timestamp: string }).timestamp);
      expect(new Set(starts)).toEqual(new Set([blocked!.since]));
      expect(pager.opened).toBe(1);
      expect(incidents().map(({ summary }) => summary)).toEqual([
        expect.stringContaining(organizations[0]!.name),
      ]);
    } finally {
      await pager.stop();
    }
  });
});
