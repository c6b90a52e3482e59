/**
 * W20, K11, W9: far more comes than can be stored. Each delivery is answered in time, 204 or 503 with Retry-After; the
 * process neither grows without bound nor ends; and every delivery that was answered 204 is in the journal. Time is the
 * sender's, less that in which it was late itself, or the service was ready to run and others had the processors.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { delayMsOf, watchOwnDelay } from '../support/own-delay';
import { lasts, minuteMs } from '../support/real-durations';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { beginStory, notificationOf, Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

/** From the last byte of the delivery to the last of its answer; `owedMs` is what neither was kept waiting by others. */
type Answer = { status: number; retryAfter: number; tookMs: number; owedMs: number };

const connections = 300;
const floodMs = lasts(5000, 10 * minuteMs);
/** The provider waits five. */
const answerMsMax = 4000;
const residentBytesMax = 512 * 1024 * 1024;

/** Of more answers than a call takes as arguments. */
const slowestOf = (answers: Answer[], of: 'tookMs' | 'owedMs'): number =>
  answers.reduce((slowest, answer) => Math.max(slowest, answer[of]), 0);

function residentBytes(): number {
  const status = readFileSync(`/proc/${story.service.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}

const ownDelayMs = watchOwnDelay();
const delayMs = () => ownDelayMs() + delayMsOf(story.service.pid);

function post(agent: Agent, body: Buffer): Promise<Answer> {
  let sentAt = performance.now();
  let delayed = delayMs();
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    authorization: story.simulator.environment.WEBHOOK_AUTHORIZATION!,
  };
  return new Promise((resolve, reject) => {
    const address = `${story.service.publicUrl}/webhooks`;
    const outgoing = request(address, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', () => {
        const tookMs = performance.now() - sentAt;
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: Number(response.headers['retry-after'] ?? 0),
          tookMs,
          owedMs: tookMs - (delayMs() - delayed),
        });
      });
    });
    outgoing.once('error', reject);
    outgoing.once('finish', () => {
      sentAt = performance.now();
      delayed = delayMs();
    });
    outgoing.end(body);
  });
}

test(
  'W20, K11: a flood of large deliveries is answered in time, within memory, and what was accepted is journalled',
  async () => {
    story = await beginStory({ delivers: false });
    const machines = await story.equipment();
    // Nothing is read for most of these: it is acceptance above all that is flooded.
    const hints = Array.from({ length: 32 }, (_, at) => notificationOf(machines[at % machines.length]!));
    const ignored = Array.from({ length: 224 }, (_, at) => ({
      eventTypeId: 'of-no-interest',
      targetResource: `${story.simulator.catalog}${'x'.repeat(1500)}${at}`,
      metadata: [],
    }));
    const elements = [...hints, ...ignored];
    const body = Buffer.from(JSON.stringify(elements));
    const answers: Answer[] = [];
    let peakBytes = 0;
    const endAt = performance.now() + floodMs;
    const flood = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (performance.now() < endAt) {
        const answer = await post(agent, body);
        answers.push(answer);
        peakBytes = Math.max(peakBytes, residentBytes());
        // As a sender that obeys, but not for long.
        if (answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 200));
      }
      agent.destroy();
    };
    await Promise.all(Array.from({ length: connections }, flood));
    const accepted = answers.filter(({ status }) => status === 204).length;
    expect(answers.filter(({ status }) => status !== 204 && status !== 503)).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
    expect(answers.filter(({ status, retryAfter }) => status === 503 && retryAfter < 1)).toEqual([]);
    expect(slowestOf(answers, 'owedMs')).toBeLessThan(answerMsMax);
    expect(peakBytes).toBeLessThan(residentBytesMax);
    expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
    await until(async () => (await fetch(`${story.service.operationsUrl}/readyz`)).status === 200, soon);
    const ledger = await story.untilRest();
    // What was answered too late for the store to have said so was kept all the same, and nothing else was.
    const kept = ledger.accepted / elements.length;
    const late = await story.metric('tramline_deliveries_total', { outcome: 'late' });
    expect(kept - accepted).toBeGreaterThanOrEqual(0);
    expect(kept - accepted).toBeLessThanOrEqual(late);
    expect(ledger).toMatchObject({ ignored: kept * ignored.length, quarantined: 0, waiting: 0, lost: 0 });
    const slowest = (of: 'tookMs' | 'owedMs') => Math.round(slowestOf(answers, of));
    process.stdout.write(
      `flood: ${answers.length} answers, ${accepted} accepted, slowest ${slowest('tookMs')} ms (${slowest('owedMs')} owed), ${Math.round(peakBytes / 1048576)} MB\n`,
    );
  },
  115_000 + floodMs,
);

test('W20: while the store hangs, each delivery of a flood is answered 503 within four seconds, by the sender’s clock', async () => {
  const simulator = await startSimulator({ organizations: 1, equipment: 1, 'heartbeat-ms': 0 });
  story = new Story(simulator, { delivers: false }, temporaryFolder());
  const entry = 'dist/test/support/serve-with-failpoints.js';
  await story.serve({ entry, settings: { FAILPOINT: 'store hangs' } });
  const [machine] = await story.equipment();
  const body = Buffer.from(JSON.stringify([{ ...notificationOf(machine!), padding: 'x'.repeat(40_000) }]));
  // More than may be on its way at once: some wait for the store, the others find no room.
  const asked = Array.from({ length: connections }, () => post(new Agent(), body));
  expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
  const answers = await Promise.all(asked);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  expect(Math.min(...answers.map(({ retryAfter }) => retryAfter))).toBeGreaterThanOrEqual(1);
  expect(Math.max(...answers.map(({ owedMs }) => owedMs))).toBeLessThan(answerMsMax);
  for (const outcome of ['late', 'overloaded']) {
    expect(await story.metric('tramline_deliveries_total', { outcome })).toBeGreaterThan(0);
  }
}, 60_000);

test('W9: bodies of 50 MB that are too large are answered 413, and the process grows by next to nothing of them', async () => {
  story = await beginStory({ delivers: false });
  const body = Buffer.alloc(50_000_000, 0x5b);
  const before = residentBytes();
  let peakBytes = before;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes());
  }, 10);
  try {
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => post(new Agent(), body)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]));
    }
  } finally {
    clearInterval(looking);
  }
  // Three gigabytes are offered; less than one body may still be there, whatever the collector does.
  expect(peakBytes - before).toBeLessThan(body.length);
  expect((await story.ledger()).accepted).toBe(0);
  process.stdout.write(`too large: grown by ${Math.round((peakBytes - before) / 1048576)} MB\n`);
}, 60_000);
