/**
 * Row R3: recognisable values stand in every secret setting, the service lives through a good delivery and through
 * refusals of every kind, some of which repeat our own token, and a consent in a browser, and then everything it leaves
 * behind is searched: standard output, metrics, every route, spans, pages, the answers to strangers, the commands, the
 * raw bytes of the store, and the records of the topics, which a Kafka takes that wants a login.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { rows } from '../../../src/config/describe';
import type { QuarantineView } from '../../../src/model/inspection';
import { apiRoutes } from '../../../src/operations/routes';
import { kafkaTargetDefaults } from '../../../src/publish/kafka';
import { createTopics, type TopicDeclaration } from '../../../src/publish/topics';
import { systemClock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { Browser } from '../../support/browser';
import { type Collector, startCollector } from '../../support/collector';
import { readTopics } from '../../support/evidence';
import { freePort } from '../../support/free-port';
import { type KafkaCluster, kafkaAvailable, startKafka } from '../../support/kafka';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { repositoryRoot } from '../../support/repository';
import { cleanUp, type Service, startService, temporaryFolder } from '../../support/service';
import { type Simulator, startSimulator } from '../../support/simulator';
import { notificationOf, type Posted, type Resource } from '../../support/story';
import { until } from '../../support/until';

/** One test goes through all that a service does and starts some ten processes: on a busy machine that takes minutes. */
const soon = { withinMs: 60_000 };
const lifeMsMax = 240_000;

type Token = {
  connection: string;
  user: string;
  auth: string;
  token: string;
  secret?: string;
  refresh?: string;
};

/** What was left behind, by where it was found. */
type Remains = Map<string, Buffer>;

let simulator: Simulator;
let service: Service;
let collector: Collector;
/** Takes pages as the sinks do, and keeps them with where they went. */
let sink: Server;
let pages: { path: string; body: string }[];
let folder: string;
let settings: Record<string, string>;
let tokens: Token[];

const planted = (what: string) => `planted-${what}-Zq7xW2vK9pLm4TnR`;
/** An address with user info. */
const signedIn = `http://ann:${planted('user-info')}@127.0.0.1:1`;
const hmacSecret = `whsec_${Buffer.from(planted('hmac-key')).toString('base64')}`;
const encryptionKey = Buffer.from(planted('encryption').padEnd(32, '#').slice(0, 32)).toString('base64');

beforeEach(async () => {
  collector = await startCollector();
  pages = [];
  sink = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      pages.push({ path: request.url ?? '', body });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  folder = temporaryFolder();
});

afterEach(async () => {
  await cleanUp();
  await collector.close();
  sink.closeAllConnections();
  await new Promise((resolve) => sink.close(resolve));
});

/**
 * What the sinks were told. One secret stands where it belongs: PagerDuty knows us by the routing key, in the member of
 * that name of what is posted to it. It is taken out there, once a post, and searched for in all the rest.
 */
function toldToSinks(): string {
  return pages
    .map(({ path, body }) => {
      if (path !== '/pagerduty') return body;
      const { routing_key, ...rest } = JSON.parse(body) as Record<string, unknown>;
      expect(routing_key).toBe(settings.PAGERDUTY_ROUTING_KEY);
      return JSON.stringify(rest);
    })
    .join('\n');
}

/** Everything secret is planted; what the simulator checks is its own, and as recognisable. */
function settingsFor(): Record<string, string> {
  const { environment } = simulator;
  const sinkUrl = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const stranger: Token = {
    ...tokens[0]!,
    connection: 'connection-3',
    user: 'nobody',
    token: planted('refused-token'),
  };
  return {
    ...environment,
    PROVIDER_TOKENS: JSON.stringify([...tokens, stranger]),
    ENCRYPTION_KEYS: `k1:${encryptionKey}`,
    OPERATIONS_TOKEN: planted('operations'),
    WEBHOOK_AUTH: 'authorization,token,hmac',
    WEBHOOK_AUTHORIZATION: `Bearer ${planted('authorization')}`,
    WEBHOOK_TOKENS: planted('webhook-token'),
    WEBHOOK_HMAC_SECRETS: hmacSecret,
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: login.username,
    KAFKA_SASL_PASSWORD: login.password,
    PAGERDUTY_ROUTING_KEY: planted('routing-key'),
    PAGERDUTY_URL: `${sinkUrl}/pagerduty`,
    SLACK_WEBHOOK_URL: `${sinkUrl}/slack/${planted('slack')}`,
    ALERTMANAGER_URLS: sinkUrl,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${planted('collector-key')}`,
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: `x-metrics-key=${planted('metrics-key')}`,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: `x-traces-key=${planted('traces-key')}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    LOG_LEVEL: 'debug',
    READ_GAP_MS: '0',
    SETTLE_SECONDS: '0',
    // Whoever is blocked stays so: the refused token would be taken when it is shown again.
    PROBE_SECONDS: '300',
    ALERT_RESEND_SECONDS: '1',
  };
}

