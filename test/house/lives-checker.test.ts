/**
 * The checker of restored stores is itself checked: of honest lives it says nothing, and of each doctored one what was done to
 * it. The first life published three records of a machine and a block; the last, restored from before them, found their numbers
 * taken, numbered on above, and was told of a deletion.
 */
import type { Finding } from '../prove/check';
import { checkLives, type LivesEvidence, livesRestMsMax } from '../prove/check-lives';
import type { RestoresReport } from '../prove/prove-restores';
import { restoresTableOf } from '../prove/run';
import { evidenceFrom, type Row } from '../support/evidence';
import type { TopicRecord } from '../support/ledger-checker';

const machine = { uri: 'http://provider.test/equipment/1', key: '4711/equipment/1' };
const gone = { uri: 'http://provider.test/equipment/2', key: '4711/equipment/2' };
const topics = ['equipment', 'field-operation', 'organization-access'].map((kind) => `proof.${kind}.v1`);
const observedAt = '2026-11-24T17:15:29.227Z';
const names = { make: { name: 'M' }, type: { name: 'T' }, model: { name: 'O' } };
const facts = { serialNumber: 'S1', modelYear: '2020' };
const readyLine = '{"operations":"http://127.0.0.1:9464","role":"all"}';

function contentOf(id: number, name: string) {
  return { '@type': 'Machine', id, organization: [{ id: 4711 }], name, ...facts, ...names };
}

function headersOf(key: string, eventId: string, sequence: number, change: string): [string, string][] {
  const kind = key.split('/')[1];
  return [
    ['ce_specversion', '1.0'],
    ['ce_id', eventId],
    ['ce_source', 'http://provider.test/harrow'],
    ['ce_type', `io.tramline.${kind}.${change}.v1`],
    ['ce_subject', key],
    ['ce_time', observedAt],
    ['ce_dataschema', `https://schemas.tramline.io/event/${kind}.v1.schema.json`],
    ['ce_sequence', String(sequence).padStart(20, '0')],
    ['content-type', 'application/json'],
    ['traceparent', '00-dd9162b6929c13775321a04b0136900a-d02636ca0185d4f2-00'],
  ];
}

function rowOf(of: { key: string; id: string; sequence: number; change: string }, told: object): Row {
  const { key, id, sequence, change } = of;
  const [organizationId = '', kind, own] = key.split('/');
  const source = { address: 'http://provider.test/', mediaType: 'application/json' };
  return {
    event_id: id,
    topic: `proof.${kind}.v1`,
    key,
    sequence,
    state: 2,
    cause: `read 1/${sequence}`,
    headers: JSON.stringify(headersOf(key, id, sequence, change)),
    value: JSON.stringify({ id: own, organizationId, observedAt, source, ...told }),
  };
}

const named = (sequence: number, name: string, id = `m${sequence}`, key = machine.key): Row =>
  rowOf(
    { key, id, sequence, change: sequence === 1 ? 'created' : 'updated' },
    { category: 'machine', name, ...facts, ...names },
  );

const accessOf = (sequence: number, access: string): Row =>
  rowOf(
    {
      key: '4711/organization-access/4711',
      id: `a${sequence}`,
      sequence,
      change: access === 'active' ? 'unblocked' : 'blocked',
    },
    { access },
  );

const recordOf = (row: Row, offset: number): TopicRecord => ({
  topic: String(row.topic),
  partition: 0,
  offset: String(offset),
  key: String(row.key),
  value: String(row.value),
  headers: JSON.parse(String(row.headers)) as [string, string][],
});

/** Of a former life: nothing but their records is left. */
const former = [
  named(1, 'Original'),
  named(2, 'Older'),
  named(1, 'Other', 'g1', gone.key),
  accessOf(1, 'terms-required'),
];
const deletion = rowOf({ key: gone.key, id: 'g2', sequence: 2, change: 'deleted' }, {});

/** In the order in which they were decided. */
function rowsOfLast(): Row[] {
  const rows = [
    { ...named(2, 'Older', 'taken'), state: 4 },
    named(3, 'Newest'),
    deletion,
    accessOf(2, 'active'),
  ];
  const sentFrom = former.length - 1;
  return rows.map((row, id) => {
    const place = row.state === 2 ? { partition: 0, log_offset: String(sentFrom + id) } : {};
    return { ...row, id, ...place };
  });
}

