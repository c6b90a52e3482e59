/**
 * The checker of the proof is itself checked: of an honest run it says nothing, and of each doctored one what was done to
 * it.
 */

import { checkProof, type Finding, type ProofEvidence } from '../prove/check';
import { moreFilesMax, residentBytesMax, restMsMax } from '../prove/check-rest';
import type { Post } from '../prove/on-call';
import type { ProofReport } from '../prove/prove';
import { makeRandom } from '../prove/random';
import { tableOf, verdictOf } from '../prove/run';
import type { Row } from '../support/evidence';
import { evidenceFrom } from '../support/evidence';
import {
  type DecidedEvent,
  type LedgerEvidence,
  repeatsIn,
  type TopicRecord,
} from '../support/ledger-checker';

const uri = 'http://provider.test/equipment/1';
const key = '4711/equipment/1';
const accessKey = '4711/organization-access/4711';
const topic = 'proof.equipment.v1';
const topics = ['equipment', 'field-operation', 'organization-access'].map((kind) => `proof.${kind}.v1`);
const observedAt = '2026-11-24T17:15:29.227Z';
const source = { address: uri, mediaType: 'application/json' };

const content = {
  '@type': 'Machine',
  id: 1,
  organization: [{ id: 4711 }],
  name: 'Newest',
  serialNumber: 'S1',
  modelYear: '2020',
  make: { name: 'M' },
  type: [{ name: 'T' }],
  model: { name: 'O' },
};

function documentWith(name: string) {
  const named = { make: { name: 'M' }, type: { name: 'T' }, model: { name: 'O' } };
  return {
    id: '1',
    organizationId: '4711',
    observedAt,
    source,
    category: 'machine',
    name,
    serialNumber: 'S1',
    modelYear: '2020',
    ...named,
  };
}

type Headers = [string, string][];

/** As real events have them, but for what tells a `change`. */
function headersOf(ofKey: string, eventId: string, sequence: number, change: string): Headers {
  const kind = ofKey.split('/')[1];
  return [
    ['ce_specversion', '1.0'],
    ['ce_id', eventId],
    ['ce_source', 'http://provider.test/harrow'],
    ['ce_type', `io.tramline.${kind}.${change}.v1`],
    ['ce_subject', ofKey],
    ['ce_time', observedAt],
    ['ce_dataschema', `https://schemas.tramline.io/event/${kind}.v1.schema.json`],
    ['ce_sequence', String(sequence).padStart(20, '0')],
    ['content-type', 'application/json'],
    ['traceparent', '00-dd9162b6929c13775321a04b0136900a-d02636ca0185d4f2-00'],
  ];
}

function rowOf(sequence: number, name: string, change = sequence === 1 ? 'created' : 'updated'): Row {
  return {
    event_id: `e${sequence}`,
    topic,
    key,
    sequence,
    state: 2,
    cause: `read 1/${sequence}`,
    headers: JSON.stringify(headersOf(key, `e${sequence}`, sequence, change)),
    value: JSON.stringify(documentWith(name)),
  };
}

function accessRowOf(sequence: number, access: string, organizationId = '4711'): Row {
  const ofKey = `${organizationId}/organization-access/${organizationId}`;
  const change = access === 'active' ? 'unblocked' : 'blocked';
  return {
    event_id: `a${sequence}`,
    topic: 'proof.organization-access.v1',
    key: ofKey,
    sequence,
    state: 2,
    cause: `access ${organizationId}/${sequence + 1}`,
    headers: JSON.stringify(headersOf(ofKey, `a${sequence}`, sequence, change)),
    value: JSON.stringify({ id: organizationId, organizationId, observedAt, source, access }),
  };
}

const recordOf = (row: Row, offset: number): TopicRecord => ({
  topic: String(row.topic),
  partition: 0,
  offset: String(offset),
  key: String(row.key),
  value: String(row.value),
  headers: JSON.parse(String(row.headers)) as Headers,
});

