/**
 * The checker itself is checked: on a topic that keeps every promise it finds nothing, and on each doctored one it finds
 * what was done to it.
 */
import {
  checkLedger,
  type DecidedEvent,
  type LedgerEvidence,
  type TopicRecord,
} from '../support/ledger-checker';

const topic = 'tramline.equipment.v1';

function eventOf(resource: string, sequence: number): DecidedEvent {
  const eventId = `${resource}-${sequence}`;
  const headers: [string, string][] = [
    ['ce_id', eventId],
    ['ce_sequence', String(sequence).padStart(20, '0')],
  ];
  const key = `4711/equipment/${resource}`;
  return { eventId, topic, key, sequence, headers, value: `{"n":${sequence}}`, state: 2, cause: 'read 1/1' };
}

function sound(): LedgerEvidence {
  const events = [eventOf('1', 1), eventOf('2', 1), eventOf('1', 2)];
  const records: TopicRecord[] = events.map(({ key, headers, value }, index) => ({
    topic,
    partition: 0,
    offset: String(index),
    key,
    headers,
    value,
  }));
  return {
    acceptedBySender: 4,
    journalled: 4,
    lines: { published: 3, merged: 1, waiting: 0 },
    journalledEvents: events.map(({ eventId }) => eventId),
    events,
    records,
  };
}

const kindsOf = (evidence: LedgerEvidence) => [...new Set(checkLedger(evidence).map(({ kind }) => kind))];

test('evidence that keeps every promise has no violation', () => {
  expect(checkLedger(sound())).toEqual([]);
});

test('a record that is there twice, byte for byte, is allowed', () => {
  const evidence = sound();
  evidence.records.push({ ...evidence.records[2]!, offset: '3' });
  expect(checkLedger(evidence)).toEqual([]);
});

test('a missing record is found', () => {
  const evidence = sound();
  evidence.records.splice(1, 1);
  expect(kindsOf(evidence)).toEqual(['missing']);
});

test('a changed value, and a changed header, are found', () => {
  const value = sound();
  value.records[1] = { ...value.records[1]!, value: '{"n":7}' };
  expect(kindsOf(value)).toEqual(['differs']);
  const header = sound();
  header.records[1] = { ...header.records[1]!, headers: [...header.records[1]!.headers, ['extra', '1']] };
  expect(kindsOf(header)).toEqual(['differs']);
});

test('two swapped records of one key are found', () => {
  const evidence = sound();
  evidence.records[0]!.offset = '2';
  evidence.records[2]!.offset = '0';
  expect(kindsOf(evidence)).toEqual(['order', 'newest']);
});

test('an old record that comes last is found, even as a repeat', () => {
  const evidence = sound();
  evidence.records.push({ ...evidence.records[0]!, offset: '9' });
  expect(kindsOf(evidence)).toEqual(['newest']);
});

test('a record that nobody decided is found', () => {
  const evidence = sound();
  evidence.events.pop();
  evidence.journalledEvents.pop();
  expect(kindsOf(evidence)).toEqual(['invented']);
});

test('an event that a read became and that is neither decided nor on a topic any more is found', () => {
  const evidence = sound();
  evidence.events.pop();
  evidence.records.pop();
  expect(kindsOf(evidence)).toEqual(['vanished']);
});

test('an event that traces to nothing is found', () => {
  const evidence = sound();
  evidence.events[0]!.cause = '';
  expect(kindsOf(evidence)).toEqual(['untraced']);
});

test('a quarantined event need not be on the topic', () => {
  const evidence = sound();
  evidence.events[1]!.state = 3;
  evidence.records.splice(1, 1);
  expect(checkLedger(evidence)).toEqual([]);
});

test('an accepted notification that the journal does not hold is lost', () => {
  expect(kindsOf({ ...sound(), acceptedBySender: 5 })).toEqual(['lost']);
});

test('a notification in no line, in two lines, or still waiting is lost', () => {
  expect(kindsOf({ ...sound(), lines: { published: 3 } })).toEqual(['lost']);
  expect(kindsOf({ ...sound(), lines: { published: 4, merged: 1 } })).toEqual(['lost']);
  expect(kindsOf({ ...sound(), lines: { published: 3, waiting: 1 } })).toEqual(['lost']);
});

test('a journal may hold more than the sender saw answered: an answer can be lost', () => {
  expect(checkLedger({ ...sound(), acceptedBySender: 3 })).toEqual([]);
});
