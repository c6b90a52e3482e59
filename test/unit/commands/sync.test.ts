// Goal: whoever waits for a sync sees how far it is, and its end is an exit code.
// Method: views of a sync as the service gives them.
import { makeOutput } from '../../../src/commands/output';
import { progressOf } from '../../../src/commands/sync';
import { Problem } from '../../../src/model/problem';
import type { SyncView } from '../../../src/model/sync';
import { idleView } from '../../../src/sync/progress';
import { makeShell, serveFor } from './shell';

test('progress says what is done of what is known, how fast, and when it may end', () => {
  const view = { ...idleView(), listed: 500, tookMs: 2000 };
  expect(progressOf({ ...view, listings: { done: 10, read: 10, known: 40, total: 40 } }, 120)).toBe(
    '[======                  ] 10 of 40 listings · 500 resources · 250/s · about 6 s left',
  );
  expect(progressOf({ ...view, tookMs: 0, listings: { done: 0, read: 0, known: 0, total: 0 } }, 79)).toBe(
    '[                        ] 0 of 0 listings · 500 resources · 0/s',
  );
});

const running = { ...idleView(), listed: 3204, tookMs: 4000 };
const line = (more: Partial<SyncView>, columns = 80) => progressOf({ ...running, ...more }, columns);

test('while the total is not known the bar is that of the organizations, and no time is said to be left', () => {
  const more = {
    organizations: { done: 2, known: 8 },
    listings: { done: 12, read: 12, known: 40, total: null },
  };
  expect(line(more)).toBe('[=====               ] 12 of at least 40 listings · 2 of 8 organizations · 801/s');
  expect(line(more)).toHaveLength(80);
  expect(line(more, 40)).toBe('12/40+ · 801/s');
  expect(line({ ...more, organizations: { done: 0, known: 0 } })).toContain('[                    ] 12 of');
});

test('a total that is the last run’s, or what lists say, is about that', () => {
  expect(line({ listings: { done: 10, read: 10, known: 15, total: 40 } })).toContain(
    '10 of about 40 listings · 3204 resources · 801/s · about 12 s left',
  );
});

test('what a former process read is done, and does not make this one faster', () => {
  expect(line({ listings: { done: 30, read: 5, known: 35, total: 40 } })).toContain('about 8 s left');
  // Too little was read here to tell.
  expect(line({ listings: { done: 30, read: 2, known: 35, total: 40 } })).not.toContain('left');
});

test('in a pause that the provider asked for it is said that the sync is paused, and not when it ends', () => {
  const waits = { waitsUntil: '2026-03-01T00:10:00.000Z' };
  const said = line({ ...waits, listings: { done: 10, read: 10, known: 40, total: 40 } });
  expect([said.includes('paused'), said.includes('left')]).toEqual([true, false]);
});

test.each([
  [undefined, '[==       ] 1200 of 5200 listings · 50000 resources · 1234/s · about 136 s left'],
  [100, '[======                  ] 1200 of 5200 listings · 50000 resources · 1234/s · about 136 s left'],
  [81, '[==        ] 1200 of 5200 listings · 50000 resources · 1234/s · about 136 s left'],
  [70, '[====             ] 1200 of 5200 listings · 1234/s · about 136 s left'],
  [50, '1200 of 5200 listings · 1234/s · about 136 s left'],
  [40, '1200/5200 · 1234/s · 136 s left'],
])('a terminal of %s columns is shown all of it, the time left too', (columns, line) => {
  let shown = '';
  const error = (text: string) => {
    shown += text;
  };
  const output = makeOutput({ out: () => {}, error, colors: true, columns: () => columns }, false);
  const listings = { done: 1200, read: 1200, known: 5200, total: 5200 };
  const view = { ...idleView(), listed: 50_000, tookMs: 40_519, listings };
  output.progress((width) => progressOf(view, width));
  expect(shown).toBe(`\r\x1b[K${line}`);
  expect(line.length).toBeLessThan(columns ?? 80);
});

