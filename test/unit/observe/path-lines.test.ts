// The two wide lines are built from what the path holds; a count that is wrong here is wrong in every dashboard.
import type { Answer } from '../../../src/model/answer';
import type { Delivery } from '../../../src/model/notification';
import type { TakenTask } from '../../../src/model/task';
import { acceptanceLine, attemptLine, endedAs, providerLagMs } from '../../../src/observe/path-lines';

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
  dueAtMs: 0,
  address: 'https://api.example/1',
  resource: null,
  organizationId: null,
  hintedOrganizationId: '4711',
  hintedUser: null,
  connectionId: 'c1',
  shownBy: null,
  epoch: 0,
  settling: false,
  attempts: 2,
  agedMs: 0,
  failedAtMs: null,
  code: null,
  takenAtMs: 0,
  absentSinceMs: null,
  acceptedAtMs: null,
  deliveryId: 'd7',
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

test('an acceptance counts the due times that cannot be read', () => {
  const unread = { line: 'acted', eventTypeId: 'x', probeOrganizationId: '1', dueAt: null } as const;
  const elements = [{ ...unread, dueUnread: true } as const, unread, { ...unread, dueUnread: true } as const];
  const accepted = { deliveryId: 'd1', repeated: false, idReused: false, due: 0, probes: true };
  expect(acceptanceLine({ ...delivery, elements }, accepted, 't', 5)).toMatchObject({
    acted: 3,
    unreadDueTimes: 2,
  });
});

test('an attempt tells what is known of the resource, and the connection that read it', () => {
  const cost = { calls: 1, resends: 0, bytes: 2, tookMs: 3, status: 200 };
  const document = { body: {}, address: 'a', mediaType: 'm', connectionId: 'c2' };
  const read = (answer: Answer) =>
    attemptLine(task, { answer, cost }, endedAs('published', 'created', null), 't', 9);
  expect(read({ kind: 'ok', document })).toMatchObject({
    deliveryId: 'd7',
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

test.each([
  ['2026-03-01T12:00:00Z', 0, 0],
  ['2026-03-01T12:00:00Z', 4200, 4200],
  ['2026-03-01T12:00:00Z', -90_000, 0],
  ['not a time', 0, null],
  [null, 0, null],
])('the lag of a change at %s, notified %i ms later, is %p', (modifiedTime, afterMs, lagMs) => {
  const acceptedAtMs = Date.UTC(2026, 2, 1, 12) + afterMs;
  expect(providerLagMs({ acceptedAtMs, settling: false }, modifiedTime)).toBe(lagMs);
});

test('a change that no notification announced, and a read that only settles, say nothing of the lag', () => {
  expect(providerLagMs({ acceptedAtMs: null, settling: false }, '2026-03-01T12:00:00Z')).toBeNull();
  expect(providerLagMs({ acceptedAtMs: Date.now(), settling: true }, '2026-03-01T12:00:00Z')).toBeNull();
});
