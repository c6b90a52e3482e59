// Goal: subscriptions and delivery settings from the command line: what is sent, what is shown, and how it ends.
// Method: the API answered from memory.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/ready-process';
import { makeShell, type Shell } from './shell';

const id = '0a1b2c3d-1111-2222-3333-444455556666';
let shell: Shell;
beforeEach(() => {
  shell = makeShell();
});

function fileWith(text: string): string {
  const path = join(temporaryFolder(), 'value');
  writeFileSync(path, text);
  return path;
}

test('the list is a table that fits, names what to do next, and says when there is nothing', async () => {
  shell.subscriptions.status = 'Expired';
  const { code, out } = await shell.run('subscriptions');
  expect(code).toBe(0);
  expect(out).toMatch(/^ID +EVENT TYPE +STATUS +FILTERS/);
  expect(out).toContain(`tramline subscriptions renew ${id}`);
  for (const line of out.split('\n').slice(0, 2)) expect(line.length).toBeLessThanOrEqual(80);
  expect((await shell.json<{ id: string }[]>('subscriptions', 'list')).value).toMatchObject([{ id }]);
  shell.subscriptions.none = true;
  expect((await shell.run('subscriptions', 'list')).out).toContain('There is no subscription.');
});

test('what one user cannot list is said on standard error and decides the exit code', async () => {
  const whose = { detail: 'a user must consent again', address: null, organizationId: null, actionUrl: null };
  shell.subscriptions.fault = { code: 'provider.action-required', ...whose };
  const listed = await shell.run('subscriptions', 'list');
  expect(listed).toMatchObject({ code: 5, out: expect.stringContaining(id) });
  expect(listed.error).toContain('a user must consent again');
  shell.subscriptions.none = true;
  const none = await shell.run('subscriptions', 'list');
  expect([none.code, none.out]).toEqual([5, expect.not.stringContaining('no subscription')]);
});

test('filters of one key go together, organizations first', async () => {
  const words = [
    '--organization',
    '1',
    '--organization',
    '2',
    '--filter',
    'cropSeason=2024',
    '--user',
    'ann',
  ];
  const made = await shell.run('subscriptions', 'create', '--event-type', 'fieldOperation', ...words);
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining('orgId=4711,4712') });
  expect(shell.subscriptions.wanted).toEqual([
    {
      eventTypeId: 'fieldOperation',
      filters: [
        { key: 'orgId', values: ['1', '2'] },
        { key: 'cropSeason', values: ['2024'] },
      ],
      displayName: null,
      user: 'ann',
    },
  ]);
});

test('one of a blocked organization is made, and says what its announcements wait for', async () => {
  const ids = ['4711', '4712', '4712', '5000', 'new'].flatMap((one) => ['--filter', `orgId=${one}`]);
  const words = ['subscriptions', 'create', '--event-type', 'fieldOperation', ...ids];
  const made = await shell.run(...words);
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining(id) });
  const said = made.error.split('\n').filter((line) => line.includes('organization '));
  expect(said).toEqual([
    expect.stringContaining('organization 4712 is terms-required: what changes there is read'),
  ]);
  expect(said[0]).toContain('what it waits for: tramline organizations get 4712');
  expect(await shell.json(...words)).toMatchObject({ code: 0, value: { id }, error: `${said[0]}\n` });
});

test.each([
  [['subscriptions', 'create']],
  [['subscriptions', 'create', '--event-type', 'x', '--filter', 'nothing']],
  [['delivery', 'set']],
  [['delivery', 'set', '--concurrency', '11']],
  [['delivery', 'set', '--batch-size', '0']],
  [['delivery', 'set', '--status', 'stopped']],
  [['delivery', 'set', '--rotate-authorization', '--authorization-file', '-']],
  [['delivery', 'set', '--authorization-file', '/no/such/file']],
])('%j is wrong usage', async (words) => {
  expect((await shell.run(...words)).code).toBe(2);
  expect(shell.subscriptions.wanted).toEqual([]);
});

test.each(['renew', 'end'])('%s answers with the subscription, or that there is none', async (verb) => {
  const { code, out } = await shell.run('subscriptions', verb, id);
  expect([code, out]).toEqual([0, expect.stringContaining('https://tramline.example/webhooks')]);
  expect((await shell.run('subscriptions', verb, 'unknown')).code).toBe(3);
});

test('one that nobody could end at the provider is not said to have ended, and a user must act', async () => {
  shell.subscriptions.unasked = true;
  const { code, out } = await shell.run('subscriptions', 'end', id);
  expect(code).toBe(5);
  expect(out).not.toContain('Terminated');
  expect(out.replace(/\s+/g, ' ')).toContain(`${id} is forgotten here, and looked after no more.`);
  expect(out.replace(/\s+/g, ' ')).toContain('it goes on until its user consents again and');
  expect(out).toContain("tramline connect --user 'ann lee'");
  expect(out).toContain(`tramline subscriptions end ${id}`);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(await shell.json('subscriptions', 'end', id)).toMatchObject({
    code: 5,
    value: { id, state: 'forgotten', atProvider: false },
    error: expect.stringContaining(`tramline subscriptions end ${id}`),
  });
});

test('one whose deliveries are refused here is marked, and renewing it is not what is said to be next', async () => {
  shell.terminal = true;
  shell.subscriptions.refusedHere = true;
  for (const status of ['Active', 'Expired'] as const) {
    shell.subscriptions.status = status;
    const { code, out } = await shell.run('subscriptions');
    expect([code, out]).toEqual([0, expect.stringMatching(/ HERE .*\n.* refused .*\n/)]);
    expect(out.replace(/\s+/g, ' ')).toContain('No token of it is known here');
    expect(out).toContain(`tramline subscriptions end ${id}`);
    expect(out).not.toContain('tramline subscriptions renew');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  }
  const { value } = await shell.json('subscriptions');
  expect(value).toMatchObject([{ id, refusedHere: true }]);
});

test('delivery settings are shown, and changed by what is named only', async () => {
  expect((await shell.run('delivery')).out).toContain('authorizationHeaderValue  [secret]');
  const words = ['--concurrency', '3', '--batch-size', '100'];
  // As it is typed, and as it is shown.
  for (const status of ['paused', 'Paused'])
    expect((await shell.run('delivery', 'set', '--status', status, ...words)).code).toBe(0);
  const rotated = await shell.run('delivery', 'set', '--rotate-authorization');
  expect(rotated.out).toContain('accepted until the provider uses the new one');
  expect(shell.subscriptions.wanted).toEqual([
    { status: 'Paused', concurrentDeliveries: 3, maxBatchSize: 100 },
    { status: 'Paused', concurrentDeliveries: 3, maxBatchSize: 100 },
    { authorization: { generate: true } },
  ]);
});

test('a value comes from a file, is one line, and is printed nowhere', async () => {
  const { code, out } = await shell.run(
    'delivery',
    'set',
    '--authorization-file',
    fileWith('Bearer canary-value\n'),
  );
  expect([code, out.includes('canary')]).toEqual([0, false]);
  expect(shell.subscriptions.wanted).toEqual([{ authorization: { value: 'Bearer canary-value' } }]);
  for (const wrong of ['short', 'canary-one\ncanary-two', 'canary-\u00e9-value']) {
    const refused = await shell.run('delivery', 'set', '--authorization-file', fileWith(wrong));
    expect([refused.code, refused.error.includes('canary')]).toEqual([2, false]);
  }
});
