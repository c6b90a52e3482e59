// Goal: the demonstration's last look can fail. A healthy end has no faults; each way of losing, changing, doubling or
// swapping an event has one of its own.
import { reckon } from '../../../src/demo/reckoning';
import type { Stage } from '../../../src/demo/stage';
import { makeTeller } from '../../../src/demo/tell';
import type { StructuredEvent } from '../../../src/model/api';
import { emptyLedger } from '../../../src/model/ledger';

type Records = NonNullable<Awaited<ReturnType<Stage['recordsOnTopics']>>>;

const machine = (id: string) => ({
  id,
  organizationId: '1',
  uri: `https://p/${id}`,
  content: { name: `name ${id}`, serialNumber: `serial ${id}`, archived: false },
});
const machines = [machine('a'), machine('b')];
const event = (id: string, sequence: number, name = `name ${id}`, other: object = {}) =>
  ({
    id: `${id}${sequence}`,
    subject: `1/equipment/${id}`,
    sequence: String(sequence).padStart(20, '0'),
    type: 'io.tramline.equipment.updated.v1',
    data: { id, organizationId: '1', name, serialNumber: `serial ${id}`, archived: false, ...other },
  }) as unknown as StructuredEvent;
const healthy = [event('a', 1, 'before'), event('a', 2), event('b', 1)];
const recordsOf = (events: StructuredEvent[]): Records =>
  events.map(({ id, subject, sequence }, index) => ({
    topic: 't',
    partition: 0,
    offset: String(index),
    key: subject,
    sequence: Number(sequence),
    eventId: id,
    bytesHash: '',
    deleted: false,
  }));

async function faultsOf(found: {
  events?: StructuredEvent[];
  records?: Records | null;
  firing?: number;
  published?: number;
}): Promise<string[]> {
  const { events = healthy, records = null, firing = 1, published = 3 } = found;
  const notifications = ['a', 'a', 'b'].map((id) => ({ targetResource: `https://p/${id}` }));
  const answers: Record<string, unknown> = {
    deliveries: [
      { accepted: true, notifications },
      { accepted: false, notifications: [{}] },
    ],
    state: { organizations: [], equipment: [...machines, machine('untouched')], fieldOperations: [] },
    '/api/ledger': { ...emptyLedger(), accepted: 3, published, unchanged: 3 - published },
    '/api/events?limit=1000': events,
  };
  const stage = {
    control: async <Answer>(_method: string, path: string) => answers[path] as Answer,
    ask: async <Answer>(path: string) => answers[path] as Answer,
    recordsOnTopics: async () => records,
  };
  const count = (_name: string, state: string) => (state === 'firing' ? firing : 1);
  return reckon(
    stage,
    makeTeller(() => {}, false),
    { count },
  );
}

test('a healthy end has no faults, with and without topics', async () => {
  expect(await faultsOf({})).toEqual([]);
  expect(await faultsOf({ records: recordsOf(healthy) })).toEqual([]);
});

test.each([
  ['an empty log', [], 3],
  ['a lost event that was the first of its machine', healthy.slice(0, 2), 2],
  ['a lost event that was not the newest', [event('a', 2), event('b', 1)], 2],
  ['an event that nobody announced', [...healthy, event('c', 1)], 1],
  ['an event that is there twice', [...healthy, event('b', 1)], 3],
  ['swapped events of one machine', [event('a', 2), event('a', 1, 'before'), event('b', 1)], 3],
  ['an old truth', [event('a', 1, 'before'), event('a', 2, 'else'), event('b', 1)], 1],
])('%s does not add up', async (_what, events, faults) => {
  expect(await faultsOf({ events })).toHaveLength(faults);
});

test.each([
  { id: 'b' },
  { organizationId: '2' },
  { serialNumber: 'serial b' },
  { serialNumber: null },
  { archived: true },
])('a newest event that says %j of its machine does not add up', async (other) => {
  const events = [event('a', 1, 'before'), event('a', 2, undefined, other), event('b', 1)];
  expect(await faultsOf({ events })).toEqual(['1/equipment/a is not what the provider holds']);
});

test.each([
  ['a record that is missing', recordsOf(healthy.slice(0, 2))],
  ['a record that nobody decided', recordsOf([...healthy, event('c', 1)])],
  [
    'a record with another identity',
    recordsOf(healthy).map((one, at) => (at === 1 ? { ...one, eventId: 'x' } : one)),
  ],
  ['a last record that is not the newest', recordsOf([...healthy, event('a', 1, 'before')])],
])('%s on the topics does not add up', async (_what, records) => {
  expect((await faultsOf({ records })).length).toBeGreaterThan(0);
});

test('a record that was sent again, the same, and is not the last adds up', async () => {
  const again = recordsOf([healthy[0]!, healthy[0]!, healthy[1]!, healthy[2]!]);
  expect(await faultsOf({ records: again })).toEqual([]);
});

test('a page too many, and a notification that is called published without an event, do not add up', async () => {
  expect(await faultsOf({ firing: 2 })).toEqual(['on-call got 2 firing pages']);
  expect(await faultsOf({ published: 2 })).toHaveLength(1);
});
