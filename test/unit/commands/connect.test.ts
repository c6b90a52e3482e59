// `tramline connect` and `connections` as a person or a script runs them, through a service and on the store itself.
import type { OperationsServer } from '../../../src/operations/server';
import { freePort } from '../../support/free-port';
import { connection, consent } from '../operations/sample-store';
import { makeShell, type Shell, serveFor } from './shell';

let shell: Shell;
let server: OperationsServer;
beforeEach(async () => {
  shell = makeShell();
  server = await serveFor(shell);
});
afterEach(() => server.close(0));

test('the link is printed, the answer is waited for, and the connection is shown', async () => {
  const { code, out } = await shell.run('connect', '--user', 'ann');
  expect(code).toBe(0);
  expect(out).toContain('https://tramline.example/connect?link=one');
  expect(out).toMatch(/Connected: c1[\s\S]*ann[\s\S]*renewed before[\s\S]*4711, 4712/);
  expect(shell.sample.asked).toEqual([{ auth: null, user: 'ann', callback: null }]);
});

test.each([
  ['consent-declined', 5],
  ['consent-expired', 5],
  ['consent-other-browser', 5],
  ['consent-other-user', 5],
  ['consent-refused', 4],
  ['provider-unavailable', 1],
  ['provider-answer-unusable', 1],
] as const)('%s ends with %i', async (failure, exitCode) => {
  shell.sample.consents = [{ ...consent, step: 'failed', code: failure, detail: 'so' }];
  const { code, error } = await shell.run('connect');
  expect([code, error]).toEqual([exitCode, expect.stringContaining(`${failure}: `)]);
});

test('what came back in another browser is said once, and the consent is waited for', async () => {
  const waits = { ...consent, step: 'asked' as const, code: 'consent-other-browser' as const };
  shell.sample.consents = [waits, waits, ...shell.sample.consents];
  const { code, out, error } = await shell.run('connect');
  expect([code, out]).toEqual([0, expect.stringContaining('Connected: c1')]);
  expect(error.split('consent-other-browser')).toHaveLength(2);
});

test('many organizations are told in lines of at most 80 columns', async () => {
  const organizations = Array.from({ length: 50 }, (_none, place) => String(4711 + place));
  shell.sample.consents = [{ ...consent, step: 'done', connection: { ...connection, organizations } }];
  const { out } = await shell.run('connect', '--user', 'ann');
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(out.replace(/\s+/g, ' ')).toContain(`organizations ${organizations.join(', ')}`);
});

test('organizations that the new token is not shown are warned of', async () => {
  shell.sample.consents = [{ ...consent, step: 'done', connection, unseen: ['4724'] }];
  const { code, out, error } = await shell.run('connect', '--user', 'ann', '--json');
  expect([code, out]).toEqual([0, expect.stringContaining('"organizations":["4711","4712"]')]);
  expect(error).toContain(
    'not shown 4724, which this connection saw before. If somebody else than ann consented',
  );
});

test('an interrupt ends the waiting', async () => {
  shell.sample.consents = [consent];
  shell.interrupt.abort();
  expect((await shell.run('connect')).code).toBe(130);
});

test('with --oob what was pasted is carried, by no address', async () => {
  shell.answers = ['a-token a-verifier'];
  const { code, out } = await shell.run('connect', '--oob', '--auth', 'oauth1');
  expect([code, shell.asked.length]).toEqual([0, 1]);
  expect(shell.sample.asked).toEqual([
    { auth: 'oauth1', user: null, callback: 'oob' },
    { code: 'a-verifier', token: 'a-token' },
  ]);
  expect(out).not.toContain('a-verifier');
});