/** Two notifications of one machine, each published; a stranger was refused; one page is open and ought to be. */
function honest(): ProofEvidence {
  const outbox = [
    rowOf(1, 'Older'),
    rowOf(2, 'Newest'),
    accessRowOf(1, 'terms-required'),
    accessRowOf(2, 'active'),
  ];
  const deliveries = [1, 2].map((id) => ({
    id,
    notifications: 1,
    acted: 0,
    ignored: 0,
    quarantined: 0,
    elements: JSON.stringify([{ line: 'hint', address: uri }]),
  }));
  const tables = {
    outbox,
    deliveries,
    tasks: [{ id: 1, state: 'done', lane: '4711', due_at: null, address: uri }],
    organizations: [{ id: '4711', access: 'active' }],
    hints: [1, 2].map((generation) => ({ task_id: 1, generation })),
    reads: [1, 2].map((fence) => ({
      task_id: 1,
      fence,
      generation: fence,
      outcome: 'published',
      event_id: `e${fence}`,
    })),
  };
  const records = outbox.map(recordOf);
  return {
    tables,
    topics,
    ledger: evidenceFrom(tables, 2, records),
    acceptedByAddress: new Map([[uri, 2]]),
    triedByAddress: new Map([[uri, 2]]),
    others: { 0: 3, 503: 2 },
    lateAnswers: 0,
    toldLedger: { accepted: 2, published: 2, waiting: 0 },
    strangersLet: 0,
    unexplained503: 0,
    sentAgain: 0,
    announced: new Set([uri]),
    firstOf: new Map([[uri, uri]]),
    removed: new Set<string>(),
    marks: new Map([[uri, ['Original', 'Older', 'Newest']]]),
    complaints: [],
    logs: [{ role: 'all', processes: [[readyLine, alertLine]] }],
    restAfterMs: 10,
    truth: {
      equipment: [{ id: '1', organizationId: '4711', uri, content }],
      fieldOperations: [],
      organizations: [{ id: '4711', termsAccepted: true }],
    },
    states: {
      organizations: [{ id: '4711', access: 'active' }],
      history: [
        { organization_id: '4711', epoch: 2, access: 'terms-required' },
        { organization_id: '4711', epoch: 3, access: 'active' },
      ],
      alerts: [{ alert: '{"name":"B"}' }],
      syncs: [],
      behind: [],
    },
    explained: [{ address: uri, sent: ['0', '1'].map((offset) => ({ topic, partition: 0, offset })) }],
    openPages: ['A'],
    expectedPages: ['A'],
    residentBytes: [1],
    files: [{ role: 'all', whenReady: 30, atRest: 40 }],
    postsOf: (page) => [`of ${page}`],
    blocks: [
      { organizationId: '4711', fromMs: 1000, dueAtMs: 5000, isFirst: true },
      { organizationId: '4712', fromMs: 1000, dueAtMs: null, isFirst: true },
    ],
    posts: [2000, 3000, 4000].map((atMs) => termsPost(atMs, { startsAtMs: 1500, endsAtMs: 9000 })),
  };
}

const readyLine = '{"public":"http://127.0.0.1:8080","operations":"http://127.0.0.1:9464","role":"all"}';
/** What a service says that has noticed something, and nothing that is wrong with itself: not every error is a fault. */
const alertLine = '{"level":"error","name":"B","labels":{"place":"fault"},"line":"alert"}';

function termsPost(atMs: number, times: Pick<Post, 'startsAtMs' | 'endsAtMs'>): Post {
  const name = 'TramlineTermsRequired 4711';
  return { name, labels: '{"organization_id":"4711"}', atMs, ...times };
}

const kindsOf = (evidence: ProofEvidence) => [...new Set(checkProof(evidence).map(({ kind }) => kind))];

test('an honest run has no finding', () => {
  expect(checkProof(honest())).toEqual([]);
});

test('an incident that is still open is the page of an organization that is blocked again', () => {
  const evidence = honest();
  Object.assign(evidence.blocks[0]!, { fromMs: 4500, isFirst: false });
  expect(checkProof(evidence)).toEqual([]);
  evidence.posts.push(termsPost(4400, { startsAtMs: 1500, endsAtMs: 4400 }));
  expect(checkProof(evidence)).toMatchObject([{ kind: 'page' }]);
});

test('what Kafka had written and was sent again is seen as a repeat, and is none of the violations', () => {
  const evidence = honest();
  evidence.ledger.records.push({ ...evidence.ledger.records[1]!, offset: '9' });
  evidence.sentAgain = 1;
  expect(repeatsIn(evidence.ledger.records)).toBe(1);
  expect(checkProof(evidence)).toEqual([]);
});

/** The access has changed on and on until it was active, and only so many of its newest changes are kept. */
function keepTransitions(evidence: ProofEvidence, count: number): void {
  const { tables, states, ledger } = evidence;
  const epochs = Array.from({ length: count }, (_, at) => 4 + at);
  const accessIn = (epoch: number) => ((count + 3 - epoch) % 2 === 0 ? 'active' : 'terms-required');
  states.history = epochs.map((epoch) => ({ organization_id: '4711', epoch, access: accessIn(epoch) }));
  const rows = epochs.map((epoch) => accessRowOf(epoch - 1, accessIn(epoch)));
  tables.outbox.push(...rows);
  ledger.records.push(...rows.map((row, at) => recordOf(row, 4 + at)));
  evidence.ledger = evidenceFrom(tables, 2, ledger.records);
}

test('a change of an access that is older than the hundred that are kept is on record no more', () => {
  const evidence = honest();
  keepTransitions(evidence, 100);
  expect(checkProof(evidence)).toEqual([]);
});

/** Nothing is left of its facts. */
const valueOfDeleted = JSON.stringify({ id: '1', organizationId: '4711', observedAt, source });

