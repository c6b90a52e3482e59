/**
 * The provider at its worst, through the whole service: down, limiting, silent, cut short, too large, no JSON, another
 * shape. Nothing half-read is published, nothing is lost, what is one resource's own trouble stays with it, and what is
 * the provider's ages nobody. Rows F-1 to F-7.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import type { AlertView } from '../../src/model/api';
import { expectExitsToAgree } from '../support/five-exits';
import { makeMovedClock } from '../support/moved-clock';
import { delayMsOf } from '../support/own-delay';
import type { SimulatorFault } from '../support/simulator';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

/** As the simulator's control takes it. */
type Fault = Partial<SimulatorFault> & { bodyBase64?: string };

let story: Story;

/** The fault at each machine, in order; the same one at all when only one is given. */
function strike(machines: Resource[], faults: Fault[], times?: number): Promise<unknown> {
  const struck = machines.map(({ id }, at) => ({
    match: { path: `/equipment/${id}` },
    ...(times === undefined ? {} : { times }),
    ...(faults[at] ?? faults[0]!),
  }));
  return story.simulator.setFaults(struck as SimulatorFault[]);
}

const announce = (machines: Resource[]) => story.post(machines.map((machine) => notificationOf(machine)));

function untilAlert(name: string, state: 'firing' | 'resolved'): Promise<AlertView> {
  const find = async () => (await story.alerts()).find((alert) => alert.name === name);
  return until(
    async () => {
      const alert = await find();
      return alert?.state === state ? alert : undefined;
    },
    { ...soon, what: `${name} ${state}` },
  );
}

/** The codes under which attempts at this resource were put off, as the log tells it. */
function codesOf({ uri }: Resource): unknown[] {
  const attempts = story.log('attempt').filter(({ address }) => address === uri);
  return attempts.filter(({ outcome }) => outcome === 'postponed').map(({ code }) => code);
}

/** What waits, and what was taken just as the service stopped and was given back: it waits no less. */
const waits = `state IN ('postponed', 'due')`;

/** Everything that waits in the store of a stopped service failed a day ago and is due. */
function letADayPass(): void {
  const database = new DatabaseSync(join(story.dataFolder, 'tramline.db'));
  database.exec(`UPDATE tasks SET failed_at = failed_at - 86400000, due_at = 2 WHERE ${waits}`);
  database.close();
}

/** What waits in the store of a stopped service has failed by itself for a day; one that will succeed is first. */
function letADayOfFailuresPass(first: Resource): void {
  const database = new DatabaseSync(join(story.dataFolder, 'tramline.db'));
  database.exec(`UPDATE tasks SET aged_ms = 86400000, due_at = 2 WHERE ${waits}`);
  database.prepare(`UPDATE tasks SET state = 'due', due_at = 1 WHERE resource_id = ?`).run(first.id);
  database.close();
}