test('while an answer is carried no store is held, and a service that started meanwhile is answered', async () => {
  const port = await freePort();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${port}` };
  const beside = makeShell();
  shell.answered = async () => {
    await server.close(0);
    server = await serveFor(beside, null, port);
    return 'a-code';
  };
  expect((await shell.run('connect', '--oob')).code).toBe(0);
  expect([shell.opened, shell.openWhileAsking]).toEqual([1, [0]]);
  expect(shell.sample.asked).toEqual([{ auth: null, user: null, callback: 'oob' }]);
  expect(beside.sample.asked).toEqual([{ code: 'a-code', token: null }]);
});

test('what cannot be an answer is refused, and a decline is one', async () => {
  shell.answers = ['one two three'];
  expect((await shell.run('connect', '--oob')).code).toBe(2);
  shell.answers = ['farm-app:done?error=access_denied'];
  expect((await shell.run('connect', '--callback', 'farm-app:done')).code).toBe(5);
});

test('a callback named oob, in any letters, is --oob', async () => {
  shell.answers = ['a-code'];
  expect((await shell.run('connect', '--callback', 'OOB')).code).toBe(0);
  expect(shell.sample.asked[0]).toEqual({ auth: null, user: null, callback: 'oob' });
});

test('a web address is no callback of one’s own', async () => {
  expect((await shell.run('connect', '--callback', 'https://elsewhere.example/')).code).toBe(2);
  expect((await shell.run('connect', '--auth', 'oauth3')).code).toBe(2);
});

test('for machines there is an object a line', async () => {
  const { out } = await shell.run('connect', '--json');
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([{ ...consent, address: 'https://tramline.example/connect?link=one' }, connection]);
});

test('beside no service the link is made, and it is said that one is needed', async () => {
  await server.close(0);
  const { code, out } = await shell.run('connect');
  expect([code, out]).toEqual([5, expect.stringContaining('Start it, then open the link')]);
});

test('of a connection whose organizations cannot be listed it is said why', async () => {
  const unlisted = 'its list of organizations could not be read: page 1: it was not answered with a page';
  const named = { ...connection, unlisted };
  Object.assign(shell.sample.connections, { list: async () => [named] });
  expect((await shell.run('connections')).out).toContain(
    `\n${connection.id}: its list of organizations could`,
  );
  expect((await shell.json('connections', 'list')).value).toEqual([named]);
});

test('where none is listed it is not said that nobody ever consented: each may have been revoked', async () => {
  Object.assign(shell.sample.connections, { list: async () => [] });
  expect((await shell.run('connections')).out).toBe(
    'No user’s consent is known here.\n\n→ tramline connect\n',
  );
});

test('connections are listed and revoked', async () => {
  expect((await shell.run('connections')).out).toMatch(
    /^ID +USER +METHOD +STATUS +ENDS +SEES\nc1 +ann +oauth2 +valid +renewed +2/,
  );
  expect((await shell.json('connections', 'list')).value).toEqual([connection]);
  expect((await shell.run('connections', 'revoke', 'c1')).out).toContain(
    'The provider took its tokens back.\nWhat was subscribed with it is looked after no more, unless another connection\nlists it: s1, s2\n',
  );
  expect((await shell.run('connections', 'revoke', 'nobody')).code).toBe(3);
});

test('of a revocation that was asked for and not confirmed it is not said that the provider was not told', async () => {
  const revoked = { id: 'c1', state: 'revoked', atProvider: false, subscriptions: [] };
  Object.assign(shell.sample.connections, { revoke: async () => revoked });
  expect((await shell.run('connections', 'revoke', 'c1')).out).toContain(
    'The provider did not say that it took its tokens back: its user can end the\nconsent there.\n',
  );
});

test('a connection named by an e-mail address is listed with the name that alerts and the log give it', async () => {
  const named = { ...connection, id: 'ann@example.org' };
  Object.assign(shell.sample.connections, { list: async () => [named] });
  expect((await shell.run('connections')).out).toMatch(/\nann@example\.org \(address-[0-9a-f]{12}\) +ann /);
});

test('stored tokens are sealed anew by migrate --reencrypt', async () => {
  const { code, out } = await shell.run('migrate', '--reencrypt');
  expect([code, out]).toEqual([
    0,
    expect.stringContaining('Sealed with the first key: 2 connections and webhook secrets; already so: 1.'),
  ]);
});
