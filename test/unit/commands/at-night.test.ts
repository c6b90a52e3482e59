// Whoever is woken reads 80 columns: the worst comes first, what must be acted on is whole, and the next step is named.
// The store says the longest things that are kept of strangers; an address or a command stays whole on a line of its own.
import { agedTime } from '../../../src/commands/age';
import { textWidth } from '../../../src/commands/text-width';
import type { AlertView } from '../../../src/model/api';
import { oauth1Ending } from '../../../src/model/connection';
import type { OrganizationView } from '../../../src/model/organization';
import { alert, entry, history, organizations, task } from '../operations/sample-store';
import { makeShell, type Shell, serveFor } from './shell';

const longName = `Estate of ${'Very Long Name '.repeat(30)}`.trim();
const message = `The organization must do ${'this and that '.repeat(40)}`.trim();
const actionUrl = `https://provider.example/portal/${'connections/'.repeat(9)}select`;
const subscription = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const address = `https://provider.example/isg/equipment/${'1'.repeat(90)}`;

let shell: Shell;
let server: Awaited<ReturnType<typeof serveFor>>;

beforeEach(async () => {
  shell = makeShell();
  shell.terminal = true;
  server = await serveFor(shell);
});
afterEach(() => server.close(10));

/** Lines that a terminal of 80 columns would break, but those that are one word: an address, and nothing beside it. */
const wide = (out: string) => out.split('\n').filter((line) => textWidth(line) > 80 && /\S\s+\S/.test(line));

const anAlert = (name: string, more: Partial<typeof alert>) => ({
  ...alert,
  fingerprint: name,
  name,
  ...more,
});

test('the next step of organizations is of one that must act, never of one that was forgotten', async () => {
  const [active, blocked] = organizations as [OrganizationView, OrganizationView];
  const forgotten = {
    ...blocked,
    id: '9',
    name: null,
    access: 'not-connected',
    since: '2024-01-01T00:00:00.000Z',
    forgotten: true,
  } as const;
  const shown = async (...list: OrganizationView[]) => {
    Object.assign(shell.sample.store, {
      listOrganizations: async () => list,
      findOrganization: async () => list[0],
    });
    return (await shell.run('organizations')).out;
  };
  const both = await shown(forgotten, blocked);
  expect(both).toContain('then:\n  tramline organizations probe 4712');
  expect(both).not.toContain('probe 9');
  expect(both).toContain('2 organizations: 1 terms-required, 1 forgotten');
  expect(await shown(forgotten, active)).toContain('→ What needs a person: tramline alerts');
  const one = (await shell.run('organizations', 'get', '9')).out;
  expect(one).toContain('Organization 9 was forgotten');
  expect(one).toMatch(/^access +forgotten$/m);
  const left = async (parked: number) => {
    await shown({ ...forgotten, parked });
    return (await shell.run('organizations', 'get', '9')).out.replace(/\s+/g, ' ');
  };
  expect(await left(0)).toContain('nobody has to act, unless it connects again');
  expect(await left(1)).toContain('was forgotten, and 1 waits until it connects again');
  expect(await left(2)).toContain('and 2 wait until it connects again or, where that was broken off');
  expect(await left(2)).toContain('repeated: tramline organizations forget 9');
});

test('an organization that only deliveries named is not shown as one that may be read', async () => {
  const named = { ...organizations[0]!, id: '9', name: null, seen: false };
  const store = { listOrganizations: async () => [named], findOrganization: async () => named };
  Object.assign(shell.sample.store, store);
  const { out } = await shell.run('organizations');
  expect(out).toMatch(/^9 +never seen /m);
  expect(out).toContain('1 organization: 1 never seen');
  const one = (await shell.run('organizations', 'get', '9')).out;
  expect(one).toMatch(/^access +never seen$/m);
  expect(one).toContain('No connection was shown it yet. Whoever sees it there: tramline connect');
  const { value } = await shell.json<OrganizationView>('organizations', 'get', '9');
  expect(value).toMatchObject({ access: 'active', seen: false });
  // Blocked it is what it is, whoever said so.
  Object.assign(named, { access: 'terms-required', since: '2025-03-01T10:00:00.000Z' });
  expect((await shell.run('organizations')).out).toContain('1 terms-required');
});

test('of one organization what is not known takes no line, also where it shows nothing', async () => {
  const [active] = organizations as [OrganizationView];
  Object.assign(shell.sample.store, {
    findOrganization: async () => ({ ...active, name: null, message: ' ' }),
  });
  for (const asked of ['get', 'probe']) {
    const { out } = await shell.run('organizations', asked, '5000');
    expect(out.split('\n').flatMap((line) => /^\w+/.exec(line)?.[0] ?? [])).toEqual([
      ...['id', 'access', 'parked', 'connection'],
    ]);
  }
});