function tablesOf(outbox: Row[]): LivesEvidence['tables'] {
  const deliveryOf = (id: number, address: string) => ({
    id,
    notifications: 1,
    acted: 0,
    ignored: 0,
    quarantined: 0,
    elements: JSON.stringify([{ line: 'hint', address }]),
  });
  const readOf = (task_id: number, event_id: string) => ({
    task_id,
    fence: 1,
    generation: 1,
    outcome: 'published',
    event_id,
  });
  return {
    outbox,
    // The first was in the backup.
    deliveries: [deliveryOf(1, machine.uri), deliveryOf(2, gone.uri)],
    tasks: [machine, gone].map(({ uri }, at) => ({
      id: at + 1,
      state: 'done',
      lane: '4711',
      due_at: null,
      address: uri,
    })),
    organizations: [{ id: '4711', access: 'active' }],
    hints: [1, 2].map((task_id) => ({ task_id, generation: 1 })),
    reads: [readOf(1, 'm3'), readOf(2, 'g2')],
  };
}

function honest(): LivesEvidence {
  const tables = tablesOf(rowsOfLast());
  const sent = tables.outbox.filter(({ state }) => state === 2);
  const records = [...former, ...sent].map(recordOf);
  const truthOf = ({ uri }: typeof machine, id: string, name: string) => {
    return { id, organizationId: '4711', uri, content: contentOf(Number(id), name) };
  };
  return {
    records,
    topics,
    tables,
    ledger: evidenceFrom(tables, 2, records),
    begin: {
      deliveries: new Set(['1']),
      notifications: 1,
      keys: new Set([machine.key]),
      acceptedByAddress: new Map([[machine.uri, 4]]),
      triedByAddress: new Map([[machine.uri, 5]]),
      accepted: 4,
      lost: null,
    },
    acceptedByAddress: new Map([
      [machine.uri, 4],
      [gone.uri, 1],
    ]),
    triedByAddress: new Map([
      [machine.uri, 5],
      [gone.uri, 1],
    ]),
    truth: {
      equipment: [truthOf(machine, '1', 'Newest'), truthOf(gone, '2', 'Other')],
      fieldOperations: [],
      organizations: [{ id: '4711', termsAccepted: true }],
    },
    marks: new Map([
      [machine.uri, ['Original', 'Older', 'Newest']],
      [gone.uri, ['Other']],
    ]),
    firstOf: new Map([machine, gone].map(({ uri }) => [uri, uri])),
    owners: new Map([machine, gone].map(({ uri }) => [uri, new Set(['4711'])])),
    removed: new Set([gone.uri]),
    states: {
      organizations: [{ id: '4711', access: 'active' }],
      history: [],
      alerts: [],
      syncs: [{ id: 1, organization_id: null, began_at: 1000, ended_at: 6000 }],
      behind: [],
    },
    behindTold: 3,
    beganAtMs: 1000,
    toldLedger: { accepted: 2, published: 2, waiting: 0 },
    openPages: [],
    expectedPages: [],
    postsOf: () => [],
    complaints: [],
    logs: [{ role: 'all', processes: [[readyLine]] }],
    others: { 0: 3, 503: 1 },
    lateAnswers: 0,
    strangersLet: 0,
    unexplained503: 0,
    restAfterMs: 10,
    residentBytes: [1],
    files: [{ role: 'all', whenReady: 30, atRest: 40 }],
  };
}

const kindsOf = (evidence: LivesEvidence) => [...new Set(checkLives(evidence).map(({ kind }) => kind))];

/** It stands there as well, behind all others. */
function add(evidence: LivesEvidence, row: Row): void {
  const record = recordOf(row, evidence.records.length);
  evidence.records.push(record);
  if (evidence.ledger.records !== evidence.records) evidence.ledger.records.push(record);
}

/** It stands there no more. */
function take(evidence: LivesEvidence, eventId: string): void {
  evidence.records = evidence.records.filter(
    ({ headers }) => !headers.some(([, value]) => value === eventId),
  );
  evidence.ledger.records = evidence.records;
}

function tellHeader({ records }: LivesEvidence, at: number, name: string, value: string): void {
  records[at]!.headers = records[at]!.headers.map(([one, said]) => [one, one === name ? value : said]);
}