describe('F-1: answers of 5xx', () => {
  afterEach(() => story.end());

  test('a few of them, then an answer: postponed each time, then published, and nobody is told', async () => {
    story = await beginStory({ delivers: false });
    const [first, second, fine] = await story.equipment();
    const page = { headers: { 'content-type': 'text/html' }, body: '<html>' };
    const once = ({ id }: Resource, status: number) => ({
      match: { path: `/equipment/${id}` },
      times: 1,
      status,
      ...page,
    });
    await story.simulator.setFaults([
      ...[500, 502].map((status) => once(first!, status)),
      ...[503, 504].map((status) => once(second!, status)),
    ]);
    expect(await announce([first!, second!, fine!])).toMatchObject({ status: 204 });
    for (const machine of [fine!, first!, second!]) await story.untilEvents(machine, 1);
    expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, quarantined: 0, lost: 0 });
    await until(() => codesOf(first!).length + codesOf(second!).length === 4, soon);
    expect(codesOf(first!)).toEqual(['status-500', 'status-502']);
    expect(codesOf(second!)).toEqual(['status-503', 'status-504']);
    expect(await story.alerts()).toEqual([]);
  });

  test('an item that alone fails for a day is set aside; the next hint tries it once more', async () => {
    story = await beginStory({ delivers: false });
    const [struck, fine] = await story.equipment();
    await strike([struck!], [{ status: 500 }]);
    await announce([struck!, fine!]);
    await until(async () => (await story.tasks('postponed')).length === 1, soon);
    await story.untilEvents(fine!, 1);

    await story.service.stop();
    letADayOfFailuresPass(fine!);
    await story.serve({ settings: { PROVIDER_CONCURRENCY: '1' } });
    expect(await story.untilRest()).toMatchObject({ published: 1, quarantined: 1, lost: 0 });
    const [entry] = await story.quarantine();
    expect(entry).toMatchObject({ reason: 'never-readable', address: struck!.uri });
    expect(entry!.detail).toMatch(/^status-500: /);
    const page = await untilAlert('TramlineQuarantineNotEmpty', 'firing');
    expect(page.labels).toMatchObject({ group: 'document' });

    await story.simulator.setFaults([]);
    await announce([struck!]);
    await story.untilEvents(struck!, 1);
    await untilAlert('TramlineQuarantineNotEmpty', 'resolved');
    expect(await story.untilRest()).toMatchObject({ quarantined: 0, waiting: 0, lost: 0 });
  });
});

describe('F-1: answers of 5xx, of one organization and of all', () => {
  let ofOne: Resource[];
  let ofOther: Resource[];

  beforeAll(async () => {
    story = await beginStory({ delivers: false, flags: { organizations: 2, equipment: 72 } });
    [ofOne, ofOther] = [await story.equipment(0), await story.equipment(1)];
  });
  afterAll(() => story.end());

  test('thirty machines of one organization that fail hold no read of anybody else, and page nobody', async () => {
    const failing = ofOne.splice(0, 30);
    const fine = [...ofOther.splice(0, 4), ...ofOne.splice(0, 1)];
    await strike(failing, [{ status: 500 }]);
    await announce(failing);
    await until(() => failing.every((machine) => codesOf(machine).length > 0), soon);
    for (const machine of fine) {
      await announce([machine]);
      await story.untilEvents(machine, 1);
    }
    // Also of its own organization what has not failed is read: each at the first attempt.
    expect(fine.flatMap(codesOf)).toEqual([]);
    const { published, waiting, quarantined } = await story.ledger();
    expect({ published, waiting, quarantined }).toEqual({ published: 5, waiting: 30, quarantined: 0 });
    expect([await story.alerts(), story.log('alert')]).toEqual([[], []]);

    await story.simulator.setFaults([]);
    const [last] = ofOne.splice(0, 1);
    await announce([last!]);
    expect(await story.untilRest()).toMatchObject({ published: 36, quarantined: 0, lost: 0 });
    await expectExitsToAgree(story);
  });

  test('what waits for a provider that fails everybody ages nobody: one alert, and all is published', async () => {
    const machines = [...ofOne.splice(0, 2), ...ofOther.splice(0, 2)];
    const { published } = await story.ledger();
    const refusal = { status: 405, body: { errors: [{ message: 'Under maintenance' }] } };
    await story.simulator.setFaults([
      { match: { path: `/equipment/${machines[0]!.id}` }, ...refusal },
      { match: {}, status: 503 },
    ]);
    await announce(machines);
    await until(async () => (await story.tasks('postponed')).length === machines.length, soon);

    await story.service.stop();
    letADayPass();
    await story.serve();
    const codes = ['status-405', 'status-503'];
    const failures = () => story.log('attempt').filter(({ code }) => codes.includes(String(code)));
    await until(() => failures().length >= 3, soon);
    await story.simulator.setFaults([{ match: {}, close: true }]);
    const downSinceMs = performance.now();
    expect(await announce(machines)).toMatchObject({ status: 204 });
    const { quarantined, waiting } = await story.ledger();
    expect({ quarantined, waiting }).toEqual({ quarantined: 0, waiting: 2 * machines.length });
    expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);
    // What heals within fifteen seconds is told to nobody.
    await until(async () => (await story.alerts()).length > 0, { withinMs: 60_000, what: 'the page' });
    const pages = (await story.alerts()).map(({ name, state }) => [name, state]);
    expect(pages).toEqual([['TramlineProviderUnavailable', 'firing']]);
    expect((await story.tasks('postponed')).every(({ code }) => code !== null)).toBe(true);

    await story.simulator.setFaults([]);
    // Asked once for each, twice where a kept connection died, and then now and then whether it is back.
    const downSeconds = Math.ceil((performance.now() - downSinceMs) / 1000);
    const unanswered = (await story.requests()).filter(({ status }) => typeof status !== 'number').length;
    expect(unanswered).toBeGreaterThan(0);
    expect(unanswered).toBeLessThanOrEqual(2 * machines.length + 4 * downSeconds);
    const isAnswered = async () => (await story.ledger()).published > published;
    await until(isAnswered, { withinMs: 60_000, what: 'the first success' });
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ quarantined: 0, waiting: 0, lost: 0 });
    expect(ledger.published).toBe(published + machines.length);
    for (const machine of machines) expect(await story.eventsOf(machine)).toHaveLength(1);
    await untilAlert('TramlineProviderUnavailable', 'resolved');
    expect(await story.metric('tramline_attempts_total', { outcome: 'postponed' })).toBeGreaterThan(0);
    expect(story.log('fault')).toEqual([]);
  }, 180_000);
});