test('a list that holds nothing points to the alerts only where one fires', async () => {
  Object.assign(shell.sample.store, { listTasks: async () => [], listQuarantine: async () => [] });
  const steps = async () => [
    (await shell.run('parked')).out.trim().split('\n').at(-1),
    (await shell.run('quarantine', 'list')).out.trim().split('\n').at(-1),
  ];
  const [open, none] = ['What needs a person: tramline alerts', 'What the service stands on: tramline check'];
  expect(await steps()).toEqual([`→ ${open}`, `→ ${open}`]);
  const over = { ...alert.annotations, over_since: '2025-03-01T10:00Z', closes_at: '2025-03-01T10:05Z' };
  for (const alerts of [[], [{ ...alert, annotations: over }]]) {
    Object.assign(shell.sample.store, { listAlerts: async () => alerts });
    expect(await steps()).toEqual([`→ ${none}`, `→ ${none}`]);
  }
});

test.each([
  ['terms', 'must accept the terms (“'],
  ['required-action', 'must do what the provider requires (“'],
] as const)('what must be done is told by its reason: %s', async (reason, words) => {
  const blocked = { ...organizations[1]!, reason };
  Object.assign(shell.sample.store, {
    listOrganizations: async () => [blocked],
    findOrganization: async () => blocked,
  });
  for (const command of [['organizations'], ['organizations', 'get', '4712'], ['parked']])
    expect((await shell.run(...command)).out.replace(/\s+/g, ' ')).toContain(words);
});

test('an id that a shell would take for more than a word is quoted in the next step', async () => {
  const blocked = { ...organizations[1]!, id: '47 12; reboot', name: null };
  Object.assign(shell.sample.store, {
    listOrganizations: async () => [blocked],
    findOrganization: async () => blocked,
  });
  for (const command of [['organizations'], ['organizations', 'get', blocked.id]])
    expect((await shell.run(...command)).out).toContain("tramline organizations probe '47 12; reboot'\n");
});

test('how many earlier changes of access are no longer kept is said before those that are', async () => {
  Object.assign(shell.sample.store, { accessHistory: async () => [{ ...history[0]!, nth: 205 }] });
  const { out } = await shell.run('organizations', 'get', '4712');
  expect(out).toMatch(/\n\n204 earlier changes are no longer kept\.\n.*active → terms-required/);
  Object.assign(shell.sample.store, { accessHistory: async () => history });
  expect((await shell.run('organizations', 'get', '4712')).out).not.toContain('no longer kept');
});

test('an operator who revoked a connection is named in the history', async () => {
  const revoked = {
    ...history[0]!,
    to: 'reauthorize',
    by: 'operator',
    askedBy: null,
    cause: 'refused-grant',
  };
  Object.assign(shell.sample.store, { accessHistory: async () => [revoked] });
  expect((await shell.run('organizations', 'get', '4712')).out).toContain(
    'active → reauthorize, said by operator: connection revoked\n',
  );
});

test('a probe that an operator asked for is told as what the provider answered, not as the word of the operator', async () => {
  const asked = { ...history[0]!, by: 'probe', askedBy: 'operator', cause: 'terms' };
  Object.assign(shell.sample.store, { accessHistory: async () => [asked] });
  const { out } = await shell.run('organizations', 'get', '4712');
  expect(out.replace(/\s+/g, ' ')).toContain('said by probe asked for by operator: terms');
});

test('every command for the one on call fits 80 columns, cuts no address and names the next step', async () => {
  const blocked = { ...organizations[1]!, name: longName, message, actionUrl };
  Object.assign(shell.sample.store, {
    listOrganizations: async () => [blocked],
    findOrganization: async () => blocked,
    accessHistory: async () => [
      ...history,
      {
        ...history[0]!,
        from: 'terms-required',
        to: 'not-connected',
        askedBy: 'notification',
        cause: 'required-action',
      },
    ],
    listTasks: async () => [{ ...task, address }],
    listAlerts: async () => [
      anAlert('TramlineSubscriptionExpired', {
        labels: { subscription_id: subscription },
        annotations: { ...alert.annotations, description: message, action_url: actionUrl },
      }),
    ],
    explain: async (of: string) => ({
      of,
      what: 'delivery',
      steps: [{ at: '2025-03-01T10:00:00.000Z', step: 'quarantined', text: message, address }],
    }),
  });
  shell.sample.entries = [{ ...entry, detail: message, address, raw: `{"a":"${'x'.repeat(5000)}"}` }];
  shell.alertTests = [{ sink: 'slack', outcome: 'unreachable', status: null, detail: message }];

  const commands: [words: string, whole: string][] = [
    ['check', 'Look at KAFKA_BROKERS.'],
    ['alerts', subscription],
    ['alerts', actionUrl],
    ['alerts test', 'tramline config'],
    ['organizations list', actionUrl],
    ['organizations get 4712', actionUrl],
    ['organizations get 4712', 'required-action'],
    ['organizations probe 4712', actionUrl],
    ['parked', actionUrl],
    ['parked', address],
    ['quarantine list', 'tramline quarantine show q1'],
    ['quarantine show q1', address],
    ['explain d1', 'tramline quarantine list'],
  ];
  for (const [words, whole] of commands) {
    const { out } = await shell.run(...words.split(' '));
    const shown = out.split('\n').filter((line) => line.includes(whole));
    expect([words, wide(out), shown.length > 0, out.includes('\n→ ')]).toEqual([words, [], true, true]);
  }
});

