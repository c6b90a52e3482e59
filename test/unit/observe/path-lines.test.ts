// The two wide lines are built from what the path holds; a count that is wrong here is wrong in every dashboard.
import type { Answer } from '../../../src/model/answer';
import type { Delivery } from '../../../src/model/notification';
import type { TakenTask } from '../../../src/model/task';
import { acceptanceLine, attemptLine, endedAs } from '../../../src/observe/path-lines';

const delivery: Delivery = {
  receivedAtMs: 0,
  messageId: null,
  bodyHash: 'h',
  bytes: 10,
  traceparent: null,
  elements: [
    { line: 'hint', eventTypeId: 'equipment', address: 'a', organizationId: null, user: null },
    { line: 'acted', eventTypeId: 'heartbeat', probeOrganizationId: null, dueAt: null },
    { line: 'ignored', eventTypeId: 'x', address: null },
    { line: 'quarantined', reason: 'unauthenticated', path: '', raw: '{}' },
    { line: 'quarantined', reason: 'malformed-notification', path: '/a', raw: '{}' },
  ],
};

const task: TakenTask = {
  taskId: 1,
  fence: 1,
  generation: 2,
  revision: 3,
  address: 'https://api.example/1',
  resource: null,
  organizationId: null,
  hintedOrganizationId: '4711',
  hintedUser: null,
  connectionId: 'c1',
  epoch: 0,
  settling: false,
  attempts: 2,
  agedMs: 0,
  failedAtMs: null,
  absentSinceMs: null,
  acceptedAtMs: null,
  traceparent: null,
  reconciled: false,
};

test('an acceptance counts each element once, by what became of it', () => {
  const accepted = { deliveryId: 'd1', repeated: false, idReused: false, due: 1, probes: false };
  expect(acceptanceLine(delivery, accepted, 't', 5)).toEqual({
    deliveryId: 'd1',
    hints: 1,
    acted: 1,
    ignored: 1,
    quarantined: ['unauthenticated', 'malformed-notification'],
    bytes: 10,
    tookMs: 5,
    repeated: false,
    idReused: false,
    due: 1,
    traceparent: 't',
  });
});

test('an attempt tells what is known of the resource, and the connection that read it', () => {
  const cost = { calls: 1, bytes: 2, tookMs: 3, status: 200 };
  const document = { body: {}, address: 'a', mediaType: 'm', connectionId: 'c2' };
  const read = (answer: Answer) =>
    attemptLine(task, { answer, cost }, endedAs('published', 'created', null), 't', 9);
  expect(read({ kind: 'ok', document })).toMatchObject({
    attempt: 3,
    kind: null,
    organizationId: '4711',
    connectionId: 'c2',
    outcome: 'published',
    quarantine: null,
    dueInMs: null,
    tookMs: 9,
  });
  expect(read({ kind: 'aborted' }).connectionId).toBe('c1');
});
