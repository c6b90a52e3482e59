/**
 * A 429 is the client key's: whoever hears it, nothing more is sent for anybody before it is over, and the pause is told to
 * whoever keeps it. Played through the whole client, on a provider that answers only what it is told to expect.
 */
import nock from 'nock';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { DueProbe } from '../../../src/model/organization';
import type { ListingRequest } from '../../../src/model/sync';
import { clientPauseOf } from '../../../src/wire/heed-pause';
import {
  connectionOf,
  equipmentOrigin,
  origin,
  requestFor,
  type Staged,
  stageClient,
  startMs,
  stillClock,
} from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const operationUrl = `${origin}/platform/fieldOperations/op-1`;
const links = [
  { rel: 'organizations', uri: `${origin}/platform/organizations` },
  { rel: 'eventSubscriptions', uri: `${origin}/platform/eventSubscriptions` },
];
const limited = { kind: 'rate-limited', retryAfterMs: 120_000, untilMs: startMs + 120_000 };

let staged: Staged;
let told: number[];
let clock: ReturnType<typeof stillClock>;

function stage(): void {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  told = [];
  clock = stillClock();
  const health = makeProviderHealth(
    () => 0,
    (forMs) => told.push(forMs),
  );
  const pause = clientPauseOf(() => health, clock);
  staged = stageClient({}, [connectionOf()], { clock, pause });
}

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());
beforeEach(stage);
afterEach(() => {
  staged.client.close();
  nock.cleanAll();
  nock.enableNetConnect();
});

/** The one request that is answered: all others would find nobody. */
const answerOnce = (path: string, status: number, body: object = {}, headers: Record<string, string> = {}) =>
  nock(origin)
    .get(path)
    .query(true)
    .reply(status, body, { ...axiom, ...headers });

async function all<Line>(lines: AsyncIterable<Line>): Promise<Line[]> {
  const found: Line[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

const listed = { connectionId: 'c1', from: null, changeToken: null, unpaged: false } as const;
const probe = { organizationId: '4711', refusedAddress: operationUrl } as DueProbe;
const asks: [string, () => Promise<unknown>][] = [
  ['a read', () => staged.client.read(requestFor(operationUrl))],
  ['a probe', () => staged.client.probe(probe)],
  ['a list of organizations', () => all(staged.client.organizations('c1'))],
  ['an organization', () => staged.client.readOrganization('4711', 'c1')],
  [
    'a listing of equipment',
    () => {
      const of = { what: 'equipment', organizationId: '4711' } as const;
      return all(staged.client.listing({ ...listed, of } satisfies ListingRequest));
    },
  ],
  [
    'a listing of operations',
    () => {
      const of = {
        what: 'field-operations',
        address: `${origin}/platform/fields/1/fieldOperations`,
      } as const;
      return all(staged.client.listing({ ...listed, of } satisfies ListingRequest));
    },
  ],
  ['a list for a person', () => all(staged.client.data.files('4711'))],
  ['a record for a person', () => staged.client.data.equipmentRecord('7', '4711')],
  ['a list of subscriptions', () => all(staged.client.subscriptions.list('c1'))],
  ['a write', () => staged.client.subscriptions.create('c1', {})],
];

/** The answer that is somewhere in what an ask came to. */
function answerIn(found: unknown): unknown {
  if (typeof found !== 'object' || found === null) return null;
  if ('kind' in found && found.kind === 'rate-limited') return found;
  for (const inner of Object.values(found)) {
    const answer = answerIn(inner);
    if (answer !== null) return answer;
  }
  return null;
}

describe.each(asks)('after the 429 of a read %s', (_what, ask) => {
  test('is not sent before the end of the pause, and is told until when', async () => {
    answerOnce('/platform/', 200, { links });
    answerOnce('/platform/fieldOperations/op-1', 429, {}, { 'retry-after': '120' });
    const { answer } = await staged.client.read(requestFor(operationUrl));
    expect([answer, told]).toEqual([limited, [120_000]]);
    expect(staged.calls).toHaveLength(2);

    expect(answerIn(await ask())).toEqual(limited);
    clock.set(startMs + 119_999);
    expect(answerIn(await ask())).toMatchObject({ retryAfterMs: 1, untilMs: startMs + 120_000 });
    expect(staged.calls).toHaveLength(2);
    // What is only held asks for nothing.
    expect(told).toEqual([120_000]);

    clock.set(startMs + 120_000);
    expect(answerIn(await ask())).toBeNull();
    expect(staged.calls.length).toBeGreaterThan(2);
  });
});

test('the 429 of a list that a person asks for holds the reads', async () => {
  answerOnce('/platform/', 200, { links });
  nock(equipmentOrigin).get(/.*/).query(true).reply(429, {}, { 'retry-after': '120' });
  const filter = { organizationIds: ['4711'], ids: [], serialNumbers: [], category: null, archived: null };
  const faults = await all(staged.client.data.equipment(filter));
  expect(faults).toMatchObject([{ fault: { answer: limited } }]);
  expect(told).toEqual([120_000]);
  const { length } = staged.calls;
  const { answer, cost } = await staged.client.read(requestFor(operationUrl));
  expect([answer, cost.calls]).toEqual([limited, 0]);
  expect(staged.calls).toHaveLength(length);
});