test('a name that is endless is cut in sentences, and one that shows nothing is none', async () => {
  const said = async (name: string, words: string) => {
    const blocked = { ...organizations[1]!, name };
    Object.assign(shell.sample.store, {
      listOrganizations: async () => [blocked],
      findOrganization: async () => blocked,
      listTasks: async () => [task],
    });
    const { out } = await shell.run(...words.split(' '));
    return out.slice(out.indexOf('\n→') + 1);
  };
  for (const words of ['organizations list', 'organizations get 4712', 'parked']) {
    const cut = await said('x'.repeat(500), words);
    expect([words, cut.split('\n')[0]]).toEqual([words, expect.stringMatching(/^→ x{59}… \(4712\)/)]);
    for (const nothing of ['', '  ', '\u202e\u0007'])
      expect([words, await said(nothing, words)]).toEqual([
        words,
        expect.stringContaining('→ Organization 4712'),
      ]);
  }
});

test('where to read on is told once for each name of an alert', async () => {
  const runbook = 'https://runbooks.test/TramlineTermsRequired.md';
  const told = (id: string) =>
    anAlert(id, {
      name: 'TramlineTermsRequired',
      labels: { organization_id: id },
      annotations: { ...alert.annotations, runbook_url: runbook },
    });
  Object.assign(shell.sample.store, { listAlerts: async () => [told('4711'), told('4712')] });
  const { out } = await shell.run('alerts');
  expect(out.match(/^ {2}read {3}\S+$/gm)).toEqual([`  read   ${runbook}`]);
  expect(out.indexOf(runbook)).toBeLessThan(out.indexOf('4712'));
});

test('a ledger names the next step, also where all is well, and first of all where something is lost', async () => {
  const { ledger } = shell.sample.store;
  const stepOf = async (more: object) => {
    Object.assign(shell.sample.store, { ledger: async () => ({ ...(await ledger()), ...more }) });
    const { code, out } = await shell.run('ledger');
    return [code, out.split('\n').at(-2)];
  };
  const whole = { accepted: 1, published: 1, merged: 0, unchanged: 0, gone: 0, acted: 0, ignored: 0 };
  const well = { ...whole, parked: 0, quarantined: 0, discarded: 0, waiting: 0 };
  expect(await stepOf(well)).toEqual([0, '→ What needs a person: tramline alerts']);
  expect(await stepOf({ ...well, accepted: 2 })).toEqual([1, expect.stringContaining('must never be')]);
  expect(await stepOf({ ...well, accepted: 2, parked: 1 })).toEqual([
    0,
    expect.stringContaining('who must act'),
  ]);
});

test('a journey sends the one on call to the entry that waits, and nowhere once it was discarded', async () => {
  const told = async (ledger: string, entryState: string) => {
    const text = `notification 0 (equipment) ${address} → ${ledger} as q7: address-refused at /targetResource`;
    const at = '2025-03-01T10:00:00.000Z';
    const step = { at, step: 'quarantined', text, address, entry: 'q7', entryState };
    Object.assign(shell.sample.store, {
      explain: async (of: string) => ({ of, what: 'delivery', steps: [step] }),
    });
    const { out } = await shell.run('explain', 'd1');
    expect([wide(out), out.includes(address)]).toEqual([[], true]);
    return out.split('\n').at(-2);
  };
  expect(await told('quarantined', 'waiting')).toBe('→ Look at it: tramline quarantine show q7');
  expect(await told('discarded', 'discarded')).toBe('→ What needs a person: tramline alerts');
});

test('of what many wait for, the list names the one command that decides them all', async () => {
  const listed = async (...entries: Partial<typeof entry>[]) => {
    shell.sample.entries = entries.map((more, index) => ({ ...entry, id: `q${index}`, ...more }));
    const { out } = await shell.run('quarantine');
    expect(wide(out)).toEqual([]);
    return out
      .replace(/\s+/g, ' ')
      .split('→ ')
      .slice(2)
      .map((step) => step.trim());
  };
  expect(await listed({ reason: 'no-access' }, {})).toEqual([]);
  const task = { what: 'task', reason: 'malformed-document' } as const;
  expect(await listed({}, task, task)).toEqual([
    'All of one reason, once its cause is mended: tramline quarantine release --reason malformed-document',
  ]);
  const body = { what: 'delivery', reason: 'malformed-body' } as const;
  expect(await listed({}, body, body)).toEqual([
    'To give up all of one reason, on record: tramline quarantine discard --reason malformed-body',
  ]);
});

test('what arrived is shown as far as a screen takes it, with where the rest is', async () => {
  shell.sample.entries = [{ ...entry, raw: 'x'.repeat(5000) }];
  const { out } = await shell.run('quarantine', 'show', 'q1');
  expect(out.match(/^x{80}$/gm)).toHaveLength(10);
  expect(out).toContain('… and 4200 characters more: tramline quarantine show --json q1\n');
  expect((await shell.json<{ raw: string }>('quarantine', 'show', 'q1')).value.raw).toHaveLength(5000);
});