describe('F-2: an answer of 429', () => {
  afterEach(() => story.end());

  test('pauses all reads of the client for the seconds it says, while intake and publishing go on', async () => {
    const clock = makeMovedClock();
    story = await beginStory({ delivers: false, settings: clock.environment });
    const [limited, slow, later] = await story.equipment();
    await story.simulator.setFaults([
      {
        match: { path: `/equipment/${limited!.id}` },
        times: 1,
        status: 429,
        headers: { 'retry-after': '50' },
      },
      { match: { path: `/equipment/${slow!.id}` }, times: 1, held: true },
    ]);
    await announce([slow!]);
    await until(async () => (await story.readsOf(slow!)).length === 1, soon);
    await announce([limited!]);
    // From here on it is kept; what is asked before the answer has come to the service, no pause can hold.
    const [paused] = await until(async () => {
      const tasks = await story.tasks('postponed');
      return tasks.length > 0 ? tasks : null;
    }, soon);
    expect(paused).toMatchObject({ address: limited!.uri, code: 'rate-limited' });
    const [refused] = await story.readsOf(limited!);
    expect(Date.parse(paused!.dueAt ?? '') - Date.parse(refused!.at)).toBeGreaterThanOrEqual(50_000);
    expect(await announce([later!])).toMatchObject({ status: 204 });

    await story.simulator.setFaults([]);
    await story.untilEvents(slow!, 1);
    expect(await announce([later!])).toMatchObject({ status: 204 });
    const before = (await story.readsOf(limited!)).length + (await story.readsOf(later!)).length;
    expect(before).toBe(1);

    clock.advance(51_000);
    await story.untilEvents(limited!, 1);
    await story.untilEvents(later!, 1);
    expect(await story.untilRest()).toMatchObject({ published: 3, quarantined: 0, lost: 0 });
    // A short pause is how a limit works.
    expect([await story.alerts(), story.log('alert')]).toEqual([[], []]);
  });

  const inNinetySeconds = () => new Date(Date.now() + 90_000).toUTCString();
  test.each<[string, () => Record<string, string>, number]>([
    ['a date', () => ({ 'retry-after': inNinetySeconds() }), 90_000],
    ['a year', () => ({ 'retry-after': '31536000' }), 3_600_000],
    ['nothing readable', () => ({ 'retry-after': 'soon' }), 30_000],
  ])(
    'with %s pauses everything for that time, an hour at most, whatever is restarted',
    async (_what, headersOf, pauseMs) => {
      story = await beginStory({ delivers: false });
      const [limited, later] = await story.equipment();
      await strike([limited!], [{ status: 429, headers: headersOf() }], 1);
      const askedAtMs = Date.now();
      await announce([limited!]);
      const [postponed] = await until(async () => {
        const tasks = await story.tasks('postponed');
        return tasks.length === 1 ? tasks : undefined;
      }, soon);
      expect(postponed).toMatchObject({ address: limited!.uri, code: 'rate-limited' });
      // The date has whole seconds, and what waits comes back within one more.
      const dueAtMs = Date.parse(postponed!.dueAt ?? '');
      const [refused] = await story.readsOf(limited!);
      expect(dueAtMs - askedAtMs).toBeGreaterThanOrEqual(pauseMs - 1000);
      expect(dueAtMs - Date.parse(refused!.at)).toBeLessThan(pauseMs + 4000);

      expect(await announce([later!])).toMatchObject({ status: 204 });
      await until(async () => (await story.tasks()).length === 2, soon);
      expect(await story.tasks('due')).toMatchObject([{ address: later!.uri }]);
      const requests = (await story.requests()).length;
      await story.service.stop();
      await story.serve();
      if (pauseMs > 60_000) {
        const page = await untilAlert('TramlineRateLimited', 'firing');
        expect(page.annotations.description).toMatch(
          /The provider asked for a pause until \S+Z\. It has been so/,
        );
      } else expect([await story.alerts(), story.log('alert')]).toEqual([[], []]);
      expect(await story.tasks('due')).toMatchObject([{ address: later!.uri }]);

      // Nor is anything asked for people or for a sync: they are told until when.
      const listed = await fetch(`${story.service.operationsUrl}/api/equipment/${later!.id}`);
      expect([listed.status, await listed.json()]).toEqual([
        503,
        expect.objectContaining({
          code: 'operations.provider-unavailable',
          detail: expect.stringMatching(/fewer calls: nothing is asked of it before 20\d\d-/),
        }),
      ]);
      await story.ask('/api/sync', 'POST');
      const sync = await until(async () => {
        const view = await story.ask<{ waitsUntil: string | null }>('/api/sync');
        return view.waitsUntil === null ? undefined : view;
      }, soon);
      expect(Date.parse(sync.waitsUntil!) - askedAtMs).toBeGreaterThanOrEqual(pauseMs - 1000);
      expect(await story.requests()).toHaveLength(requests);
    },
  );
});

