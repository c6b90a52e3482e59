// The log is read by machines and by someone who was woken: each line is one JSON object with a fixed name, at the
// level that says whether anyone is needed, and without a secret.
import { inspect } from 'node:util';
import type { Alert } from '../../../src/model/alert';
import { Problem } from '../../../src/model/problem';
import { type Log, type LogLevel, makeLog } from '../../../src/observe/log';
import { withoutCredentials } from '../../../src/observe/without-credentials';
import { Secret } from '../../../src/tools/secret';
import { accepted, attempt, call, post, refused, sent, syncEnd } from './sample-lines';

let written: Record<string, unknown>[] = [];
let now = 0;

function open(level: LogLevel): Log {
  written = [];
  const stream = { write: (text: string) => void written.push(JSON.parse(text)) };
  return makeLog({ level, service: 'tramline', nowMs: () => now, stream });
}

const names = () => written.map(({ line, level }) => `${level} ${line}`);

const alert: Alert = {
  fingerprint: 'f',
  name: 'TramlineTermsRequired',
  severity: 'warning',
  state: 'firing',
  labels: { organization_id: '4711' },
  annotations: { summary: 'Terms must be accepted.' },
  startsAtMs: 0,
  resolvedAtMs: null,
  quietSinceMs: null,
  returns: 0,
  coversUntilMs: null,
  sent: {},
};

test('a healthy day at info is wide lines and nothing else', () => {
  const log = open('info');
  log.deliveryAccepted(accepted);
  log.deliveryRefused(refused);
  log.attempt(attempt);
  log.providerCall(call);
  log.sent(sent);
  log.alertPost(post);
  log.probed({ organizationId: '1', found: 'active', tookMs: 3 });
  expect(names()).toEqual(['info delivery', 'info delivery', 'info attempt']);
});

test('no line names a person by an address: a connection that is named so has a digest', () => {
  const log = open('debug');
  const connectionId = 'ann.smith@example.org';
  log.attempt({ ...attempt, connectionId });
  log.trouble({ place: 'connections', code: 'x', detail: `${connectionId} is refused` });
  log.alert({ ...alert, labels: { connection_id: connectionId } });
  expect(written).toHaveLength(3);
  expect(JSON.stringify(written)).not.toContain('@');
  const [first] = written as [{ connectionId: string }];
  expect(first.connectionId).toMatch(/^address-[0-9a-f]{12}$/);
  expect(written[1]).toMatchObject({ detail: `${first.connectionId} is refused` });
});

test('an accepted delivery is one line with its counts, its reasons and its trace', () => {
  open('info').deliveryAccepted(accepted);
  expect(written[0]).toMatchObject({
    service: 'tramline',
    line: 'delivery',
    outcome: 'accepted',
    deliveryId: 'd1',
    hints: 3,
    quarantined: 2,
    reasons: ['unauthenticated', 'malformed-notification'],
    traceparent: accepted.traceparent,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
});

test('an attempt names its resource without credentials, query and fragment', () => {
  open('info').attempt(attempt);
  expect(written[0]).toMatchObject({ address: 'https://api.example/equipment/42', outcome: 'published' });
  expect(JSON.stringify(written)).not.toContain('canary');
});

test('failures that heal themselves warn', () => {
  const log = open('info');
  log.sent({ ...sent, errorType: 'LEADER_NOT_AVAILABLE' });
  log.alertPost({ ...post, outcome: 'unreachable', status: null });
  log.accessChanged({
    organizationId: '1',
    from: 'active',
    to: 'terms-required',
    cause: 'terms',
    by: 'probe',
  });
  log.setting({ text: 'KAFKA_BROKER is not a setting; did you mean KAFKA_BROKERS?' });
  expect(names()).toEqual(['warn sent', 'warn alert-post', 'warn organization-access', 'warn setting']);
});

test('the end of a sync is a line, which warns where listings were left unread', () => {
  const log = open('info');
  log.syncEnded(syncEnd);
  log.syncEnded({ ...syncEnd, outcome: 'whole', partial: 0, named: [] });
  expect(names()).toEqual(['warn sync', 'info sync']);
  expect(written[0]).toMatchObject({ run: 7, partial: 1, named: [{ scope: '4711/equipment' }] });
});

test('the same trouble is written once in ten seconds, with how often it was kept quiet', () => {
  const log = open('info');
  for (now = 0; now < 25_000; now += 1000)
    log.trouble({ place: 'store', code: 'store.unavailable', detail: 'x' });
  expect(written.map(({ suppressed }) => suppressed)).toEqual([0, 9, 9]);
});

test('an alert is written at the level of its severity, and its end at info', () => {
  const log = open('info');
  log.alert(alert);
  log.alert({ ...alert, severity: 'critical' });
  log.alert({ ...alert, severity: 'critical', state: 'resolved', resolvedAtMs: 5 });
  expect(names()).toEqual(['warn alert', 'error alert', 'info alert']);
  expect(written[0]).toMatchObject({ name: 'TramlineTermsRequired', since: '1970-01-01T00:00:00.000Z' });
});

test('beginning and end of an alert are written at any level, but not where nothing is', () => {
  for (const level of ['debug', 'info', 'warn', 'error', 'silent'] as const) {
    const log = open(level);
    log.alert(alert);
    log.alert({ ...alert, state: 'resolved', resolvedAtMs: 5 });
    expect([level, ...names()]).toEqual([level, ...(level === 'silent' ? [] : ['warn alert', 'info alert'])]);
  }
});

test('a fault carries code and stack, whatever was thrown', () => {
  const log = open('info');
  log.fault('pipeline', new Problem('store.refused', 'no such row'));
  log.fault('pipeline', 'thrown text');
  expect(written[0]).toMatchObject({
    level: 'error',
    code: 'store.refused',
    stack: expect.stringContaining('at '),
  });
  expect(written[1]).toMatchObject({ detail: 'thrown text' });
});

test('a secret in a line, or a field named like one, is not written', () => {
  const log = open('debug');
  const sneaky = { text: 'x', token: 'canary', nested: { password: 'canary' }, held: new Secret('canary') };
  log.setting(sneaky);
  log.attempt({ ...attempt, detail: inspect(new Secret('canary')) });
  expect(JSON.stringify(written)).not.toContain('canary');
  expect(written).toHaveLength(2);
});

test('the process tells of its own start and stop', () => {
  const log = open('info');
  log.starting({ role: 'all', version: '1', store: 'sqlite', events: 'kafka' });
  log.draining({ signal: 'SIGTERM' });
  log.stopped({ tookMs: 5, clean: true });
  log.flush();
  expect(names()).toEqual(['info starting', 'info draining', 'info stopped']);
});

test('long details are cut', () => {
  open('info').attempt({ ...attempt, detail: 'y'.repeat(5000) });
  expect(String(written[0]?.detail).length).toBeLessThan(600);
});

test('what is no address is written as far as its first question mark', () => {
  expect(withoutCredentials('no address?x')).toBe('no address');
  expect(withoutCredentials('//user@host/path')).toBe('//host/path');
  expect(withoutCredentials('https://host/a@b')).toBe('https://host/a@b');
});