test('what arrived in wide characters fits 80 columns too, and what is left of it is counted', async () => {
  const raw = `{"name":"${'農場'.repeat(500)}"}`;
  shell.sample.entries = [{ ...entry, raw }];
  const { out } = await shell.run('quarantine', 'show', 'q1');
  const shown = out.split('\n').filter((line) => line.includes('農'));
  expect(shown.every((line) => textWidth(line) <= 80)).toBe(true);
  expect(shown).toHaveLength(10);
  const left = raw.length - shown.join('').length;
  expect(out).toContain(`… and ${left} characters more: tramline quarantine show --json q1\n`);
});

test('of an entry that waits only what can be done with it is named, and nothing is left blank', async () => {
  const steps = async (more: Partial<typeof entry>) => {
    shell.sample.entries = [{ ...entry, reason: 'store-refused', path: '', ...more }];
    const { out } = await shell.run('quarantine', 'show', 'q1');
    expect(out).toMatch(/^path +–$/m);
    return out.split('\n→ ').slice(1).join('');
  };
  for (const what of ['notification', 'task', 'record'] as const) {
    expect(await steps({ what })).toBe(
      'Once its cause is mended: tramline quarantine release q1\n' +
        'To give it up, on record: tramline quarantine discard q1\n',
    );
  }
  const only = 'It cannot be released. To give it up, on record:\n  tramline quarantine discard q1\n';
  expect(await steps({ what: 'delivery', reason: 'malformed-body' })).toBe(only);
  expect(await steps({ reason: 'unauthenticated' })).toBe(only);
  // What was cut when it was kept can be judged by nobody.
  expect(await steps({ raw: '{"eventTypeId":"equip' })).toBe(only);
  expect(await steps({ reason: 'repeated-member', raw: '{"a":1,"a":2}' })).toBe(
    'Which was meant nobody knows; what changed is found by: tramline sync\n' +
      'To give it up, on record: tramline quarantine discard q1\n',
  );
  expect(await steps({ reason: 'malformed-notification', raw: 'null' })).toBe(
    'It is refused again, unless event types or version were changed since. To give\n' +
      '  it up, on record: tramline quarantine discard q1\n',
  );
});

test('what is given up is said to count where the ledger counts it', async () => {
  const told = async (what: typeof entry.what) => {
    shell.sample.entries = [{ ...entry, what }];
    return (await shell.run('quarantine', 'discard', 'q1')).out.split('\n')[0];
  };
  expect(await told('notification')).toBe('q1 is given up; the ledger counts it as discarded.');
  const counted = 'the ledger counts the notifications of it as discarded';
  for (const what of ['task', 'record'] as const)
    expect(await told(what)).toBe(`q1 is given up; ${counted}.`);
  const uncounted = 'it was never accepted, so the ledger does not count it';
  expect(await told('delivery')).toBe(`q1 is given up; ${uncounted}.`);
});

test('each line of a delivery names the notifications that it is of, and what is the same of several is one', async () => {
  const at = '2025-03-01T10:00:00.000Z';
  const read = { at, step: 'published', text: 'read and decided: published (content)' };
  const due = { at, step: 'due', text: 'now due: it is its turn soon' };
  const steps = [
    { at, step: 'hint', text: 'notification 0 (equipment) → merged', notification: 0 },
    { at, step: 'decided', text: 'event e1 was decided' },
    { ...read, ofNotifications: [1, 0, 2, 9] },
    { at, step: 'published', text: 'read and decided: unchanged', ofNotifications: [3] },
    ...[[4, 6], [5], [8]].map((ofNotifications) => ({ ...due, ofNotifications, detail: 'x' })),
  ];
  Object.assign(shell.sample.store, { explain: async (of: string) => ({ of, what: 'delivery', steps }) });
  const { out } = await shell.run('explain', 'd1');
  const texts = out.replaceAll(/\n +/g, ' ').split('\n').slice(1, 6);
  expect(texts.map((line) => line.slice(at.length + 13))).toEqual([
    'notification 0 (equipment) → merged',
    'event e1 was decided',
    'notifications 0–2, 9: read and decided: published (content)',
    'notification 3: read and decided: unchanged',
    'notifications 4–6, 8: now due: it is its turn soon – x',
  ]);
});

test('what a delivery says of two resources in turns is a line for each, however many notifications it has', async () => {
  const at = '2025-03-01T10:00:00.000Z';
  const steps = Array.from({ length: 256 }, (_, notification) => {
    const became = notification < 254 ? 'merged' : 'published (content)';
    const text = `notification ${notification} (equipment) https://provider.example/${notification % 2} → ${became}`;
    return { at, step: 'hint', text, notification };
  });
  Object.assign(shell.sample.store, { explain: async (of: string) => ({ of, what: 'delivery', steps }) });
  const { out } = await shell.run('explain', 'd1');
  const texts = out.replaceAll(/\n +/g, ' ').split('\n').slice(1, 5);
  const numbers = (first: number) => Array.from({ length: 127 }, (_, nth) => first + 2 * nth).join(', ');
  expect(out.split('\n').length).toBeLessThan(50);
  expect(texts.map((line) => line.slice(at.length + 8))).toEqual([
    `notifications ${numbers(0)} (equipment) https://provider.example/0 → merged`,
    `notifications ${numbers(1)} (equipment) https://provider.example/1 → merged`,
    'notification 254 (equipment) https://provider.example/0 → published (content)',
    'notification 255 (equipment) https://provider.example/1 → published (content)',
  ]);
});