/** Its newest event says that it is deleted. */
function tellDeleted(evidence: ProofEvidence): void {
  const { tables } = evidence;
  tables.outbox[1] = { ...rowOf(2, '', 'deleted'), value: valueOfDeleted };
  evidence.ledger = evidenceFrom(tables, 2, tables.outbox.map(recordOf));
}

/** One more event of the machine, which tells of the newest read: what was said before was removed in between. */
function tellAfterDeleted(evidence: ProofEvidence, change: string): void {
  const { tables, explained } = evidence;
  tables.outbox[0] = { ...rowOf(1, 'Older') };
  tables.outbox[1] = { ...rowOf(2, '', 'deleted'), value: valueOfDeleted };
  tables.outbox.push(rowOf(3, 'Newest', change));
  tables.reads.push({ ...tables.reads[1]!, fence: 3, event_id: 'e3' });
  evidence.ledger = evidenceFrom(tables, 2, tables.outbox.map(recordOf));
  explained[0]!.sent.push({ topic, partition: 0, offset: '4' });
}

/** The event, and the record that stands for it, say this in place of what they said. */
function tell({ ledger }: ProofEvidence, at: number, told: Partial<DecidedEvent>): void {
  Object.assign(ledger.events[at]!, told);
  const { topic: where, key: ofKey, headers, value } = ledger.events[at]!;
  Object.assign(ledger.records[at]!, { topic: where, key: ofKey, headers, value });
}

/** One header is another, or, given none, is not there. */
function tellHeader(evidence: ProofEvidence, at: number, name: string, value: string | null): void {
  const headers = evidence.ledger.events[at]!.headers.flatMap(([one, said]): Headers => {
    if (one !== name) return [[one, said]];
    return value === null ? [] : [[one, value]];
  });
  tell(evidence, at, { headers });
}

/** One header more, at the end. */
function tellMore(evidence: ProofEvidence, at: number, name: string, value: string): void {
  tell(evidence, at, { headers: [...evidence.ledger.events[at]!.headers, [name, value]] });
}

/** Some facts of the document are others. */
function tellFacts(evidence: ProofEvidence, at: number, facts: Record<string, unknown>): void {
  const document = JSON.parse(evidence.ledger.events[at]!.value) as object;
  tell(evidence, at, { value: JSON.stringify({ ...document, ...facts }) });
}

test('what was removed is deleted at last, or was never read', () => {
  const told = honest();
  tellDeleted(told);
  told.removed = new Set([uri]);
  expect(checkProof(told)).toEqual([]);
  const lines = { gone: 2 };
  const unread = {
    ...honest(),
    removed: new Set([uri]),
    explained: [],
    toldLedger: { accepted: 2, ...lines },
  };
  const { tables } = unread;
  tables.outbox = tables.outbox.filter(({ key: one }) => one === accessKey);
  tables.reads = tables.reads.map((read) => ({ ...read, outcome: 'gone', event_id: null }));
  unread.ledger = evidenceFrom(tables, 2, tables.outbox.map(recordOf));
  expect(unread.ledger.lines).toMatchObject(lines);
  expect(checkProof(unread)).toEqual([]);
});

/** One more event, as the last record of its topic. */
function decide(ledger: LedgerEvidence, row: Row): void {
  const record = recordOf(row, 9);
  const { event_id, sequence, state, cause } = row;
  const told = { eventId: String(event_id), sequence: Number(sequence), state: Number(state) };
  ledger.events.push({ ...record, ...told, cause: String(cause) });
  ledger.records.push(record);
}

type Doctored = [string, string[], (evidence: ProofEvidence) => void];

