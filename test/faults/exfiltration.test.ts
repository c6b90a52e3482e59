/**
 * Whatever a delivery names and wherever the provider points, credentials go to the provider alone: hostile addresses
 * are posted, authenticated, to the running service, while canaries wait on every other place that could be reached and
 * the provider's own log says what it was asked. Rows S1, S2, S3, S4, S8, S9 and the gate's part of S6.
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AlertView } from '../../src/model/api';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { beginStory, notificationOf, type Resource, Story, soon } from '../support/story';
import { until } from '../support/until';

type Touch = { host: string; path: string; headers: Record<string, unknown> };

const world = { organizations: 2, equipment: 6, 'field-operations': 2, 'heartbeat-ms': 0 };

let story: Story;
let canaries: Server[];
/** Every connection and every request that reached a canary. */
let connected: string[];
let touched: Touch[];

beforeEach(() => {
  canaries = [];
  connected = [];
  touched = [];
});

afterEach(async () => {
  await story.end();
  await Promise.all(canaries.map((server) => new Promise((resolve) => server.close(resolve))));
});

/** A server that remembers who came; 0 when the place cannot be listened on here, such as IPv6 where there is none. */
async function canary(host: string, port = 0): Promise<number> {
  const server = createServer((request, response) => {
    touched.push({ host, path: request.url ?? '', headers: request.headers });
    response.end('{}');
  });
  server.on('connection', (socket: Socket) => {
    connected.push(host);
    socket.unref();
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, resolve);
    });
  } catch {
    return 0;
  }
  canaries.push(server);
  return (server.address() as AddressInfo).port;
}

/** The canaries saw nobody, though they were awake. */
async function expectNoTouch(port: number): Promise<void> {
  expect({ connected, touched }).toEqual({ connected: [], touched: [] });
  const socket = connect(port, '127.0.0.1');
  await until(() => connected.includes('127.0.0.1'), soon);
  socket.destroy();
}

/** Paths that the provider was asked, but for those that the service reads for itself. */
async function askedOfProvider(): Promise<string[]> {
  const own = /^\/platform\/?$|^\/platform\/(organizations|eventSubscriptions)(\?|$)/;
  return (await story.requests()).map(({ url }) => url).filter((url) => !own.test(url));
}

/** Until a page about this group of quarantined things is out, and says this of them: its text follows what is there. */
function untilPaged(group: string, words = '') {
  const isIt = ({ labels, annotations }: AlertView) =>
    labels.group === group && annotations.description?.includes(words);
  return until(async () => (await story.alerts()).find(isIt), {
    ...soon,
    what: `the page about ${group}`,
  });
}

/** Every way to name this machine, the canaries or a place outside, by row; `own` is the provider's authority. */
function hostileAddresses(own: string, issuer: string, port: number): [row: string, address: string][] {
  const ownPort = own.split(':')[1];
  const path = '/isg/equipment/217001';
  return [
    ['S1', `http://localhost:${port}${path}`],
    ['S1', `http://127.0.0.1.evil.test:${ownPort}${path}`],
    ['S1', `http://${own}@127.0.0.1:${port}${path}`],
    ['S1', `http://127.0.0.1:${port}\\@${own}${path}`],
    ['S1', `http://127.0.0.1:${port}#@${own}${path}`],
    ['S1', `http://127%2e0.0.1:${ownPort}${path}`],
    ['S1', `http://127。0。0。1:${ownPort}${path}`],
    ['S1', `http://1２7.0.0.1:${ownPort}${path}`],
    ['S1', `http://127.0.0.1.:${ownPort}${path}`],
    ['S1', `http://аpi.example.test${path}`],
    ['S2', `https://${own}${path}`],
    ['S2', `http://127.0.0.1:${port}${path}`],
    ['S2', `http://127.0.0.1:8443${path}`],
    ['S2', `http://127.0.0.1:0${path}`],
    ['S2', 'file:///etc/passwd'],
    ['S2', 'data:application/json,{}'],
    ['S2', `gopher://127.0.0.1:${port}/`],
    ['S2', 'javascript:fetch()'],
    ['S2', `//127.0.0.1:${port}${path}`],
    ['S2', path],
    ['S2', `http:${own}${path}`],
    ['S3', `http://2130706433:${ownPort}${path}`],
    ['S3', `http://2130706433:${port}${path}`],
    ['S3', `http://0x7f.1:${ownPort}${path}`],
    ['S3', `http://017700000001:${ownPort}${path}`],
    ['S3', `http://127.1:${ownPort}${path}`],
    ['S3', `http://[::1]:${ownPort}${path}`],
    ['S3', `http://[::1]:${port}${path}`],
    ['S3', `http://[::ffff:127.0.0.1]:${ownPort}${path}`],
    ['S3', `http://0:${ownPort}${path}`],
    ['S3', `http://0.0.0.0:${ownPort}${path}`],
    ['S3', `http://127.0.0.2:${ownPort}${path}`],
    ['S3', `http://localhost.:${ownPort}${path}`],
    ['S3', 'http://169.254.169.254/latest/meta-data/'],
    ['S3', 'https://10.0.0.1/isg/equipment/217001'],
    ['S8', `http://${own}/platform/organizations/{orgId}`],
    ['S8', `http://${own}/platform/fieldOperations{?page}`],
    ['S8', `http://${own}/isg/equipment/%7BequipmentId%7D`],
    ['S9', `http://${own}/isg/../platform/organizations/4711`],
    ['S9', `http://${own}/isg/%2e%2e/platform/organizations/4711`],
    ['S9', `http://${own}//127.0.0.1:${port}${path}`],
    ['S9', `http://${own}/isg/%2f..%2fadmin`],
    ['S9', `http://${own}/isg/%252e%252e%252fadmin`],
    ['S9', `http://${own}/isg\\..\\admin`],
    ['S9', `http://${own}/platform/oauth/request_token`],
    ['S9', `http://${own}/platform/oauth/access_token`],
    ['S9', `${issuer}/v1/token`],
    ['S9', `${issuer}/.well-known/oauth-authorization-server`],
  ];
}