test('an address in a journey stays whole where the terminal has room for it', async () => {
  const real = `https://provider.example/isg/equipment/${'2'.repeat(20)}`;
  const at = '2025-03-01T10:00:00.000Z';
  const step = { at, step: 'quarantined', text: `notification 0 (equipment) ${real} → as q7`, address: real };
  Object.assign(shell.sample.store, {
    explain: async (of: string) => ({ of, what: 'delivery', steps: [step] }),
  });
  const { out } = await shell.run('explain', 'd1');
  expect(wide(out)).toEqual([]);
  const line = out.split('\n').find((shown) => shown.includes(real))!;
  expect([line.trim(), line.length]).toEqual([real, 80]);
});

test('a journey of several notifications names the address of one that was read, not of one that was ignored', async () => {
  const told = async (...lines: string[]) => {
    const at = '2025-03-01T10:00:00.000Z';
    const steps = lines.map((step) => ({
      at,
      step,
      text: step,
      address: `https://provider.example/${step}`,
    }));
    Object.assign(shell.sample.store, {
      explain: async (of: string) => ({
        of,
        what: 'delivery',
        steps: [...steps, { at, step: 'sent', text: '' }],
      }),
    });
    return (await shell.run('explain', 'd1')).out.split('\n').at(-2);
  };
  const whole = '→ Its whole journey: tramline explain https://provider.example/hint';
  expect(await told('quarantined', 'ignored', 'hint')).toBe(whole);
  expect(await told('ignored')).toBe('→ What needs a person: tramline alerts');
});

test('one consent that many organizations wait for is asked for once', async () => {
  const refused = {
    ...organizations[1]!,
    access: 'reauthorize',
    reason: 'refused-grant',
    actionUrl: null,
  } as const;
  const many = ['1', '2', '3', '4', '5'].map((id) => ({
    ...refused,
    id,
    connection: id < '4' ? 'c1' : `c${id}`,
  }));
  shell.sample.store.findOrganization = async (wanted) => many.find(({ id }) => id === wanted) ?? null;
  shell.sample.store.listTasks = async () =>
    many.map(({ id }, index) => ({ ...task, id: index, organizationId: id }));
  const { out } = await shell.run('parked');
  expect(wide(out)).toEqual([]);
  const steps = out.replace(/\s+/g, ' ').split(' → ').slice(1);
  expect(steps).toHaveLength(3);
  expect(steps[0]).toMatch(/^Farm 4712 \(1\) and 2 more, blocked since .+, need a new consent .* --user c1$/);
  expect(steps[1]).toMatch(/^Farm 4712 \(4\), blocked since .+, needs a new consent .* --user c4$/);
});

test('an entry that has ended names where to read on', async () => {
  const shown = async (more: Partial<typeof entry>) => {
    shell.sample.entries = [{ ...entry, ...more }];
    return (await shell.run('quarantine', 'show', 'q1')).out.split('\n→ ')[1];
  };
  for (const state of ['released', 'discarded'] as const) {
    expect(await shown({ state, address })).toBe(`What became of it: tramline explain\n  ${address}\n`);
    expect(await shown({ state })).toBe('What became of it: tramline explain d1\n');
    expect(await shown({ state, deliveryId: null })).toBe('What still waits: tramline quarantine list\n');
  }
});

test('what was forgotten names where to read on, wherever its connection ended', async () => {
  const forget = async (id: string) => (await shell.run('organizations', 'forget', id, '--yes')).out;
  expect(await forget('4711')).toMatch(/\n→ What needs a person: tramline alerts\n$/);
  expect(await forget('4712')).toMatch(/\n→ Its customer ends the connection at the provider/);
});