const doctored: Doctored[] = [
  ['a record that is missing', ['missing', 'unexplained'], ({ ledger }) => void ledger.records.shift()],
  ['an event that vanished', ['vanished', 'invented'], ({ ledger }) => void ledger.events.shift()],
  ['a record that nobody decided', ['invented', 'vanished'], ({ ledger }) => void ledger.events.pop()],
  [
    'a record with other bytes',
    ['differs'],
    ({ ledger }) => {
      ledger.records[0]!.value += ' ';
    },
  ],
  [
    'an older record behind the newest',
    ['newest', 'untrue'],
    ({ ledger }) => void ledger.records.push({ ...ledger.records[0]!, offset: '9' }),
  ],
  [
    'two records whose places are changed',
    ['order', 'newest', 'untrue'],
    ({ ledger }) => {
      ledger.records[0]!.offset = '1';
      ledger.records[1]!.offset = '0';
    },
  ],
  [
    'a repeat with other bytes',
    ['differs'],
    ({ ledger }) => {
      const [, newest] = ledger.records;
      ledger.records.push({ ...newest!, offset: '9', headers: [...newest!.headers, ['extra', '1']] });
    },
  ],
  [
    'a key whose newest record stands in another partition than the others',
    ['order', 'unexplained'],
    ({ ledger }) => void Object.assign(ledger.records[1]!, { partition: 1 }),
  ],
  [
    'a last record that is no document',
    ['differs', 'untrue'],
    ({ ledger }) => {
      ledger.records[1]!.value = 'null';
    },
  ],
  [
    'a last record that was cut',
    ['differs', 'untrue'],
    ({ ledger }) => {
      ledger.records[1]!.value = ledger.records[1]!.value.slice(0, 20);
    },
  ],
  [
    'a last record of an access that was cut',
    ['differs', 'untrue'],
    ({ ledger }) => {
      ledger.records[3]!.value = ledger.records[3]!.value.slice(0, 5);
    },
  ],
  [
    'a place that somebody is told of and where nothing of it stands',
    ['unexplained'],
    ({ explained }) => void explained[0]!.sent.push({ topic, partition: 0, offset: '2' }),
  ],
  [
    'a delivery in the journal that nobody sent',
    ['invented'],
    ({ tables, ledger, toldLedger }) => {
      tables.deliveries.push({ ...tables.deliveries[0]!, id: 3 });
      ledger.journalled = 3;
      ledger.lines = { published: 2, merged: 1 };
      Object.assign(toldLedger!, { accepted: 3, merged: 1 });
    },
  ],
  [
    'a topic on which what was sent again is not seen again',
    ['blind'],
    (evidence) => {
      evidence.sentAgain = 1;
    },
  ],
  [
    'a change that was published twice',
    ['order'],
    ({ ledger }) => {
      const { value } = ledger.events[1]!;
      ledger.events[0]!.value = ledger.records[0]!.value = value;
    },
  ],
  [
    'a change that was published before an earlier one',
    ['order'],
    (evidence) => {
      evidence.marks = new Map([[uri, ['Newest', 'Older']]]);
    },
  ],
  [
    'what the provider never had of a machine, though the newest comes last',
    ['invented'],
    (evidence) => {
      evidence.marks = new Map([[uri, ['Original', 'Newest']]]);
    },
  ],
  [
    'an event that is no document, though the newest comes last',
    ['invented', 'mistold'],
    ({ ledger }) => {
      ledger.events[0]!.value = ledger.records[0]!.value = 'null';
    },
  ],
  [
    'an event that is nowhere, and the read that decided it as well',
    ['vanished'],
    ({ ledger, explained }) => {
      explained[0]!.sent.shift();
      ledger.events.shift();
      ledger.records.shift();
      ledger.journalledEvents.shift();
    },
  ],
  [
    'an access that is nowhere, though it changed again',
    ['vanished'],
    ({ ledger }) => {
      ledger.events.splice(2, 1);
      ledger.records.splice(2, 1);
    },
  ],
  [
    'a machine that was published and of which nobody was notified',
    ['invented'],
    (evidence) => {
      evidence.announced = new Set();
    },
  ],
  [
    'a machine that was published and that the provider does not have',
    ['invented', 'unexplained'],
    ({ truth }) => {
      truth.equipment = [];
    },
  ],
  [
    'a notification that was set aside after it had been accepted, though a later one was published',
    ['lost', 'untraced'],
    ({ tables, ledger, toldLedger }) => {
      Object.assign(tables.reads[0]!, { outcome: 'quarantined', event_id: null });
      ledger.lines = evidenceFrom(tables, 2, []).lines;
      Object.assign(toldLedger!, { published: 1, quarantined: 1 });
    },
  ],
  [
    'a notification of a machine that is there, told as gone',
    ['lost', 'untraced'],
    ({ tables, ledger, toldLedger }) => {
      Object.assign(tables.reads[0]!, { outcome: 'gone', event_id: null });
      ledger.lines = evidenceFrom(tables, 2, []).lines;
      Object.assign(toldLedger!, { published: 1, gone: 1 });
    },
  ],
  [
    'a notification of a machine that was ignored',
    ['lost'],
    ({ tables, ledger, toldLedger }) => {
      const elements = JSON.stringify([{ line: 'ignored', address: uri }]);
      Object.assign(tables.deliveries[0]!, { ignored: 1, elements });
      tables.hints.shift();
      ledger.lines = evidenceFrom(tables, 2, []).lines;
      Object.assign(toldLedger!, { published: 1, ignored: 1 });
    },
  ],
  [
    'a notification that is told as published and whose event is nowhere',
    ['vanished', 'untraced'],
    ({ tables }) => {
      tables.reads[0]!.event_id = null;
    },
  ],
  [
    'a sequence that is told without its zeros',
    ['order'],
    (evidence) => tellHeader(evidence, 1, 'ce_sequence', '2'),
  ],
  [
    'a sequence that is not told',
    ['order'],
    (evidence) => {
      for (const at of [0, 1]) tellHeader(evidence, at, 'ce_sequence', null);
    },
  ],
  [
    'a sequence that is told as another than was decided',
    ['order'],
    (evidence) => tellHeader(evidence, 1, 'ce_sequence', '00000000000000000007'),
  ],
  [
    'an access of an organization that the provider does not have',
    ['invented'],
    ({ states, ledger }) => {
      states.history.push({ organization_id: '9999', epoch: 2, access: 'active' });
      decide(ledger, {
        ...accessRowOf(1, 'active', '9999'),
        event_id: 'g1',
        headers: JSON.stringify(headersOf('9999/organization-access/9999', 'g1', 1, 'unblocked')),
      });
    },
  ],
  [
    'a machine that traces to a change of an access',
    ['untraced'],
    ({ ledger }) => {
      ledger.events[0]!.cause = 'access 4711/2';
    },
  ],
  [
    'a change of an access that traces to a read',
    ['untraced', 'vanished'],
    ({ ledger }) => {
      ledger.events[2]!.cause = 'read 1/1';
    },
  ],
  [
    'an event that traces to a read which decided another',
    ['untraced'],
    ({ ledger }) => {
      ledger.events[0]!.cause = 'read 1/2';
    },
  ],
  [
    'a change of an access that was never told, though the next one was',
    ['vanished'],
    ({ states }) => {
      states.history.push({ organization_id: '4711', epoch: 4, access: 'terms-required' });
      states.history.push({ organization_id: '4711', epoch: 5, access: 'active' });
    },
  ],
  [
    'a change of an access that is told as another',
    ['untrue'],
    ({ states }) => {
      states.history[0]!.access = 'reauthorize';
    },
  ],
  [
    'a change of an access that is told twice',
    ['invented'],
    ({ ledger }) => decide(ledger, { ...accessRowOf(3, 'active'), cause: 'access 4711/3' }),
  ],
  ...(['discarded', 'acted', 'ignored', 'of tomorrow'] as const).map(
    (line): Doctored => [
      `a notification of a machine that ended as ${line}, though a later one was published`,
      ['lost', 'untraced'],
      ({ tables, ledger, toldLedger }) => {
        Object.assign(tables.reads[0]!, { outcome: line, event_id: null });
        ledger.lines = evidenceFrom(tables, 2, []).lines;
        Object.assign(toldLedger!, { published: 1, [line]: 1 });
      },
    ],
  ),
  [
    'a notification that is parked at rest',
    ['lost'],
    ({ ledger, toldLedger }) => {
      ledger.lines = { published: 1, parked: 1 };
      Object.assign(toldLedger!, { published: 1, parked: 1 });
    },
  ],
  [
    'a notification of a machine that was set aside when it came',
    ['unjournalled'],
    ({ tables, ledger, toldLedger }) => {
      const elements = JSON.stringify([
        { line: 'quarantined', raw: JSON.stringify({ targetResource: uri }) },
      ]);
      Object.assign(tables.deliveries[0]!, { quarantined: 1, elements });
      tables.hints.shift();
      ledger.lines = evidenceFrom(tables, 2, []).lines;
      Object.assign(toldLedger!, { published: 1, quarantined: 1 });
    },
  ],
  ['a sync that ran', ['blind'], ({ states }) => void states.syncs.push({ id: 1 })],
  [
    'an event that traces to a read that is not on record',
    ['untraced'],
    ({ ledger }) => {
      ledger.events[0]!.cause = 'read 9/9';
    },
  ],
  ['a change of an access that is not on record', ['untraced'], ({ states }) => void states.history.shift()],
  [
    'changes of an access of which fewer than a hundred later ones are kept',
    ['untraced'],
    (evidence) => keepTransitions(evidence, 99),
  ],
  [
    'a change of an access that is not on record, among the hundred that are kept',
    ['untraced'],
    (evidence) => {
      keepTransitions(evidence, 101);
      evidence.states.history = evidence.states.history.filter(({ epoch }) => epoch !== 9);
      evidence.ledger.events[3]!.cause = 'access 4711/9';
    },
  ],
  [
    'an organization that the store believes to be blocked',
    ['untrue'],
    ({ states }) => {
      states.organizations[0]!.access = 'terms-required';
    },
  ],
  [
    'an organization that accepts its terms, whose last record says that it is blocked',
    ['untrue'],
    ({ truth }) => {
      truth.organizations[0]!.termsAccepted = false;
    },
  ],
  [
    'an organization that was blocked and is on no topic',
    ['unpublished', 'vanished'],
    ({ truth, states }) => {
      truth.organizations.push({ id: '4712', termsAccepted: true });
      states.history.push({ organization_id: '4712', epoch: 2 });
    },
  ],
  [
    'a record that nobody is told of who asks',
    ['unexplained'],
    ({ explained }) => {
      explained[0]!.sent = [{ topic, partition: 0, offset: '0' }];
    },
  ],
  [
    'a notification that was accepted and is not in the journal',
    ['lost', 'unjournalled'],
    (evidence) => {
      evidence.ledger.acceptedBySender = 3;
      evidence.acceptedByAddress = new Map([[uri, 3]]);
    },
  ],
  [
    'a notification that was swapped for another in the journal',
    ['unjournalled', 'invented'],
    ({ tables }) => {
      tables.deliveries[0]!.elements = JSON.stringify([{ line: 'hint', address: `${uri}0` }]);
    },
  ],
  [
    'a notification that waits for ever',
    ['lost'],
    (evidence) => {
      evidence.ledger.lines = { published: 1, waiting: 1 };
      evidence.toldLedger = { accepted: 2, published: 1, waiting: 1 };
    },
  ],
  [
    'a change that the topic does not have, though all is sent',
    ['untrue'],
    ({ truth }) => {
      truth.equipment[0]!.content.name = 'Newer still';
    },
  ],
  [
    'a resource that was announced and never published, but another',
    ['unpublished', 'unexplained', 'invented'],
    ({ truth }) => {
      truth.equipment[0]!.id = '2';
    },
  ],
  [
    'a removal of which the topic does not tell',
    ['untrue'],
    (evidence) => {
      evidence.removed = new Set([uri]);
    },
  ],
  ['a deletion of what is there', ['invented', 'untrue'], tellDeleted],
  [
    'a notification of what is there that is told as gone',
    ['lost'],
    (evidence) => {
      evidence.ledger.lines = { published: 1, gone: 1 };
      evidence.toldLedger = { accepted: 2, published: 1, gone: 1 };
    },
  ],
  [
    'a stranger that was let in',
    ['stranger'],
    (evidence) => {
      evidence.strangersLet = 1;
    },
  ],
  [
    'a 503 that does not say when to come again',
    ['dishonest'],
    (evidence) => {
      evidence.unexplained503 = 1;
    },
  ],
  [
    'a true delivery that was answered 401',
    ['answer'],
    (evidence) => {
      evidence.others = { 401: 1 };
    },
  ],
  [
    'a true delivery that was answered 500',
    ['answer'],
    (evidence) => {
      evidence.others = { 503: 1, 500: 1 };
    },
  ],
  [
    'an answer that came too late',
    ['answer'],
    (evidence) => {
      evidence.lateAnswers = 1;
    },
  ],
  [
    'a ledger that tells more than there is',
    ['told'],
    (evidence) => {
      evidence.toldLedger = { accepted: 2, published: 2, merged: 1 };
    },
  ],
  [
    'a page that was never closed',
    ['page'],
    (evidence) => {
      evidence.openPages.push('B');
    },
  ],
  [
    'a page that was never opened',
    ['page'],
    (evidence) => {
      evidence.openPages = [];
    },
  ],
  [
    'a blocked organization of which nobody was ever paged',
    ['page'],
    (evidence) => {
      evidence.posts = [];
    },
  ],
  [
    'a blocked organization of which on-call was only told after it had been waited for',
    ['page'],
    ({ posts }) => {
      for (const post of posts) post.atMs += 4000;
    },
  ],
  [
    'a blocked organization whose page ended before it was not blocked any more',
    ['page'],
    ({ posts }) => void posts.push(termsPost(4500, { startsAtMs: 1500, endsAtMs: 4500 })),
  ],
  [
    'a blocked organization that is two incidents',
    ['page'],
    ({ posts }) => {
      posts[2]!.labels = '{"organization_id":"4711","pod":"2"}';
    },
  ],
  [
    'a blocked organization that was paged anew while it was blocked',
    ['page'],
    ({ posts }) => {
      posts[2]!.startsAtMs = 3500;
    },
  ],
  [
    'a page that began before what it tells of',
    ['page'],
    ({ posts }) => {
      for (const post of posts) post.startsAtMs = 900;
    },
  ],
  [
    'a first event that is told as an update',
    ['mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_type', 'io.tramline.equipment.updated.v1'),
  ],
  [
    'a later event that is told as the first',
    ['mistold'],
    (evidence) => tellHeader(evidence, 1, 'ce_type', 'io.tramline.equipment.created.v1'),
  ],
  [
    'an event that names the type of another kind',
    ['mistold'],
    (evidence) => tellHeader(evidence, 1, 'ce_type', 'io.tramline.field-operation.updated.v1'),
  ],
  [
    'an event of a change that there is not',
    ['mistold'],
    (evidence) => tellHeader(evidence, 1, 'ce_type', 'io.tramline.equipment.changed.v1'),
  ],
  ['an event that names no type', ['mistold'], (evidence) => tellHeader(evidence, 1, 'ce_type', null)],
  [
    'an update that is told as archived',
    ['mistold'],
    (evidence) => tellHeader(evidence, 1, 'ce_type', 'io.tramline.equipment.archived.v1'),
  ],
  [
    'what was archived and is told as updated',
    ['mistold'],
    (evidence) => tellFacts(evidence, 1, { archived: true }),
  ],
  [
    'what was restored and is told as updated',
    ['mistold'],
    (evidence) => tellFacts(evidence, 0, { archived: true }),
  ],
  [
    'a deletion that has facts',
    ['mistold'],
    (evidence) => {
      evidence.removed = new Set([uri]);
      tellHeader(evidence, 1, 'ce_type', 'io.tramline.equipment.deleted.v1');
    },
  ],
  [
    'an update behind a deletion',
    ['invented', 'mistold'],
    (evidence) => tellAfterDeleted(evidence, 'updated'),
  ],
  [
    'a creation behind a deletion of what is there',
    ['invented'],
    (evidence) => tellAfterDeleted(evidence, 'created'),
  ],
  [
    'a block that is told as its end',
    ['mistold'],
    (evidence) => tellHeader(evidence, 2, 'ce_type', 'io.tramline.organization-access.unblocked.v1'),
  ],
  [
    'the end of a block that is told as one',
    ['mistold'],
    (evidence) => tellHeader(evidence, 3, 'ce_type', 'io.tramline.organization-access.blocked.v1'),
  ],
  [
    'an event whose subject is another key',
    ['mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_subject', '4711/equipment/2'),
  ],
  ['an event without a subject', ['mistold'], (evidence) => tellHeader(evidence, 1, 'ce_subject', null)],
  [
    'an event that is said to come from a sync, though none ran',
    ['mistold'],
    (evidence) => tellMore(evidence, 0, 'ce_reconciled', 'true'),
  ],
  [
    'a header that stands there twice',
    ['mistold'],
    (evidence) => tellMore(evidence, 1, 'ce_type', 'io.tramline.equipment.updated.v1'),
  ],
  [
    'an event that was observed at another time than its document says',
    ['mistold'],
    (evidence) => tellHeader(evidence, 0, 'ce_time', '2026-11-24T17:15:29.228Z'),
  ],
  ...[
    ['ce_specversion', '0.3'],
    ['ce_source', 'http://elsewhere.test/harrow'],
    ['ce_dataschema', 'https://schemas.tramline.io/event/field-operation.v1.schema.json'],
    ['content-type', 'text/plain'],
    ['traceparent', 'none'],
  ].map(
    ([name, value]): Doctored => [
      `an event with another ${name}`,
      ['mistold'],
      (evidence) => tellHeader(evidence, 1, name!, value!),
    ],
  ),
  [
    'an access on the topic of another kind',
    ['mistold'],
    (evidence) => {
      for (const at of [2, 3]) tell(evidence, at, { topic: 'proof.field-operation.v1' });
    },
  ],
  [
    'an access on the topic of another installation',
    ['mistold'],
    (evidence) => {
      for (const at of [2, 3]) tell(evidence, at, { topic: 'tramline.organization-access.v1' });
    },
  ],
  [
    'an older event with the document of another machine',
    ['mistold'],
    (evidence) => tellFacts(evidence, 0, { id: '2' }),
  ],
  [
    'an older event with the document of another organization',
    ['mistold'],
    (evidence) => tellFacts(evidence, 0, { organizationId: '4712' }),
  ],
  [
    'a newest event with the document of another machine',
    ['mistold', 'untrue'],
    (evidence) => tellFacts(evidence, 1, { id: '2' }),
  ],
  [
    'an access with the document of another organization',
    ['mistold'],
    (evidence) => tellFacts(evidence, 3, { id: '4712', organizationId: '4712' }),
  ],
  ...['due', 'taken', 'postponed', 'settling', 'quarantined', 'of tomorrow'].map(
    (state): Doctored => [
      `a task that is ${state} at rest, though all its notifications are decided`,
      ['unsettled'],
      ({ tables }) => {
        tables.tasks[0]!.state = state;
      },
    ],
  ),
  [
    'a quarantined event in the middle of a key',
    ['unsent'],
    ({ ledger }) => {
      ledger.events[2]!.state = 3;
      ledger.records.splice(2, 1);
    },
  ],
  ...[0, 1, 3, 4, 5].map(
    (state): Doctored => [
      `an event in state ${state} at rest, though it is on its topic`,
      ['unsent'],
      ({ ledger }) => {
        ledger.events[0]!.state = state;
      },
    ],
  ),
  ...[
    [
      'a fault in the log of a process that was killed later',
      '{"level":"error","place":"pipeline","error":"TypeError","line":"fault"}',
    ],
    ['a fault whose line was cut at its beginning', 'nd","stack":null,"line":"fault"}'],
    ['an error of a process that nobody caught', 'Node.js v24.11.1'],
    ['a promise of a process that nobody waited for', '[UnhandledPromiseRejection: nobody waits for this]'],
    ['a process that had no memory left', 'FATAL ERROR: Reached heap limit Allocation failed'],
  ].map(
    ([what, line]): Doctored => [
      what!,
      ['fault'],
      ({ logs }) => void logs.push({ role: 'worker', processes: [[readyLine, line!], [readyLine]] }),
    ],
  ),
  [
    'a process that did not end in order',
    ['end'],
    ({ complaints }) => void complaints.push('all ended with 1 on SIGTERM'),
  ],
  [
    'a rest that came too late',
    ['slow'],
    (evidence) => {
      evidence.restAfterMs = restMsMax + 1;
    },
  ],
  [
    'a process that grew too large',
    ['large'],
    (evidence) => {
      evidence.residentBytes = [residentBytesMax + 1];
    },
  ],
  [
    'a process that leaves files open',
    ['files'],
    (evidence) => {
      evidence.files = [{ role: 'all', whenReady: 30, atRest: 31 + moreFilesMax }];
    },
  ],
];

