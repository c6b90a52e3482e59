/**
 * The power goes: of what the service wrote only that is left which was on disk, and of the rest any part. From a trace of
 * its system calls the files are rebuilt as a cut at many moments would have left them: each delivery that was answered
 * 204 before is in the journal, each event that anybody read of the embedded log is in the outbox under the same id, and a
 * service that is started on such files goes on. A kill -9 is no such test: the system keeps what a dead process wrote.
 * Not shown here: that rows are handed to Kafka only once they are on disk, so that what stands on a topic keeps its bytes;
 * of that test/unit/store/flush.test.ts holds the store's calls, and the model of the stores, torn at any of them, compares
 * every byte that was seen (test/contract/store-model-suite.ts).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeRandom } from '../prove/random';
import { Disk, readTrace, type TraceEvent, traceAvailable, tracedWords } from '../support/disk-trace';
import { describeWithNeighbour } from '../support/neighbour';
import { type Service, startService, temporaryFolder } from '../support/service';
import { type Simulator, type SimulatorState, startSimulator } from '../support/simulator';
import { until } from '../support/until';

const senders = 6;
const rounds = 12;
const soon = { withinMs: 60_000 };

describeWithNeighbour('strace', traceAvailable(), 'a power cut', () => {
  let simulator: Simulator;
  let state: SimulatorState;
  let events: TraceEvent[];
  let file: string;
  /** Which address each sender sent in which order, by its port. */
  const sentBy = new Map<number, string[]>();

  beforeAll(async () => {
    simulator = await startSimulator({ organizations: 2, equipment: 80, 'heartbeat-ms': 0 });
    state = await simulator.state();
    const folder = temporaryFolder();
    const trace = join(folder, 'trace');
    const service = await start(folder, tracedWords(trace));
    await Promise.all(Array.from({ length: senders }, (_, sender) => sendAll(service, sender)));
    await until(async () => {
      const seen = (await (
        await fetch(`${service.operationsUrl}/api/events?after=0&limit=1000`)
      ).json()) as [];
      return seen.length >= senders * rounds;
    }, soon);
    await service.stop();
    file = join(folder, 'tramline.db');
    events = readTrace(readFileSync(trace, 'utf8'));
  }, 120_000);

  afterAll(() => simulator.kill());

  function start(dataFolder: string, under?: string[]): Promise<Service> {
    return startService({
      dataFolder,
      readyWithinMs: 60_000,
      ...(under === undefined ? {} : { under }),
      environment: {
        ...simulator.environment,
        ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
        SETTLE_SECONDS: '0',
        READ_GAP_MS: '0',
        LOG_LEVEL: 'warn',
      },
    });
  }

  /** One connection, one delivery after the other, each of one machine that no other delivery names. */
  async function sendAll(service: Service, sender: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let round = 0; round < rounds; round += 1) {
      const { uri, organizationId } = state.equipment[round * senders + sender]!;
      const body = JSON.stringify([
        {
          clientKey: 'a',
          links: [],
          eventTypeId: 'equipment',
          targetResource: uri,
          metadata: [{ key: 'orgId', value: organizationId }],
        },
      ]);
      const { status, port } = await post(service, agent, body);
      expect(status).toBe(204);
      sentBy.set(port, [...(sentBy.get(port) ?? []), uri]);
    }
    agent.destroy();
  }

  function post(service: Service, agent: Agent, body: string): Promise<{ status: number; port: number }> {
    const headers = {
      'content-type': 'application/json',
      authorization: simulator.environment.WEBHOOK_AUTHORIZATION!,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${service.publicUrl}/webhooks`,
        { method: 'POST', agent, headers },
        (response) => {
          const port = (response.socket as Socket).localPort!;
          response.resume().once('end', () => resolve({ status: response.statusCode ?? 0, port }));
        },
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }

  type Cut = { answered: string[]; seen: string[]; left: { database: Buffer; log: Buffer | null } };

  /** The files at each moment at which something was promised to somebody, and what was promised until then. */
  function* cuts(disk: Disk, keeps?: () => boolean): Generator<Cut> {
    const answers = new Map<number, number>();
    const answered: string[] = [];
    const seen: string[] = [];
    for (const event of events) {
      disk.apply(event);
      if (event.kind !== 'send') continue;
      const text = event.bytes.toString('latin1');
      const addresses = sentBy.get(event.peerPort);
      const before = answered.length + seen.length;
      if (addresses !== undefined && text.startsWith('HTTP/1.1 204')) {
        const nth = answers.get(event.peerPort) ?? 0;
        answers.set(event.peerPort, nth + 1);
        answered.push(addresses[nth]!);
      }
      for (const [, id] of text.matchAll(/"specversion":"1\.0","id":"([^"]+)"/g)) seen.push(id!);
      if (answered.length + seen.length === before) continue;
      const database = disk.after(file, keeps) ?? Buffer.alloc(0);
      yield { answered, seen, left: { database, log: disk.after(`${file}-wal`, keeps) } };
    }
  }

  function lay({ database, log }: Cut['left']): string {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'tramline.db'), database);
    if (log !== null) writeFileSync(join(folder, 'tramline.db-wal'), log);
    return folder;
  }

  /** What is missing from the files of a cut; throws when they are no database. */
  function missingFrom(cut: Cut): string[] {
    const database = new DatabaseSync(join(lay(cut.left), 'tramline.db'));
    try {
      expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      const journal = new Set(
        database
          .prepare('SELECT address FROM tasks')
          .all()
          .map(({ address }) => String(address)),
      );
      const outbox = new Set(
        database
          .prepare('SELECT event_id FROM outbox')
          .all()
          .map(({ event_id }) => String(event_id)),
      );
      return [
        ...cut.answered.filter((address) => !journal.has(address)),
        ...cut.seen.filter((id) => !outbox.has(id)),
      ];
    } finally {
      database.close();
    }
  }

  test('D: at any moment leaves every delivery that was answered and every event that was seen', () => {
    let checked = 0;
    for (const cut of cuts(new Disk())) {
      expect(missingFrom(cut)).toEqual([]);
      checked += 1;
    }
    expect(checked).toBeGreaterThan(senders * rounds);
  }, 120_000);

  test('that leaves any part of what was not yet on disk leaves them as well', () => {
    const random = makeRandom(4711);
    let checked = 0;
    for (const cut of cuts(new Disk(), () => random.chance(0.5))) {
      if (!random.chance(0.5)) continue;
      expect(missingFrom(cut)).toEqual([]);
      checked += 1;
    }
    expect(checked).toBeGreaterThan(20);
  }, 120_000);

  test('is one that this test would notice: on a disk that forgets its flushes deliveries are missing', () => {
    const missing = [...cuts(new Disk(false))].some((cut) => {
      try {
        return missingFrom(cut).length > 0;
      } catch {
        // Not even a database.
        return true;
      }
    });
    expect(missing).toBe(true);
  }, 120_000);

  test('in the middle is survived: a service on what is left publishes everything that was answered', async () => {
    let middle: Cut | null = null;
    for (const cut of cuts(new Disk())) {
      middle = { ...cut, answered: [...cut.answered], seen: [...cut.seen] };
      if (cut.answered.length > (senders * rounds) / 2) break;
    }
    const { answered, seen, left } = middle!;
    const service = await start(lay(left));
    const published = await until(async () => {
      const ledger = (await (await fetch(`${service.operationsUrl}/api/ledger`)).json()) as {
        waiting: number;
      };
      const events = (await (
        await fetch(`${service.operationsUrl}/api/events?after=0&limit=1000`)
      ).json()) as { id: string; data: { source: { address: string } } }[];
      return ledger.waiting === 0 && events.length >= answered.length ? events : null;
    }, soon);
    const addresses = new Set(published.map(({ data }) => data.source.address));
    expect(answered.filter((address) => !addresses.has(address))).toEqual([]);
    expect(seen.filter((id) => !published.some((event) => event.id === id))).toEqual([]);
    await service.stop();
  }, 120_000);
});