test('alerts come worst first, each in full, and the last words are the next step of the worst', async () => {
  const at = (hour: number) => ({ startsAtMs: Date.parse('2025-03-01T00:00:00Z') + hour * 3_600_000 });
  const until = (time: string, firstStep = 'Another.') => ({
    annotations: { until_when: time, first_step: firstStep },
  });
  const ended = { state: 'resolved' as const };
  const resolvedAtMs = Date.parse('2025-03-02T00:00:00Z');
  const listed = [
    anAlert('EndedFirst', { ...ended, severity: 'critical', resolvedAtMs }),
    anAlert('EndedLast', { ...ended, resolvedAtMs: resolvedAtMs + 1000 }),
    anAlert('Information', { severity: 'info', ...at(1) }),
    anAlert('WarningUnbounded', { ...at(0), ...until('no end while there is space') }),
    anAlert('WarningOlder', { ...at(1), ...until('2025-03-31T00:00:00Z') }),
    anAlert('WarningNewer', { ...at(2), ...until('2025-03-31T00:00:00Z') }),
    anAlert('WarningSooner', { ...at(3), ...until('2025-03-04T00:00:00Z') }),
    anAlert('CriticalLater', { severity: 'critical', ...at(0), ...until('2025-03-09T00:00:00Z') }),
    anAlert('CriticalSoonest', {
      severity: 'critical',
      ...at(5),
      ...until('2025-03-05T00:00:00Z', 'Run now.'),
    }),
  ];
  const sorted = [...listed.slice(7).reverse(), ...[6, 4, 5, 3, 2, 1, 0].map((place) => listed[place]!)];
  shell.sample.store.listAlerts = async () => listed;
  const { value } = await shell.json<AlertView[]>('alerts');
  expect(value.map(({ name }) => name)).toEqual(sorted.map(({ name }) => name));
  const { out } = await shell.run('alerts');
  const names = sorted.map(({ name }) => name);
  expect(out.match(new RegExp(names.join('|'), 'g'))).toEqual(names);
  expect(out).toMatch(/\n\nLately resolved:\n[\s\S]*\n\n→ Run now\.\n$/);

  shell.sample.store.listAlerts = async () => listed.slice(0, 2);
  expect((await shell.run('alerts')).out).toMatch(
    /^No alert fires\. Lately resolved:\n[^→]*EndedLast[^→]*EndedFirst[^→]*→ [^→]*tramline check\n$/,
  );
});

test('of what ended it is said once which sinks still show it as open', async () => {
  const ended = { state: 'resolved' as const, resolvedAtMs: Date.parse('2025-03-02T00:00:00Z') };
  shell.sample.store.listAlerts = async () => ['One', 'Other', 'Told'].map((name) => anAlert(name, ended));
  const { alerts } = shell.api;
  const missing: Record<string, string[]> = { One: ['pagerduty'], Other: ['pagerduty', 'slack'] };
  shell.api.alerts = async () =>
    (await alerts()).map((alert) => {
      const notTold = missing[alert.name];
      return notTold === undefined ? alert : { ...alert, notTold };
    });
  const { out } = await shell.run('alerts');
  expect(out.match(/not yet to.*/g)).toEqual([
    'not yet to pagerduty, slack: `tramline check` says whether that fails',
  ]);
});

test('of each alert that fires its text, who acts, until when and what to do are read', async () => {
  const nowMs = Date.parse('2025-03-01T12:00:00Z');
  await shell.clock.wait(nowMs - shell.clock.nowMs());
  const told = (name: string, more: Record<string, string>) =>
    anAlert(name, {
      startsAtMs: nowMs - 3_600_000,
      labels: { topic: 'tramline.equipment.v1' },
      annotations: { description: `${name} is so. ${message}`, owner: 'platform', ...more },
    });
  shell.sample.store.listAlerts = async () => [
    told('One', {
      until_when: '2025-03-31T12:00:00Z',
      first_step: 'Run `tramline check`.',
      action_url: actionUrl,
    }),
    told('Two', { until_when: 'no end while the store has space', first_step: 'Run `tramline migrate`.' }),
    told('Three', { first_step: 'Ask.' }),
    told('Four', { until_when: '2024-11-06T12:00:00Z', first_step: 'Ask now.' }),
  ];
  const { out } = await shell.run('alerts');
  expect(wide(out)).toEqual([]);
  const blocks = out.split('\n\n');
  expect(blocks).toHaveLength(5);
  for (const [place, name] of ['Four', 'One', 'Two', 'Three'].entries()) {
    const block = blocks[place]!.split('\n');
    expect(block[0]).toBe(`warning  ${name}  since 2025-03-01T11:00Z, 60 min`);
    expect(block[1]).toBe('  of     tramline.equipment.v1');
    expect(block.join(' ').replace(/ +/g, ' ')).toContain(`${name} is so. ${message}`);
    expect(block).toContain('  owner  platform');
  }
  expect(blocks[0]).toContain('\n  until  2024-11-06T12:00Z, 115 d ago\n');
  expect(blocks[1]).toContain('\n  until  2025-03-31T12:00Z, in 30 d\n');
  expect(blocks[1]).toMatch(new RegExp(`\n  where\n +${actionUrl}\n  next   Run \`tramline check\`\\.$`));
  expect(blocks[2]).toContain(
    '\n  until  no end while the store has space\n  next   Run `tramline migrate`.',
  );
  expect(blocks[3]).toContain('\n  until  not known\n  next   Ask.');
});