test.each(doctored)('%s is found', (_what, kinds, doctor) => {
  const evidence = honest();
  evidence.truth = structuredClone(evidence.truth);
  doctor(evidence);
  expect(kindsOf(evidence).sort()).toEqual([...kinds].sort());
});

/** The numbers of the rows of a table that say what was broken. */
function brokenIn(findings: Finding[]): Record<string, number> {
  const sent = { sent: { deliveries: 0, notifications: 0 }, others: {} };
  const empty = {
    paged: { blocks: 0, afterMs: 0 },
    planned: [],
    broken: {},
    onceNear: {},
    onceByQuarter: [],
    unreached: [],
    lines: {},
    files: [],
    slowest: {},
  };
  const table = tableOf({ ...empty, sent, findings } as unknown as ProofReport);
  const rows = table.matchAll(/^(lost|invented|differing duplicates|.* violations) +(\d+)$/gm);
  return Object.fromEntries([...rows].map(([, row, count]) => [row, Number(count)]));
}

test.each(doctored)('%s is a violation in the table', (_what, _kinds, doctor) => {
  const evidence = honest();
  evidence.truth = structuredClone(evidence.truth);
  doctor(evidence);
  const findings = checkProof(evidence);
  const counted = Object.values(brokenIn(findings)).reduce((sum, count) => sum + count, 0);
  expect(counted).toBe(findings.length);
});