describe('an answer that is no document', () => {
  const bodyBytesMax = 65_536;
  let machines: Resource[];

  beforeAll(async () => {
    story = await beginStory({
      delivers: false,
      flags: { organizations: 1, equipment: 26 },
      settings: { PROVIDER_BODY_BYTES_MAX: String(bodyBytesMax) },
    });
    machines = await story.equipment();
  });
  afterAll(() => story.end());

  /**
   * Strikes as many fresh machines as there are faults, once each, and announces them with one that is fine. Each is put
   * off under its code and then published as the provider has it; nothing else comes of it.
   */
  async function putOffThenPublished(faults: [fault: Fault, code: string][]): Promise<Resource[]> {
    const struck = machines.splice(0, faults.length);
    const fine = machines.shift()!;
    const already = (await story.events()).length;
    await strike(
      struck,
      faults.map(([fault]) => fault),
      1,
    );
    expect(await announce([...struck, fine])).toMatchObject({ status: 204 });
    for (const machine of [...struck, fine]) await story.untilEvents(machine, 1);
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ quarantined: 0, waiting: 0, lost: 0 });
    expect(await story.events()).toHaveLength(already + faults.length + 1);
    await until(() => struck.every((machine) => codesOf(machine).length > 0), soon);
    expect(struck.map((machine) => codesOf(machine)[0])).toEqual(faults.map(([, code]) => code));
    for (const { id, content } of struck) {
      const [event] = (await story.events()).filter(({ subject }) => subject.endsWith(`/${id}`));
      expect(event!.data).toMatchObject({ name: content.name, serialNumber: content.serialNumber });
    }
    return struck;
  }

  /** All of it woke nobody about schemas, and nothing failed inside. */
  async function expectNobodyWoken(): Promise<void> {
    expect(await story.metric('tramline_quarantined_total')).toBe(0);
    const alerts = (await story.alerts()).filter(({ name }) => name !== 'TramlineProviderUnavailable');
    expect(alerts).toEqual([]);
    expect(story.log('fault')).toEqual([]);
  }

  test('F-4: a body that was cut is never taken for the document', async () => {
    const packed = gzipSync(JSON.stringify(machines[3]!.content));
    const cutInside = packed.subarray(0, packed.length - 8).toString('base64');
    await putOffThenPublished([
      [{ headers: { 'content-length': '20000' }, truncateAt: 300 }, 'body-cut'],
      [{ truncateAt: 300 }, 'body-cut'],
      [{ truncateAt: 300, close: true }, 'invalid-json'],
      [{ bodyBase64: cutInside, headers: { 'content-encoding': 'gzip' } }, 'body-cut'],
    ]);
  });

  test('F-4: an operation without the measurements that were asked for is put off, and never published so', async () => {
    const { fieldOperations } = await story.simulator.state();
    const [operation, ...others] = fieldOperations.filter(
      ({ content }) => (content.measurementTypes as unknown[]).length > 0,
    );
    const { measurementTypes, ...rest } = operation!.content;
    const half = { '@type': 'FieldOperation', ...rest, links: [] };
    const match = { path: `/fieldOperations/${operation!.id}` };
    await story.simulator.setFaults([{ match, times: 1, status: 200, body: half }] as SimulatorFault[]);
    await story.post(
      others.concat(operation!).map((one) => notificationOf(one, { eventTypeId: 'fieldOperation' })),
    );
    await until(() => codesOf(operation!).length > 0, soon);
    expect(codesOf(operation!)).toEqual(['embed-unanswered']);
    await story.untilRest();
    const events = await story.eventsOf(operation!, 'field-operation');
    const counts = events.map(({ data }) => (data as { measurements?: unknown[] }).measurements?.length);
    expect(counts).toEqual([(measurementTypes as unknown[]).length]);
  });

  test('F-5: a body beyond its bounds is stopped, however it is packed, and memory stays flat', async () => {
    const rssBefore = residentBytes(story.service.pid);
    const packed = gzipSync(Buffer.alloc(20_000_000, 0x20));
    await putOffThenPublished([
      [{ body: ' '.repeat(5_000_000) }, 'body-too-large'],
      [{ headers: { 'content-length': '1000000000' } }, 'body-too-large'],
      [{ bodyBase64: packed.toString('base64'), headers: { 'content-encoding': 'gzip' } }, 'body-too-large'],
      [
        { bodyBase64: gzipSync(packed).toString('base64'), headers: { 'content-encoding': 'gzip, gzip' } },
        'encoding-refused',
      ],
    ]);
    expect(residentBytes(story.service.pid) - rssBefore).toBeLessThan(48 * 1024 * 1024);
  });

  test('F-6: a page, another media type, nothing at all and 204 are the provider’s trouble, not the schema’s', async () => {
    const html = { 'content-type': 'text/html; charset=utf-8' };
    await putOffThenPublished([
      [{ status: 200, headers: html, body: '<!doctype html><title>Sign in</title>' }, 'html-answer'],
      [{ headers: { 'content-type': 'text/plain' } }, 'unexpected-media-type'],
      [{ status: 200, body: '' }, 'empty-answer'],
      [{ status: 204 }, 'empty-answer'],
      [{ status: 200, body: 'Service temporarily unavailable' }, 'invalid-json'],
      [{ status: 200, body: { status: 'maintenance' } }, 'not-a-resource'],
      [{ status: 200, body: 'null' }, 'not-a-resource'],
      [{ status: 400, headers: html, body: '<html>nginx</html>' }, 'status-400'],
    ]);
  });

  test('F-3: no headers, and a body that drips, end at one deadline and are tried again', async () => {
    // A deadline that only this is to meet: whatever else is answered late on a busy machine is no fault.
    await expectNobodyWoken();
    await story.service.stop();
    await story.serve({ settings: { PROVIDER_TIMEOUT_MS: '500' } });
    const { pid } = story.service;
    const delayed = delayMsOf(pid);
    const struck = await putOffThenPublished([
      [{ delayMs: 4000 }, 'deadline'],
      [{ drip: 100 }, 'deadline'],
      [{ drip: 1 }, 'deadline'],
    ]);
    const delayMs = delayMsOf(pid) - delayed;
    for (const { uri } of struck) {
      const [first] = story.log('attempt').filter(({ address }) => address === uri);
      expect(first!.tookMs).toBeGreaterThanOrEqual(490);
      expect(Number(first!.tookMs) - delayMs).toBeLessThan(2000);
    }
    await expectNobodyWoken();
  });
});