test('of an alert that is only held it is said that it is over, and nobody is asked to act', async () => {
  const held = anAlert('TramlineTermsRequired', {
    severity: 'critical',
    annotations: {
      ...alert.annotations,
      description: 'Somebody must accept.',
      first_step: 'Send the address.',
      over_since: '2025-03-01T10:00:00Z',
      closes_at: '2025-03-01T10:01:15Z',
    },
  });
  const open = anAlert('TramlineRateLimited', { severity: 'warning' });
  Object.assign(shell.sample.store, { listAlerts: async () => [held, open] });
  const { out } = await shell.run('alerts');
  expect(out.replace(/\s+/g, ' ')).toContain(
    'nobody has to act. It closes at 2025-03-01T10:01:15Z unless it comes back.',
  );
  expect(out).not.toMatch(/Somebody must accept|Send the address/);
  const gap = { ...held, annotations: { ...held.annotations, when_over: 'A sync finds the rest.' } };
  Object.assign(shell.sample.store, { listAlerts: async () => [gap] });
  const left = (await shell.run('alerts')).out.replace(/\s+/g, ' ');
  expect(left).toContain('. A sync finds the rest. It closes at');
  expect(left).not.toContain('nobody has to act');
  expect(out.indexOf('TramlineRateLimited')).toBeLessThan(out.indexOf('TramlineTermsRequired'));
  Object.assign(shell.sample.store, { listAlerts: async () => [{ ...held, labels: {} }] });
  const alone = (await shell.run('alerts')).out;
  expect(alone).toContain('→ What the service stands on: tramline check');
  // It concerns nothing but what its name says.
  expect(alone).not.toMatch(/^ {2}of /m);
});

test('of very many alerts that fire the first are shown and the rest is counted', async () => {
  const many = (state: 'firing' | 'resolved') =>
    Array.from({ length: 60 }, (_none, place) => anAlert(`${state}${place}`, { state }));
  shell.sample.store.listAlerts = async () => [...many('firing'), ...many('resolved')];
  const { out } = await shell.run('alerts');
  expect([out.match(/firing\d+/g)?.length, out.match(/resolved\d+/g)?.length]).toEqual([50, 50]);
  expect(out.match(/… and 10 more: tramline alerts --json/g)).toHaveLength(2);
  expect((await shell.json<unknown[]>('alerts')).value).toHaveLength(120);
});

test('where many organizations must act, some are named and the rest is counted', async () => {
  const many = Array.from({ length: 40 }, (_none, index) => ({ ...organizations[1]!, id: `${100 + index}` }));
  shell.sample.store.listOrganizations = async () => many;
  shell.sample.store.findOrganization = async (wanted) => many.find(({ id }) => id === wanted) ?? null;
  shell.sample.store.listTasks = async () =>
    many.map(({ id }, index) => ({ ...task, id: index, organizationId: id }));
  const { out } = await shell.run('parked');
  expect(out.match(/tramline organizations probe \d+/g)).toHaveLength(3);
  expect(out).toContain('→ 37 more organizations must act: tramline organizations list\n');
});

test('a time tells how long ago it was, in a unit that says something', () => {
  const nowMs = Date.parse('2025-03-03T10:00:30.500Z');
  const told = [
    ['2025-03-03T10:00:30.500Z', '2025-03-03T10:00Z, 0 s'],
    ['2025-03-03T09:58:31.000Z', '2025-03-03T09:58Z, 119 s'],
    ['2025-03-03T09:58:30.500Z', '2025-03-03T09:58Z, 2 min'],
    ['2025-03-03T07:02:11Z', '2025-03-03T07:02Z, 2 h'],
    ['2025-03-01T10:00:31.000Z', '2025-03-01T10:00Z, 47 h'],
    ['2025-02-01T00:00:00.000Z', '2025-02-01T00:00Z, 30 d'],
    ['2025-03-03T13:30:00.000Z', '2025-03-03T13:30Z, in 3 h'],
  ] as const;
  for (const [time, words] of told) expect(agedTime(time, nowMs)).toBe(words);
});

test('alerts, organizations, what is parked and what is quarantined say since when, and how long that is', async () => {
  await shell.clock.wait(alert.startsAtMs + 3 * 3_600_000);
  shell.sample.store.listTasks = async () => [{ ...task, organizationId: '4712' }];
  const since = '2025-03-01T10:00Z, 3 h';
  const commands = ['alerts', 'organizations', 'parked', 'quarantine', 'quarantine show q1'];
  for (const words of [...commands, 'organizations get 4712']) {
    const { out } = await shell.run(...words.split(' '));
    expect([words, out.includes(since)]).toEqual([words, true]);
  }
});