test('an event that vanished is lost in the table', () => {
  expect(brokenIn([{ kind: 'vanished', text: '' }])).toMatchObject({ lost: 1, 'other violations': 0 });
});

test('a kind that no row names is among the other violations of the table', () => {
  const unheardOf = { kind: 'of tomorrow', text: '' } as unknown as Finding;
  expect(brokenIn([unheardOf])).toMatchObject({ lost: 0, 'other violations': 1 });
});

test.each([
  ['nothing found, everything come to', 0, [], false, 0],
  ['a finding', 1, [], false, 1],
  ['a step that was never come to', 0, ['at S9 acknowledged', 'SIGTERM'], false, 1],
  ['a step that was never come to, which is said to be enough', 0, ['at S9 acknowledged'], true, 0],
  ['a finding beside a step that was never come to', 1, ['at S9 acknowledged'], true, 1],
])('%s decides how the proof ends', (_what, count, unreached, partial, code) => {
  const findings: Finding[] = Array.from({ length: count }, () => ({ kind: 'end', text: '' }));
  const verdict = verdictOf({ findings, unreached, kills: 13 }, partial);
  expect(verdict.code).toBe(code);
  for (const step of unreached) expect(verdict.line).toContain(step);
  expect(verdict.line.includes('--kills 60')).toBe(unreached.length > 0);
});

test.each([
  ['a record that Kafka refused', { quarantined: 1, published: 1 }, { state: 3 }, {}],
  ['a record that was never sent', { waiting: 1, published: 1 }, { state: 0 }, {}],
  ['a hint of a blocked organization', { parked: 1, published: 1 }, {}, { access: 'terms-required' }],
])('%s has its own line', (_what, lines, row, organization) => {
  const { tables, ledger } = honest();
  Object.assign(tables.outbox[1]!, row);
  Object.assign(tables.organizations[0]!, organization);
  if ('access' in organization) {
    tables.reads.pop();
    tables.tasks[0]!.due_at = 1;
  }
  const found = evidenceFrom(tables, 2, ledger.records).lines;
  expect(Object.fromEntries(Object.entries(found).filter(([, count]) => count > 0))).toEqual(lines);
});

test('the same seed decides the same, another seed something else', () => {
  const drawn = (seed: number) => {
    const random = makeRandom(seed);
    return Array.from({ length: 20 }, () => random.between(0, 1000));
  };
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(7)).not.toEqual(drawn(8));
  expect(Math.max(...drawn(7))).toBeLessThanOrEqual(1000);
});