test('S1, S2, S3, S8, S9: hostile addresses are quarantined by reason, their good neighbours are published', async () => {
  story = await beginStory({ delivers: false, flags: world });
  const own = new URL(story.simulator.catalog).host;
  const port = await canary('127.0.0.1');
  await canary('::1', port);
  await canary('::1', Number(own.split(':')[1]));
  await canary('127.0.0.2', Number(own.split(':')[1]));
  const [first, second] = await story.equipment();
  const hostile = hostileAddresses(own, story.simulator.issuer, port);
  const elements = hostile.map(([, targetResource]) => notificationOf(first!, { targetResource }));
  elements.unshift(notificationOf(first!));
  elements.splice(20, 0, notificationOf(second!));

  expect(await story.post(elements)).toMatchObject({ status: 204, body: '' });
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({
    accepted: elements.length,
    published: 2,
    quarantined: hostile.length,
    waiting: 0,
    lost: 0,
  });

  const reasons = new Map((await story.quarantine()).map(({ address, reason }) => [address, reason]));
  for (const [row, address] of hostile) {
    const reason = row === 'S8' ? 'address-template' : 'address-refused';
    // User info is hidden wherever an address is kept.
    const kept = address.replace(`//${own}@`, '//[secret]@');
    expect({ row, address, reason: reasons.get(kept) }).toEqual({ row, address, reason });
  }
  expect((await story.events()).map(({ subject }) => subject).sort()).toEqual(
    [first!, second!].map(({ id, organizationId }) => `${organizationId}/equipment/${id}`),
  );
  const reads = await askedOfProvider();
  expect(reads.map((url) => url.split('?')[0]).sort()).toEqual(
    [first!, second!].map(({ uri }) => new URL(uri).pathname),
  );

  const templates = hostile.filter(([row]) => row === 'S8').length;
  const refused = hostile.length - templates;
  expect(await story.metric('tramline_security_rejections_total', { reason: 'address-refused' })).toBe(
    refused,
  );
  expect(await story.metric('tramline_quarantined_total', { reason: 'address-template' })).toBe(templates);
  expect(await untilPaged('sender', `${refused} address-refused`)).toMatchObject({
    name: 'TramlineQuarantineNotEmpty',
    state: 'firing',
    annotations: { owner: 'on-call' },
  });
  expect(await untilPaged('document')).toMatchObject({ name: 'TramlineQuarantineNotEmpty', state: 'firing' });
  await expectNoTouch(port);
});