test('of ten thousand, those that wait for a person come first, the rest is counted, and machines get all', async () => {
  const many = Array.from({ length: 10_000 }, (_none, index) => ({
    ...organizations[0]!,
    id: `${10_000 + index}`,
  }));
  const blocked = { ...organizations[1]!, id: '99999' };
  const all = [...many, blocked];
  const parkedTasks = many.map(({ id }, index) => ({ ...task, id: index + 1, organizationId: id }));
  Object.assign(shell.sample.store, {
    listOrganizations: async ({ after, limit }: { after: string | null; limit: number }) =>
      all.filter(({ id }) => after === null || id > after).slice(0, limit),
    findOrganization: async (id: string) => all.find((known) => known.id === id) ?? null,
    listTasks: async ({ after, limit }: { after: number; limit: number }) =>
      parkedTasks.filter(({ id }) => id > after).slice(0, limit),
  });
  const { out } = await shell.run('organizations');
  expect(out.split('\n')[1]).toMatch(/^99999 /);
  expect(out).toContain('\n… and 9951 more: tramline organizations --json\n');
  expect(out).toContain('\n10001 organizations: 1 terms-required, 10000 active\n');
  expect(out).toMatch(/→ [\s\S]*tramline organizations probe 99999\n$/);
  expect((await shell.json<unknown[]>('organizations')).value).toHaveLength(10_001);

  const parked = await shell.run('parked');
  expect(parked.out.split('\n').length).toBeLessThan(70);
  expect(parked.out).toContain('\n10000 resources of 10000 organizations\n');
  expect(parked.out).toContain('\n… and 9950 more: tramline parked --json\n');

  const old = { ...entry, id: 'q1', state: 'discarded' as const };
  const waits = Array.from({ length: 60 }, (_none, index) => ({ ...entry, id: `q${100 + index}` }));
  shell.sample.entries = [old, ...waits.slice(1), { ...waits[0]!, at: '2025-02-01T00:00:00.000Z' }];
  const quarantine = await shell.run('quarantine');
  expect(quarantine.out).toContain('\n60 wait: 60 malformed-notification\n');
  expect(quarantine.out).toContain('… and 11 more: tramline quarantine --json');
  expect(quarantine.out).toMatch(
    /→ Look at one: tramline quarantine show q100\n\n→ To give up all of one reason, [^→]+$/,
  );
});

test('who concerns somebody comes before all who never connected, and says what to do', async () => {
  const [, one] = organizations;
  const never = { ...one!, access: 'not-connected', parked: 0, concerns: false } as const;
  const many = Array.from({ length: 60 }, (_none, index) => ({ ...never, id: `${100 + index}` }));
  const since = '2025-03-02T10:00:00.000Z';
  shell.sample.store.listOrganizations = async () => [...many, { ...one!, id: '99', since }];
  const { out } = await shell.run('organizations');
  expect(out.split('\n')[1]).toMatch(/^99 /);
  expect(out).toMatch(/→ [\s\S]*tramline organizations probe 99\n$/);
  // Where nobody must be helped first, the place to connect is told all the same.
  shell.sample.store.listOrganizations = async () => many;
  expect((await shell.run('organizations')).out).toMatch(/→ [\s\S]*tramline organizations probe 100\n$/);
});

test('of a refused consent the next step is the command that asks for another', async () => {
  const refused = {
    ...organizations[1]!,
    name: longName,
    access: 'reauthorize',
    reason: 'refused-grant',
    message: 'token revoked',
    actionUrl: null,
  } as const;
  for (const [connection, command] of [
    ['c-3f2504e0', 'tramline connect --user c-3f2504e0'],
    [null, 'tramline connect'],
  ] as const) {
    Object.assign(shell.sample.store, {
      listOrganizations: async () => [{ ...refused, connection }],
      findOrganization: async () => ({ ...refused, connection }),
      listTasks: async () => [{ ...task, organizationId: '4712' }],
    });
    for (const words of ['organizations', 'organizations get 4712', 'parked']) {
      const { out } = await shell.run(...words.split(' '));
      expect([words, wide(out), out.endsWith(`${command}\n`)]).toEqual([words, [], true]);
      expect(out).toContain('(“token revoked”)');
    }
  }
});

test('where the provider’s refusal may be the end of OAuth 1, the command is that of the switch-over', async () => {
  const refused = {
    access: 'reauthorize',
    reason: 'refused-grant',
    actionUrl: null,
    connection: 'c1',
  } as const;
  const message = `Unauthorized. ${oauth1Ending}`;
  Object.assign(shell.sample.store, {
    findOrganization: async () => ({ ...organizations[1]!, ...refused, message }),
  });
  const { out } = await shell.run('organizations', 'get', '4712');
  expect(wide(out)).toEqual([]);
  expect(out.endsWith('tramline connect --auth oauth2 --user c1\n')).toBe(true);
  const said = out.slice(out.indexOf('→')).replace(/\s+/g, ' ');
  expect(said).toContain(` needs a new consent (“Unauthorized”. ${oauth1Ending}): `);
  expect(out).toMatch(/link\s+of\s+tramline\s+connect\s+--user\s+c1/);
});

test('where nothing is wrong, the next step leads on all the same', async () => {
  shell.sample.entries = [];
  Object.assign(shell.sample.store, {
    listOrganizations: async () => [],
    listTasks: async () => [],
    listAlerts: async () => [],
  });
  const steps = { alerts: 'check', organizations: 'connect', parked: 'check', quarantine: 'check' };
  for (const [words, next] of Object.entries(steps)) {
    const { out } = await shell.run(words);
    expect([words, out]).toEqual([words, expect.stringMatching(new RegExp(`\n→ .*tramline ${next}\n$`))]);
  }
});

test('of those that are blocked, the one that waits longest says what to do', async () => {
  const [, one] = organizations;
  const later = { ...one!, id: '1', since: '2025-03-02T10:00:00.000Z' };
  shell.sample.store.listOrganizations = async () => [later, one!];
  expect((await shell.run('organizations')).out).toMatch(/→ [\s\S]*tramline organizations probe 4712\n$/);
});