test('honest lives have no finding', () => {
  expect(checkLives(honest())).toEqual([]);
});

test('that a store is behind for a moment need not be told', () => {
  const evidence = honest();
  evidence.behindTold = 0;
  Object.assign(evidence.states.syncs[0]!, { ended_at: 4999 });
  expect(checkLives(evidence)).toEqual([]);
  Object.assign(evidence.states.syncs[0]!, { ended_at: 5000 });
  expect(kindsOf(evidence)).toEqual(['page']);
});

test('a store that lost nothing that had been sent need not be behind its topics', () => {
  const evidence = honest();
  evidence.behindTold = 0;
  evidence.begin = { ...evidence.begin, lost: new Set() };
  expect(checkLives(evidence)).toEqual([]);
  evidence.begin = { ...evidence.begin, lost: new Set(['m2']) };
  expect(kindsOf(evidence)).toEqual(['page']);
});

test('what a later life says once more is told again', () => {
  const evidence = honest();
  add(evidence, named(4, 'Newest'));
  expect(checkLives(evidence)).toEqual([]);
});

test('what it was more than once may be said each time', () => {
  const evidence = honest();
  evidence.marks = new Map([...evidence.marks, [machine.uri, ['Newest', 'Original', 'Older', 'Newest']]]);
  add(evidence, named(4, 'Newest'));
  expect(checkLives(evidence)).toEqual([]);
});

test('a repeat of the same bytes is none of the violations', () => {
  const evidence = honest();
  add(evidence, named(3, 'Newest'));
  expect(checkLives(evidence)).toEqual([]);
});

test('what only the topics know, and nobody was told of, stays as it is there', () => {
  const evidence = honest();
  evidence.tables = tablesOf(rowsOfLast().filter(({ key }) => key !== gone.key));
  evidence.tables.deliveries.pop();
  evidence.tables.hints.pop();
  evidence.tables.reads.pop();
  take(evidence, 'g2');
  evidence.acceptedByAddress = evidence.begin.acceptedByAddress;
  evidence.triedByAddress = evidence.begin.triedByAddress;
  evidence.ledger = evidenceFrom(evidence.tables, 1, evidence.records);
  evidence.toldLedger = { accepted: 1, published: 1 };
  expect(checkLives(evidence)).toEqual([]);
  evidence.begin = { ...evidence.begin, keys: new Set([machine.key, gone.key]) };
  expect(kindsOf(evidence)).toEqual(['untrue']);
});

test('what a full sync has read once more tells nothing of a notification that was told before', () => {
  const evidence = honest();
  const { tables, ledger } = evidence;
  Object.assign(tables.reads[0]!, { outcome: 'unchanged', event_id: null, finality: 1 });
  tables.reads.push({ ...tables.reads[0]!, fence: 2, outcome: 'published', event_id: 'm3', finality: 2 });
  evidence.ledger = evidenceFrom(tables, 2, ledger.records);
  evidence.toldLedger = { accepted: 2, published: 1, unchanged: 1 };
  expect(checkLives(evidence)).toEqual([]);
});

test('a notification whose event was set aside waits until its resource is published anew', () => {
  const evidence = honest();
  const { tables, ledger } = evidence;
  tables.reads[0]!.event_id = 'taken';
  evidence.ledger = evidenceFrom(tables, 2, ledger.records);
  evidence.toldLedger = { accepted: 2, published: 1, merged: 1 };
  expect(checkLives(evidence)).toEqual([]);
  tables.outbox = tables.outbox.filter(({ event_id }) => event_id !== 'm3');
  evidence.ledger = evidenceFrom(tables, 2, ledger.records);
  evidence.toldLedger = { accepted: 2, published: 1, waiting: 1 };
  expect(kindsOf(evidence)).toEqual(['lost']);
});

/** The machine was another organization's before, whose topic says so, or does not. */
function move(evidence: LivesEvidence, ...told: Row[]): void {
  evidence.owners = new Map([...evidence.owners, [machine.uri, new Set(['4712', '4711'])]]);
  for (const row of told) add(evidence, row);
}

const formerKey = '4712/equipment/1';
const movedTo = (to: string) =>
  rowOf({ key: formerKey, id: 'f2', sequence: 2, change: 'deleted' }, { movedTo: to });