/** Every text that must be found nowhere, with its name. */
function secretsOf(): Map<string, string> {
  const secrets = new Map<string, string>();
  const named = JSON.parse(settings.PROVIDER_TOKENS!) as Token[];
  for (const { connection, token, secret, refresh } of named) {
    for (const [part, value] of Object.entries({ token, secret, refresh })) {
      if (value !== undefined) secrets.set(`PROVIDER_TOKENS ${connection} ${part}`, value);
    }
  }
  const alone = rows.filter(([name, row]) => row.secret && name !== 'PROVIDER_TOKENS').map(([name]) => name);
  for (const name of alone)
    secrets.set(name, settings[name]!.replace(/^(k1:|whsec_|Bearer |x-[a-z]+-key=)/, ''));
  return secrets;
}

/** The forms in which a value could stand somewhere: as it is, escaped, encoded, and as the bytes behind it. */
function formsOf(value: string): Buffer[] {
  const texts = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').replace(/=+$/, ''),
    Buffer.from(value).toString('base64url'),
    Buffer.from(value).toString('hex'),
  ];
  const bytes = /^[A-Za-z0-9+/]+=*$/.test(value) ? [Buffer.from(value, 'base64')] : [];
  return [...[...new Set(texts)].map((text) => Buffer.from(text)), ...bytes];
}

/** `where: which` for each secret that stands in what was left behind. */
function found(remains: Remains, secrets: Map<string, string>): string[] {
  return [...secrets].flatMap(([name, value]) => {
    const forms = formsOf(value);
    const places = [...remains].filter(([, bytes]) => forms.some((form) => bytes.includes(form)));
    return places.map(([where]) => `${where}: ${name}`);
  });
}

async function post(body: unknown, authorization = settings.WEBHOOK_AUTHORIZATION!): Promise<Posted> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const id = `msg_${Math.random()}`;
  const sentAt = new Date();
  const headers = {
    'content-type': 'application/json',
    authorization,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(hmacSecret).sign(id, sentAt, text),
  };
  const response = await fetch(`${service.publicUrl}/webhooks`, { method: 'POST', headers, body: text });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

const announcement = (resource: Resource, more: Record<string, unknown> = {}) =>
  notificationOf(resource, { token: planted('webhook-token'), ...more });

const ask = (path: string, token: string | null = settings.OPERATIONS_TOKEN!): Promise<Response> =>
  fetch(
    `${service.operationsUrl}${path}`,
    token === null ? {} : { headers: { authorization: `Bearer ${token}` } },
  );

const askJson = async <Answer>(path: string): Promise<Answer> => (await ask(path)).json() as Promise<Answer>;

/** Good and bad deliveries of senders who know secrets and put them where they do not belong; their answers. */
async function sendAllSorts(machine: Resource): Promise<string> {
  const secret = planted('webhook-token');
  const answers = [
    await post([announcement(machine)], `Bearer ${planted('authorization')}x`),
    await post([announcement(machine, { token: `${secret}x` })]),
    await post([
      announcement(machine, { targetResource: 7, comment: `${settings.WEBHOOK_AUTHORIZATION} ${secret}` }),
    ]),
    await post([announcement(machine), announcement(machine, { token: planted('strangers-token') })]),
    await post(`[{"token": "${secret}", "comment": "${hmacSecret} ${settings.WEBHOOK_AUTHORIZATION}"`),
    await post([announcement(machine, { targetResource: `${signedIn}/isg` })]),
    await post([announcement(machine, { targetResource: 7, comment: `${signedIn}/isg` })]),
    await post(`[{"targetResource": "${signedIn.replaceAll('/', '\\/')}\\/isg"`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 204, 204, 400, 204, 204, 400]);
  return answers.map(({ headers, body }) => JSON.stringify(headers) + body).join('\n');
}

