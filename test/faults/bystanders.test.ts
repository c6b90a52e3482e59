/**
 * F-19, S13, S14 and R9: what one organization's reads do to others, what an environment meant for other programs does
 * to ours, where the provider's own words go, and what strangers' words do to the metrics. One service lives through all
 * of it.
 */
import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import fastCheck from '../support/properties';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const concurrency = 4;
let story: Story;
/** Stands where the environment says that a proxy is; nobody may come. */
let proxy: TcpServer;
let visits: number;
/** Takes alerts as Alertmanager does. */
let sink: Server;
let pages: string;

const listen = async (server: TcpServer): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  visits = 0;
  pages = '';
  proxy = createTcpServer((socket: Socket) => {
    visits += 1;
    socket.on('error', () => {}).destroy();
  });
  sink = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => {
      pages += text;
    });
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  const place = await listen(proxy);
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  story = await beginStory({
    delivers: false,
    flags: { users: 2, organizations: 2, equipment: 16 },
    settings: {
      ...Object.fromEntries(names.map((name) => [name, place])),
      ALERTMANAGER_URLS: await listen(sink),
      PROVIDER_CONCURRENCY: String(concurrency),
    },
  });
});

afterAll(async () => {
  await story.end();
  sink.closeAllConnections();
  await Promise.all([proxy, sink].map((server) => new Promise((resolve) => server.close(resolve))));
});

test('S14: the provider’s own words are answered to nobody, and stand cut and on one line where they are kept', async () => {
  const [machine, other] = await story.equipment(1);
  const words = `planted \u001b[31m<script>alert(1)</script>\n{"line":"alert"}\u202e ${'x'.repeat(2000)}`;
  await story.simulator.setFaults([
    { match: { path: `/equipment/${machine!.id}` }, status: 400, body: { errors: [{ message: words }] } },
  ]);
  const answers = [await story.post([notificationOf(machine!)])];
  // What is refused is its own when another is answered.
  await until(() => story.log('attempt').length > 0, soon);
  expect((await story.post([notificationOf(other!)])).status).toBe(204);
  // On busy cores it is refused several times until then, and waits the longer: half a minute at most.
  const [kept] = await until(
    async () => {
      const quarantine = await story.quarantine();
      return quarantine.length > 0 ? quarantine : null;
    },
    { withinMs: 30_000 + soon.withinMs },
  );
  answers.push(await story.post([notificationOf(machine!)]), await story.post('{"planted'));
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 400]);
  expect(JSON.stringify(answers)).not.toMatch(/planted|alert\(1\)/);

  const attempts = () => story.log('attempt').filter(({ address }) => address === machine!.uri);
  const attempt = await until(async () => attempts().at(-1) ?? null, soon);
  for (const shown of [kept!.detail, attempt.detail].map(String)) {
    expect(shown).toContain('planted');
    expect(shown.length).toBeLessThan(600);
    expect(shown).not.toMatch(/[\p{Cc}\u202e]/u);
  }
  // Whatever it says, it is no line of its own.
  for (const line of story.service.lines()) expect(line).toMatch(/^\{.*\}$/);
  expect(story.log('alert').every(({ name }) => String(name).startsWith('Tramline'))).toBe(true);
  expect(pages).not.toMatch(/script>|\\u001b/);
});

/** Every series of the service, without its value. */
async function series(): Promise<string[]> {
  const text = await (await fetch(`${story.service.operationsUrl}/metrics`)).text();
  return text.split('\n').flatMap((line) => (/^[a-z]/.test(line) ? [line.replace(/ \S+$/, '')] : []));
}

const elementsMax = 256;

/**
 * Deliveries of so many elements, each of an organization, an address and a type of its own: some are read at the
 * provider, the others lead elsewhere, are of no type that is known, or of none; and requests to so many paths.
 */
async function beStrange(count: number, requests: number, seed: number): Promise<void> {
  const [known] = await story.equipment();
  const word = fastCheck.string({ minLength: 1, maxLength: 20, unit: 'grapheme' });
  const words = fastCheck.sample(word, { seed, numRuns: count });
  const readsEnd = Math.max(32, count / 25);
  const elements = words.map((strange, index) => {
    const place = `${seed}-${index}-${encodeURIComponent(strange)}`;
    const isHint = index % 4 === 0;
    const isRead = isHint && index < readsEnd;
    return {
      ...notificationOf({
        uri: isRead ? `${known!.uri}-${place}` : `https://x${index}.example/${place}`,
        organizationId: `${place}${strange}`,
      }),
      ...(isHint ? {} : { eventTypeId: index % 4 === 1 ? index : `${strange}${place}` }),
    };
  });
  for (let from = 0; from < count; from += elementsMax) {
    expect((await story.post(elements.slice(from, from + elementsMax))).status).toBe(204);
  }
  const paths = words.slice(0, requests).map((strange, index) => `/${encodeURIComponent(strange)}/${index}`);
  await Promise.all(
    paths.map(async (path, index) => {
      const method = ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'][index % 5]!;
      await (await fetch(`${story.service.publicUrl}${path}`, { method })).arrayBuffer();
      await (await fetch(`${story.service.operationsUrl}/api${path}`, { method })).arrayBuffer();
    }),
  );
  // What no connection is known to see waits for the next listing, which comes the later the slower the last one was.
  await until(async () => (await story.ledger()).waiting === 0, { withinMs: 60_000 });
}

test('R9: ten thousand random organizations, addresses, types and paths that arrive by HTTP add no series', async () => {
  await beStrange(64, 10, 1);
  await until(async () => (await story.metric('tramline_alert_posts_total')) > 0, soon);
  const before = await series();
  await beStrange(10_000, 200, 2);
  expect((await story.ledger()).accepted).toBeGreaterThan(10_000);
  expect((await series()).filter((one) => !before.includes(one))).toEqual([]);
}, 180_000);

test('F-19: an organization whose reads all hang takes no more than its share of the places that others wait for', async () => {
  const hanging = await story.equipment(0);
  const others = (await story.equipment(1)).slice(1);
  await story.simulator.setFaults(
    hanging.map(({ id }) => ({ match: { path: `/equipment/${id}` }, delayMs: 60_000 })),
  );
  const all = [...hanging, ...others].map((machine) => notificationOf(machine));
  expect((await story.post(all)).status).toBe(204);
  for (const machine of others) await story.untilEvents(machine, 1);
  // Not one of those that hang has come to its end, so nobody waited for them.
  expect((await story.events()).map(({ subject }) => subject.split('/')[0])).toEqual(
    others.map(({ organizationId }) => organizationId),
  );
  expect((await story.tasks()).map(({ state }) => state)).not.toContain('postponed');
});

test('S13: a proxy that the environment names for other programs is not used', async () => {
  // The provider was read and the sink was told, both past it.
  expect((await story.requests()).length).toBeGreaterThan(0);
  await until(async () => pages.includes('alertname'), soon);
  expect(visits).toBe(0);
});