test.each([
  [{ state: 'ended' }, 0, ''],
  [
    { state: 'ended', trouble: 'later', partial: [{ scope: '1/equipment', detail: 'page 2' }] },
    1,
    '1/equipment was not read to its end',
  ],
  [{ state: 'stopped', run: 3, reason: 'the process stops' }, 1, 'the next sync goes on from here'],
  [
    { state: 'stopped', run: null, reason: 'another is at it: run 3' },
    1,
    'not begun: another is at it: run 3',
  ],
  [
    { state: 'ended', trouble: 'customer-must-act', skipped: [{ id: '1', access: 'terms-required' }] },
    5,
    'organization 1 is terms-required: skipped; what it waits for: tramline organizations get 1',
  ],
  [
    { state: 'ended', skipped: [{ id: '1', access: 'forgotten' }] },
    0,
    'organization 1 was forgotten: skipped; a probe asks whether it has connected again',
  ],
  [{ state: 'ended', partial: [{ scope: '1/fields', detail: 'it is not shared' }] }, 0, 'it is not shared'],
  [{ state: 'ended', trouble: 'failed', reason: 'no connection sees organization 9' }, 1, ''],
  [{ state: 'ended', reason: 'no connection sees organization 9' }, 3, 'no connection sees organization 9'],
])('a sync that is %j ends with %i', async (more, code, said) => {
  const shell = makeShell();
  shell.api.startSync = async () => ({ ...idleView(), listed: 7, ...more }) as never;
  const ended = await shell.run('sync');
  expect(ended.code).toBe(code);
  expect(ended.error).toContain(said);
});

test.each([
  [{ trouble: 'later' }, 'The next one reads what is left: tramline sync'],
  [{ trouble: 'failed' }, 'What is known to stand in the way: tramline check'],
  [{ trouble: 'customer-must-act' }, 'Who must act, and where: tramline organizations list'],
  [{ trouble: 'none' }, ''],
  [{ trouble: 'later', state: 'stopped', reason: 'the process stops' }, ''],
])('what was not read to its end, %j, has a next step, said once', async (more, step) => {
  const shell = makeShell();
  const partial = ['1/fields', '2/fields'].map((scope) => ({ scope, detail: 'status 403' }));
  const view = { ...idleView(), state: 'ended', run: 3, partial, ...more };
  shell.api.startSync = async () => view as never;
  const { out } = await shell.run('sync');
  expect(out.split('→ ').slice(1).join('→ ').trim()).toBe(step);
  expect((await shell.json('sync')).value).toMatchObject({ partial });
});

test('of a run that another process is at no counts are shown, which would not be its own', async () => {
  const shell = makeShell();
  shell.api.startSync = async () =>
    ({ ...idleView(), state: 'stopped', reason: 'another is at it' }) as never;
  expect((await shell.run('sync', '--full')).out).not.toContain('listed');
});

test('that a pause of the provider is waited for is said once', async () => {
  const shell = makeShell();
  const waits = { ...idleView(), state: 'running' as const, waitsUntil: '2026-03-01T00:10:00.000Z' };
  const views = [waits, { ...waits, waitsUntil: null }, waits, { ...idleView(), state: 'ended' as const }];
  shell.api.startSync = async () => waits;
  shell.api.sync = async () => views.shift()!;
  const { code, error } = await shell.run('sync');
  expect([code, error.split('asks for a pause until 2026-03-01T00:10:00.000Z')]).toEqual([
    0,
    [expect.any(String), ': the sync waits for its end\n'],
  ]);
});

test('a sync is followed to its own end, through the service too', async () => {
  const shell = makeShell();
  const own = { ...idleView(), state: 'running' as const, startedAt: '2026-03-01T12:00:00.000Z', listed: 7 };
  const next = { ...own, state: 'ended' as const, startedAt: '2026-03-01T12:00:01.000Z', listed: 9 };
  shell.api.startSync = async () => own;
  shell.api.sync = async (startedAt) => (startedAt === own.startedAt ? { ...own, state: 'ended' } : next);
  expect((await shell.json('sync')).value).toMatchObject({ listed: 7 });
  const server = await serveFor(shell);
  expect((await shell.json('sync')).value).toMatchObject({ listed: 7 });
  await server.close(0);
});