/** The provider refuses in every way, and repeats the credentials it was sent in its own words. */
async function refuseInEveryWay(machines: Resource[], foreign: Resource): Promise<void> {
  const quote = ({ token }: Token) => `the token ${token} of Authorization: Bearer ${token} was not taken`;
  const said = quote(tokens[0]!);
  const wordsOf = (text: string) => ({ errors: [{ message: text }] });
  const words = wordsOf(said);
  const [bare, limited, down, page, wrong] = machines;
  const ended = { status: 401, body: wordsOf(quote(tokens[1]!)) };
  const catalog = { match: { path: `^${new URL(simulator.catalog).pathname}$` } };
  const at = ({ id }: Resource) => ({ match: { path: `/equipment/${id}` } });
  await simulator.setFaults([
    { ...at(bare!), times: 1, status: 403, body: words },
    { ...at(limited!), times: 1, status: 429, body: words, headers: { 'retry-after': '1' } },
    { ...at(down!), times: 1, status: 500, body: words },
    { ...at(page!), times: 1, body: `<html>${said}</html>`, headers: { 'content-type': 'text/html' } },
    { ...at(wrong!), status: 400, body: words },
  ]);
  expect((await post([bare!, limited!, down!, page!, wrong!].map((one) => announcement(one)))).status).toBe(
    204,
  );
  await until(async () => {
    const { published } = await askJson<{ published: number }>('/api/ledger');
    const quarantined = await askJson<QuarantineView[]>('/api/quarantine');
    return published >= 5 && quarantined.some(({ reason }) => reason === 'request-refused');
  }, soon);
  const warning = {
    'x-harrow-warning': `299 harrow "${said}"`,
    'x-harrow-terms-location': 'http://127.0.0.1:1/terms',
  };
  // Of one that was read before: whose it is is proven.
  const restricted = { ...at(down!), status: 403, body: words, headers: warning };
  // The other's token also after it was renewed, and elsewhere; no pause of a 429 is under way any more.
  const refused = [
    { ...at(foreign), times: 2, ...ended },
    { ...catalog, ...ended },
  ];
  await simulator.setFaults([...refused, restricted]);
  await post([announcement(down!), announcement(foreign)]);
  await until(async () => {
    const organizations = await askJson<{ access: string }[]>('/api/organizations');
    const blocked = organizations.map(({ access }) => access).sort();
    return blocked.join() === 'reauthorize,terms-required';
  }, soon);
  await simulator.setFaults([restricted]);
  await until(() => toldToSinks().includes('TramlineTermsRequired'), soon);
}