test('S9: an address that the catalog names for authorization is quarantined, not read', async () => {
  story = await beginStory({ delivers: false, flags: { ...world, auth: 'oauth1' } });
  const [machine] = await story.equipment();
  const { origin } = new URL(story.simulator.catalog);
  const spellings = [
    'oauth/request_token',
    'oauth/access_token',
    'OAuth/Access_Token/',
    'oauth/access%5Ftoken?a=b',
  ];
  const addresses = spellings.map((spelling) => `${origin}/platform/${spelling}`);
  const elements = addresses.map((targetResource) => notificationOf(machine!, { targetResource }));

  expect(await story.post([...elements, notificationOf(machine!)])).toMatchObject({ status: 204 });
  expect(await story.untilRest()).toMatchObject({ published: 1, quarantined: addresses.length });
  const waiting = await story.quarantine();
  expect(waiting.map(({ address }) => address).sort()).toEqual(addresses.sort());
  expect(new Set(waiting.map(({ reason }) => reason))).toEqual(new Set(['address-refused']));
  expect((await askedOfProvider()).filter((url) => /oauth/i.test(url.split('?')[0]!))).toEqual([]);
  expect((await story.requests()).every(({ verdict }) => verdict.valid)).toBe(true);
});

describe('S4: a redirect of the provider', () => {
  const statuses = [301, 302, 303, 307, 308];

  /** Where each machine's answer leads, and what its fault is. */
  function redirects(machines: Resource[], port: number, base: string) {
    const places = [
      `http://127.0.0.1:${port}/stolen`,
      `http://localhost:${port}/stolen`,
      `https://127.0.0.1:${port}/stolen`,
      'file:///etc/passwd',
      `${base}/isg/equipment/${machines[4]!.id}`,
    ];
    return machines.map(({ id }, at) => ({
      match: { path: `/equipment/${id}` },
      status: statuses[at]!,
      headers: { location: places[at]! },
    }));
  }

  /** What waits in the store of a stopped service has failed by itself for a day and is due, after one that will succeed. */
  function letADayPass(file: string, goodId: string): void {
    const database = new DatabaseSync(file);
    database.exec(`UPDATE tasks SET aged_ms = 86400000, due_at = 2 WHERE state IN ('postponed', 'due')`);
    database.prepare(`UPDATE tasks SET state = 'due', due_at = 1 WHERE resource_id = ?`).run(goodId);
    database.close();
  }

  test('is not followed: the resource is tried again for a day and set aside, the others are published', async () => {
    story = await beginStory({ delivers: false, flags: world });
    const port = await canary('127.0.0.1');
    await canary('::1', port);
    const machines = await story.equipment();
    const good = machines[5]!;
    const redirected = machines.slice(0, 5);
    await story.simulator.setFaults(redirects(redirected, port, new URL(story.simulator.catalog).origin));

    await story.post(machines.map((machine) => notificationOf(machine)));
    await story.untilEvents(good, 1);
    await until(async () => (await story.tasks('postponed')).length === redirected.length, soon);
    const tried = () => story.log('attempt').filter(({ code }) => code === 'redirected');
    await until(() => new Set(tried().map(({ address }) => address)).size === redirected.length, soon);

    await story.service.stop();
    letADayPass(join(story.dataFolder, 'tramline.db'), good.id);
    await story.serve({ settings: { PROVIDER_CONCURRENCY: '1' } });
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ published: 1, quarantined: redirected.length, waiting: 0, lost: 0 });
    for (const { reason, detail } of await story.quarantine()) {
      expect(reason).toBe('never-readable');
      expect(detail).toMatch(/^redirected: status 30\d; redirects are not followed$/);
    }
    expect(await untilPaged('document')).toMatchObject({ state: 'firing' });

    const known = machines.map(({ uri }) => new URL(uri).pathname);
    const asked = (await askedOfProvider()).map((url) => url.split('?')[0]!);
    expect(asked.filter((path) => !known.includes(path))).toEqual([]);
    await expectNoTouch(port);
  });

  test('of the catalog and next pages elsewhere lead nowhere, and the service goes on when they end', async () => {
    const simulator = await startSimulator(world);
    story = new Story(simulator, { delivers: false }, temporaryFolder());
    const port = await canary('127.0.0.1');
    await canary('::1', port);
    const elsewhere = `http://127.0.0.1:${port}/platform/organizations?page=2`;
    await simulator.setFaults([
      { match: { path: '^/platform/$' }, times: 1, status: 302, headers: { location: elsewhere } },
      {
        match: { path: '/organizations' },
        times: 1,
        body: { links: [{ rel: 'nextPage', uri: elsewhere }], total: 9, values: [] },
      },
    ]);
    await story.serve();
    const [machine] = await story.equipment();
    expect(await story.post([notificationOf(machine!)])).toMatchObject({ status: 204 });
    await story.untilEvents(machine!, 1);
    const requests = (await story.requests()) as unknown as { url: string; fault: boolean }[];
    expect(requests.filter(({ fault }) => fault).map(({ url }) => url.split('?')[0])).toEqual([
      '/platform/',
      '/platform/organizations',
    ]);
    await expectNoTouch(port);
  });
});