test('what went to another organization is deleted where it was', () => {
  const evidence = honest();
  move(evidence, named(1, 'Original', 'f1', formerKey), movedTo('4711'));
  expect(checkLives(evidence)).toEqual([]);
});

type Doctored = [string, Finding['kind'][], (evidence: LivesEvidence) => void];

const doctored: Doctored[] = [
  [
    'a number that two lives gave to different events',
    ['order', 'differs'],
    (evidence) => add(evidence, named(3, 'Newest', 'twice')),
  ],
  [
    'an id that stands there with other bytes',
    ['differs'],
    (evidence) => {
      add(evidence, named(3, 'Newest'));
      evidence.records.at(-1)!.value += ' ';
    },
  ],
  [
    'an older event that first appears behind a newer one',
    ['order', 'newest', 'untrue'],
    ({ records }) => {
      const [first] = records;
      Object.assign(first!, { offset: '99' });
    },
  ],
  ['an older event behind the newest', ['newest', 'untrue'], (evidence) => add(evidence, named(2, 'Older'))],
  [
    'what was older, under a higher number',
    ['order', 'untrue'],
    (evidence) => add(evidence, named(4, 'Older')),
  ],
  ['what it never was', ['invented'], ({ marks }) => void (marks.get(machine.uri) as string[]).shift()],
  [
    'a resource that the provider never had',
    ['invented'],
    (evidence) => add(evidence, named(1, 'Other', 'n1', '4711/equipment/3')),
  ],
  [
    'a resource of an organization that it never belonged to',
    ['invented'],
    (evidence) => add(evidence, named(1, 'Original', 'f1', formerKey)),
  ],
  [
    'an access of an organization that there is not',
    ['invented'],
    (evidence) => {
      const { key: _, ...row } = accessOf(1, 'active');
      const key = '4712/organization-access/4712';
      const headers = JSON.stringify(headersOf(key, 'b1', 1, 'unblocked'));
      const value = JSON.stringify({ id: '4712', organizationId: '4712', observedAt, access: 'active' });
      add(evidence, { ...row, key, headers, value });
    },
  ],
  [
    'a deletion of what is there',
    ['invented', 'untrue'],
    (evidence) => add(evidence, rowOf({ key: machine.key, id: 'm4', sequence: 4, change: 'deleted' }, {})),
  ],
  [
    'what was removed, told as there again',
    ['invented', 'untrue'],
    (evidence) => add(evidence, named(3, 'Other', 'g3', gone.key)),
  ],
  [
    'a move to where it never was',
    ['invented'],
    (evidence) => move(evidence, named(1, 'Original', 'f1', formerKey), movedTo('4713')),
  ],
  [
    'a former owner that still has it',
    ['untrue'],
    (evidence) => move(evidence, named(1, 'Original', 'f1', formerKey)),
  ],
  [
    'a change that the topic does not have',
    ['untrue'],
    ({ truth }) => {
      truth.equipment[0]!.content.name = 'Newer still';
    },
  ],
  [
    'a resource that no full sync published',
    ['unpublished'],
    ({ truth, owners }) => {
      const uri = 'http://provider.test/equipment/5';
      truth.equipment.push({ id: '5', organizationId: '4711', uri, content: contentOf(5, 'New') });
      (owners as Map<string, Set<string>>).set(uri, new Set(['4711']));
    },
  ],
  [
    'a removal that was told of and is not on the topic',
    ['untrue', 'missing', 'told'],
    (evidence) => take(evidence, 'g2'),
  ],
  [
    'a blocked organization whose last record says that it is not',
    ['untrue'],
    ({ truth }) => {
      truth.organizations[0]!.termsAccepted = false;
    },
  ],
  [
    'an access that the topic has as it was',
    ['untrue', 'missing', 'told'],
    (evidence) => take(evidence, 'a2'),
  ],
  [
    'a record without the headers of its document',
    ['mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_subject', gone.key),
  ],
  [
    'a record of a change that nobody knows',
    ['mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_type', 'io.tramline.equipment.renamed.v1'),
  ],
  [
    'a sequence without its zeros',
    ['order', 'newest', 'mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_sequence', '1'),
  ],
  [
    'an event of the last life that is on no topic',
    ['untrue', 'missing', 'told'],
    (evidence) => {
      take(evidence, 'm3');
    },
  ],
  [
    'an event of the last life that stands there with other bytes',
    ['differs'],
    ({ ledger }) => {
      ledger.events[1]!.value += ' ';
    },
  ],
  [
    'an event that was marked as sent where another stands',
    ['told'],
    ({ tables }) => void Object.assign(tables.outbox[1]!, { log_offset: '1' }),
  ],
  [
    'an event of the last life that was never sent',
    ['unsent'],
    ({ ledger }) => {
      ledger.events[1]!.state = 0;
    },
  ],
  [
    'an event that was set aside although its number was free',
    ['unsent'],
    ({ ledger }) => {
      ledger.events[0]!.sequence = 9;
    },
  ],
  [
    'a read of the last life whose event is nowhere',
    ['vanished'],
    ({ ledger }) => void ledger.journalledEvents.push('nowhere'),
  ],
  [
    'a notification of the last life that is not in its journal',
    ['lost', 'unjournalled'],
    (evidence) => {
      evidence.ledger.acceptedBySender = 3;
      evidence.acceptedByAddress = new Map([...evidence.acceptedByAddress, [gone.uri, 2]]);
    },
  ],
  [
    'a delivery of the last life that nobody sent',
    ['invented'],
    (evidence) => {
      evidence.triedByAddress = evidence.begin.triedByAddress;
      evidence.acceptedByAddress = new Map([...evidence.begin.acceptedByAddress, [gone.uri, 0]]);
      evidence.begin = { ...evidence.begin, keys: new Set([machine.key, gone.key]) };
    },
  ],
  [
    'a notification of the last life that waits for ever',
    ['lost'],
    ({ ledger, toldLedger }) => {
      ledger.lines = { published: 1, waiting: 1 };
      Object.assign(toldLedger!, { published: 1, waiting: 1 });
    },
  ],
  [
    'a notification of the last life that was discarded',
    ['lost'],
    ({ ledger, toldLedger }) => {
      ledger.lines = { published: 1, discarded: 1 };
      Object.assign(toldLedger!, { published: 1, discarded: 1 });
    },
  ],
  [
    'a ledger that tells more than there is',
    ['told'],
    ({ toldLedger }) => void Object.assign(toldLedger!, { merged: 1 }),
  ],
  [
    'a store of which nobody was told that it is behind',
    ['page'],
    (evidence) => {
      evidence.behindTold = 0;
    },
  ],
  ['a store that stays behind', ['unsettled'], ({ states }) => void states.behind.push({ name: 'behind' })],
  [
    'a task that is not done',
    ['unsettled'],
    ({ tables }) => void Object.assign(tables.tasks[0]!, { state: 'settling' }),
  ],
  ['a page that was never closed', ['page'], ({ openPages }) => void openPages.push('B')],
  ['a process that ended by itself', ['end'], ({ complaints }) => void complaints.push('worker ended')],
  [
    'a fault in what a process printed',
    ['fault'],
    ({ logs }) => void logs[0]!.processes[0]!.push('{"level":"error","line":"fault"}'),
  ],
  [
    'a rest that comes too late',
    ['slow'],
    (evidence) => {
      evidence.restAfterMs = livesRestMsMax + 1;
    },
  ],
  [
    'a true delivery that was answered 500',
    ['answer'],
    (evidence) => {
      evidence.others = { 500: 1 };
    },
  ],
  [
    'a stranger that was let into a life',
    ['stranger'],
    (evidence) => {
      evidence.strangersLet = 1;
    },
  ],
  [
    'a 503 that names no time',
    ['dishonest'],
    (evidence) => {
      evidence.unexplained503 = 1;
    },
  ],
];

test.each(doctored)('%s: found as such', (_what, kinds, doctor) => {
  const evidence = honest();
  doctor(evidence);
  expect(kindsOf(evidence).sort()).toEqual([...kinds].sort());
});

test('the table says what was done and what was found', () => {
  const report = { lives: { 'new stores': 2 }, broken: {}, findings: [{ kind: 'differs', text: '' }] };
  const table = restoresTableOf(report as unknown as RestoresReport);
  expect(table).toMatch(/new stores +2/);
  expect(table).toMatch(/differing duplicates +1/);
});