describe('a service that goes away while its sync is followed', () => {
  const away = () => Promise.reject(new Problem('store.unavailable', 'the service cannot be reached'));
  const running = (startedAt: string) => ({ ...idleView(), state: 'running' as const, startedAt });

  test('is followed on when it was started anew, and goes on with what it left', async () => {
    const shell = makeShell();
    const begun = [running('2026-03-01T12:00:00.000Z'), null, running('2026-03-01T12:00:09.000Z')];
    shell.api.startSync = async () => begun.shift() ?? away();
    shell.api.sync = async (startedAt) => {
      if (startedAt === '2026-03-01T12:00:00.000Z') return away();
      return { ...running(startedAt!), state: 'ended', listed: 9, resumed: true };
    };
    expect(await shell.json('sync')).toMatchObject({
      code: 0,
      value: { listed: 9, resumed: true },
      error: '',
    });
    expect(shell.clock.waits).toEqual([250, 500, 1000]);
  });

  test('is asked for no other where it had ended what it left before it was asked again', async () => {
    const shell = makeShell();
    const begun = [
      { ...running('2026-03-01T12:00:00.000Z'), run: 7 },
      { ...running('2026-03-01T12:00:20.000Z'), run: 8 },
    ];
    shell.api.startSync = async () => begun.shift()!;
    const looks = [away];
    const left = { ...running('2026-03-01T12:00:09.000Z'), run: 7, state: 'ended' as const, listed: 9 };
    shell.api.sync = async () =>
      looks.shift()?.() ?? (begun.length > 0 ? left : { ...left, run: 8, listed: 0 });
    expect(await shell.json('sync')).toMatchObject({ code: 0, value: { run: 7, listed: 9 }, error: '' });
  });

  test('is asked for nothing by whoever interrupts the pause before it is asked again', async () => {
    const shell = makeShell();
    const begun = [running('2026-03-01T12:00:00.000Z')];
    const asked: string[] = [];
    shell.api.startSync = async () => {
      asked.push('begin');
      return begun.shift() ?? away();
    };
    shell.api.sync = async () => {
      asked.push('look');
      return away();
    };
    shell.clock.wait = async (ms) => {
      if (ms === 8000) shell.interrupt.abort();
    };
    const { code, error } = await shell.run('sync');
    expect([code, error]).toEqual([130, expect.not.stringContaining('cannot be reached')]);
    expect(asked).toEqual(['begin', 'look', 'look', 'look', 'look', 'look']);
  });

  test('is left by whoever interrupts the wait, as at any other time', async () => {
    const shell = makeShell();
    shell.api.startSync = async () => running('2026-03-01T12:00:00.000Z');
    shell.api.sync = () => {
      shell.interrupt.abort();
      return away();
    };
    const { code, error } = await shell.run('sync');
    expect([code, error]).toEqual([130, expect.not.stringContaining('cannot be reached')]);
  });

  test('ends it after six looks in a row', async () => {
    const shell = makeShell();
    const begun = [running('2026-03-01T12:00:00.000Z')];
    shell.api.startSync = async () => begun.shift() ?? away();
    shell.api.sync = away;
    const { code, error } = await shell.run('sync');
    expect([code, error]).toEqual([1, expect.stringContaining('the service cannot be reached')]);
    expect(shell.clock.waits).toEqual([250, 500, 1000, 2000, 4000, 8000]);
  });
});

test('what is left to a read is said', async () => {
  const shell = makeShell();
  shell.api.startSync = async () => ({ ...idleView(), state: 'ended', listed: 3, left: 2 });
  expect((await shell.run('sync')).out).toContain('0 published, 2 left to a read;');
});

test('for machines it is one object', async () => {
  const shell = makeShell();
  shell.api.startSync = async () => ({ ...idleView(), state: 'ended', listed: 7 });
  const { code, value } = await shell.json<Record<string, unknown>>('sync', '--full');
  expect(code).toBe(0);
  expect(value).toMatchObject({
    listed: 7,
    changed: 0,
    unchanged: 0,
    published: 0,
    left: 0,
    trouble: 'none',
    pages: 0,
    calls: 0,
    tookMs: 0,
  });
});

test('settings show what the sandbox leaves', async () => {
  const shell = makeShell();
  Object.assign(shell.environment, { PROVIDER_PLAN: 'sandbox', PROVIDER_SANDBOX_SINCE: '2026-01-01' });
  shell.api.sandbox = async () => ({
    plan: 'sandbox',
    limits: [{ limit: 'calls', used: 10, most: 150_000, left: 149_990, detail: 'of 2026-01' }],
  });
  expect((await shell.run('config')).out).toContain('sandbox: 149990 of 150000 calls left (of 2026-01)');
  const { value } = await shell.json<Record<string, unknown>>('config');
  expect(value).toMatchObject({
    PROVIDER_PLAN: { value: 'sandbox', from: 'environment' },
    sandbox: { value: [{ limit: 'calls', left: 149_990 }], from: 'store' },
  });
  shell.api.sandbox = () => Promise.reject(new Error('no store'));
  expect((await shell.json('config')).value).toMatchObject({ sandbox: { value: null, from: 'unset' } });
});