/** Every answer of the operations listener, to whoever may ask and to strangers. */
async function everyAnswer(remains: Remains): Promise<void> {
  const [{ id: quarantineId }] = (await askJson<{ id: string }[]>('/api/quarantine')) as [{ id: string }];
  const ids: Record<string, string> = { '/api/quarantine/:id': quarantineId };
  const [{ id: organizationId }] = (await askJson<{ id: string }[]>('/api/organizations')) as [
    { id: string },
  ];
  const gets = apiRoutes.filter(({ method }) => method === 'get').map(({ path }) => path);
  for (const path of ['/metrics', '/readyz', '/', '/api/nothing', ...gets]) {
    const filled =
      path.replace(':id', ids[path] ?? organizationId) + (path === '/api/explain' ? '?of=d1' : '');
    for (const token of [settings.OPERATIONS_TOKEN!, planted('guess'), null]) {
      const response = await ask(filled, token);
      const text = `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
      remains.set(`GET ${path} ${remains.size}`, Buffer.from(text));
    }
  }
}

/** What commands print with the same environment, when the service is gone. */
function everyCommand(remains: Remains): void {
  const words = [
    ['config'],
    ['config', '--json'],
    ['quarantine', '--json'],
    ['events', '--json'],
    ['alerts'],
  ];
  for (const command of words) {
    const done = spawnSync(process.execPath, ['dist/src/cli.js', ...command], {
      cwd: repositoryRoot(),
      env: {
        PATH: process.env.PATH,
        ...settings,
        TRAMLINE_URL: service.operationsUrl,
      },
      encoding: 'utf8',
    });
    expect({ command, status: done.status }).toEqual({ command, status: 0 });
    remains.set(command.join(' '), Buffer.from(done.stdout + done.stderr));
  }
}

/**
 * A user consents in a browser. What the link, the provider's page and the way back carried counts as secret from then
 * on: each of it could have been used by whoever read it in time. Answers the challenge whose verifier we made (RFC 7636),
 * where there is one.
 */
async function consent(secrets: Map<string, string>): Promise<string | null> {
  const made = await fetch(`${service.operationsUrl}/api/connections/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${settings.OPERATIONS_TOKEN}` },
  });
  const { id, address } = (await made.json()) as { id: string; address: string };
  const browser = new Browser();
  const page = await browser.answer(await browser.press(address), tokens[0]!.user);
  expect(page.status).toBe(200);
  await until(
    async () => (await askJson<{ step: string }>(`/api/connections/links/${id}`)).step === 'done',
    soon,
  );
  for (const { searchParams } of browser.opened.map((opened) => new URL(opened))) {
    for (const name of ['link', 'state', 'code', 'oauth_token', 'oauth_verifier']) {
      const value = searchParams.get(name);
      if (value !== null) secrets.set(`${name} of a consent`, value);
    }
  }
  const carried = [...secrets.keys()].filter((name) => name.endsWith(' of a consent'));
  expect(carried.length).toBeGreaterThanOrEqual(3);
  const challenges = browser.opened.map((opened) => new URL(opened).searchParams.get('code_challenge'));
  return challenges.find((challenge) => challenge !== null) ?? null;
}

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

/** Whether the verifier behind a challenge stands there: it never leaves us but for the provider, so each text that could be one is tried. */
function holdsVerifier(bytes: Buffer, challenge: string): boolean {
  const length = 43;
  for (const [run] of bytes.toString('latin1').matchAll(/[\w-]{43,}/g)) {
    for (let at = 0; at + length <= run.length; at += 1) {
      if (challengeOf(run.slice(at, at + length)) === challenge) return true;
    }
  }
  return false;
}

/** Every record of the topics: key, headers and value. */
async function topicBytes(remains: Remains, { brokers }: KafkaCluster): Promise<void> {
  const names = topics.map(({ name }) => `tramline.${name}`);
  for (const { topic, ...record } of await readTopics(brokers, names)) {
    const place = `topic ${topic}`;
    const line = Buffer.from(`${record.key} ${record.headers.flat().join(' ')} ${record.value}\n`);
    remains.set(place, Buffer.concat([remains.get(place) ?? Buffer.alloc(0), line]));
  }
}

/** The raw bytes of the store: the files of the embedded one, or every row of every table of PostgreSQL as text. */
async function storeBytes(remains: Remains, postgres: PostgresServer | null): Promise<void> {
  if (postgres === null) {
    for (const file of ['tramline.db', 'tramline.db-wal', 'tramline.db-shm']) {
      const path = join(folder, file);
      if (existsSync(path)) remains.set(`store ${file}`, readFileSync(path));
    }
    return;
  }
  const database = new URL(settings.DATABASE_URL!).pathname.slice(1);
  const tables = await postgres.query(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    database,
  );
  expect(tables.length).toBeGreaterThan(5);
  for (const { name } of tables) {
    const rowsOf = await postgres.query(`SELECT t::text AS row FROM ${name} t`, database);
    remains.set(`store ${name}`, Buffer.from(rowsOf.map(({ row }) => row).join('\n')));
  }
}

/** What stands behind the service instead of what it brings with it. */
type Neighbours = { postgres: PostgresServer; kafka: KafkaCluster };

const login = { username: 'tramline', password: planted('kafka-password') };
const { topics } = JSON.parse(readFileSync(join(repositoryRoot(), 'deploy/topics.json'), 'utf8')) as {
  topics: TopicDeclaration[];
};

/** The settings of a Kafka that takes records from whoever has the planted password, and from nobody else. */
async function throughLogin({ loginBrokers }: KafkaCluster): Promise<Record<string, string>> {
  const sasl = { mechanism: 'plain' as const, ...login, password: new Secret(login.password) };
  const door = { brokers: loginBrokers, clientId: 'r3', tls: null, sasl };
  const options = { ...kafkaTargetDefaults, clock: systemClock };
  const wrong = { ...door, sasl: { ...sasl, password: new Secret('another') } };
  await expect(createTopics(wrong, 'tramline', topics, options)).rejects.toMatchObject({
    code: 'publish.refused',
  });
  await createTopics(door, 'tramline', topics, options);
  return { KAFKA_BROKERS: loginBrokers.join(',') };
}

async function liveAndSearch(auth: string, neighbours: Neighbours | null): Promise<void> {
  simulator = await startSimulator({
    auth,
    organizations: 2,
    equipment: 8,
    'field-operations': 2,
    users: 2,
    'heartbeat-ms': 0,
  });
  tokens = JSON.parse(simulator.environment.PROVIDER_TOKENS!) as Token[];
  const port = String(await freePort());
  settings = {
    ...settingsFor(),
    PORT: port,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    ...(neighbours === null
      ? { DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}` }
      : {
          DATABASE_URL: neighbours.postgres.url(await neighbours.postgres.createDatabase()),
          ...(await throughLogin(neighbours.kafka)),
        }),
  };
  const unplanted = rows.filter(([name, row]) => row.secret && !settings[name]).map(([name]) => name);
  expect(unplanted).toEqual([]);
  const secrets = secretsOf();
  secrets.set('a token of a stranger', planted('strangers-token'));
  secrets.set('a password in an address', planted('user-info'));
  service = await startService({ dataFolder: folder, environment: settings });
  const { equipment } = await simulator.state();
  const [first, ...others] = equipment.slice(0, 8);
  const remains: Remains = new Map();
  await until(async () => (await askJson<unknown[]>('/api/organizations')).length === 2, soon);

  expect((await post([announcement(first!)])).status).toBe(204);
  await until(async () => (await askJson<unknown[]>('/api/events')).length > 0, soon);
  remains.set('answers to senders', Buffer.from(await sendAllSorts(first!)));
  await refuseInEveryWay(others, equipment[8]!);
  const challenge = await consent(secrets);
  expect(challenge === null).toBe(auth === 'oauth1');
  await everyAnswer(remains);
  await until(() => collector.spans().some(({ failed }) => failed), soon);
  remains.set('spans', Buffer.concat(collector.requests.map(({ body }) => body)));
  for (const path of ['/api/v2/alerts', '/pagerduty', `/slack/${planted('slack')}`]) {
    expect(pages.map((page) => page.path)).toContain(path);
  }
  remains.set('pages', Buffer.from(toldToSinks()));
  await until(() => service.records().some(({ line }) => line === 'attempt'), soon);
  await service.kill();
  remains.set('standard output', Buffer.from(service.lines().join('\n')));
  await storeBytes(remains, neighbours?.postgres ?? null);
  if (neighbours !== null) await topicBytes(remains, neighbours.kafka);
  everyCommand(remains);

  // The search is awake: what is no secret is found where it must be.
  const known = new Map([['an address', first!.uri]]);
  const places = found(remains, known).map((hit) => hit.split(':')[0]);
  expect(places).toEqual(expect.arrayContaining(['standard output', 'spans', 'events --json']));
  const kinds = neighbours === null ? ['store'] : ['store', 'topic'];
  expect(kinds.filter((kind) => places.some((place) => place?.startsWith(`${kind} `)))).toEqual(kinds);
  expect(found(remains, secrets)).toEqual([]);
  if (challenge === null) return;
  const verifier = 'v'.repeat(43);
  expect(holdsVerifier(Buffer.from(`\u0000before${verifier}"`), challengeOf(verifier))).toBe(true);
  expect([...remains].filter(([, bytes]) => holdsVerifier(bytes, challenge)).map(([where]) => where)).toEqual(
    [],
  );
}

test.each(['oauth2', 'oauth1'])(
  'R3: with %s, no secret is in anything that the service leaves behind',
  (auth) => liveAndSearch(auth, null),
  lifeMsMax,
);

const available = kafkaAvailable().available ? postgresAvailable() : kafkaAvailable();

describeWithNeighbour('PostgreSQL and Kafka', available, 'R3: with PostgreSQL and Kafka', () => {
  let postgres: PostgresServer;
  let kafka: KafkaCluster;
  beforeAll(async () => {
    [postgres, kafka] = await Promise.all([startPostgres(), startKafka({ login })]);
  }, 120_000);
  afterAll(() => Promise.all([postgres?.stop(), kafka?.stop()]));

  test(
    'no secret is in any row or record, nor in anything else that is left behind',
    () => liveAndSearch('oauth2', { postgres, kafka }),
    lifeMsMax,
  );
});