test('F-7: a document of another shape is set aside with the path of what cannot be trusted, others go on', async () => {
  story = await beginStory({ delivers: false, flags: { organizations: 1, equipment: 6 } });
  const machines = await story.equipment();
  const changes: [change: Record<string, unknown>, path: string, code: string][] = [
    [{ id: undefined }, '/id', 'required'],
    [{ organization: undefined }, '/organization', 'required'],
    [{ archived: 'no' }, '/archived', 'wrong-type'],
    [{ '@type': 'Tractor' }, '/@type', 'unknown-type'],
    [{ devices: 'none' }, '/devices', 'wrong-type'],
  ];
  const struck = machines.slice(0, changes.length);
  await strike(
    struck,
    changes.map(([change], at) => ({ body: { ...struck[at]!.content, ...change } })),
  );
  await announce(machines);
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ published: 1, quarantined: changes.length, waiting: 0, lost: 0 });
  const entries = new Map((await story.quarantine()).map((entry) => [entry.address, entry]));
  for (const [at, [, path, code]] of changes.entries()) {
    expect(entries.get(struck[at]!.uri)).toMatchObject({
      what: 'task',
      reason: 'malformed-document',
      path,
      detail: expect.stringMatching(new RegExp(`^${code}: `)),
      // What came is kept beside the reason.
      raw: expect.stringMatching(/^\{.+\}$/),
    });
  }
  expect(await story.metric('tramline_quarantined_total', { reason: 'malformed-document' })).toBe(
    changes.length,
  );
  // A page that was told of the first of them follows what is there.
  const counts = async () =>
    (await untilAlert('TramlineQuarantineNotEmpty', 'firing')).annotations.description?.includes(
      `${changes.length} malformed-document`,
    );
  await until(counts, { ...soon, what: 'the page to count all of them' });

  // The provider mends its schema: released, each is read afresh.
  await story.simulator.setFaults([]);
  for (const { id } of entries.values()) await story.ask(`/api/quarantine/${id}/release`, 'POST');
  const mended = await story.untilRest();
  expect(mended).toMatchObject({ published: machines.length, quarantined: 0, lost: 0 });
  await untilAlert('TramlineQuarantineNotEmpty', 'resolved');
  await story.end();
});

/** What the process has in memory now, as the system counts it. */
function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) * 1024;
}
