// Goal: whoever replays sees what is selected, and its end is an exit code.
// Method: views of a replay as the service gives them.

import { NobodyListens } from '../../../src/commands/client';
import { Problem } from '../../../src/model/problem';
import type { ReplayRefusal, ReplayView, ReplayWanted } from '../../../src/model/replay';
import { makeShell, serveFor } from './shell';

const id = 'a'.repeat(32);
const view: ReplayView = {
  state: 'ended',
  how: 'newest',
  toTopic: null,
  dryRun: false,
  resumed: false,
  leftAt: null,
  replayedBefore: 0,
  earlierUnsent: 0,
  refused: [],
  reason: null,
  selected: 4,
  keys: 2,
  replayed: 2,
  unknown: [],
  calls: 0,
  parked: 0,
  forgotten: 0,
  waiting: 0,
  callsLeft: null,
  startedAt: '2026-03-01T12:00:00.000Z',
  tookMs: 1500,
};

function replaying(more: Partial<ReplayView> = {}) {
  const shell = makeShell();
  const asked: ReplayWanted[] = [];
  shell.api.startReplay = async (wanted) => {
    asked.push(wanted);
    return { ...view, ...more, state: 'running' };
  };
  shell.api.replay = async () => ({ ...view, ...more });
  return { shell, asked };
}

test('the newest of a kind is sent again, and counts say how many', async () => {
  const { shell, asked } = replaying();
  const { code, out } = await shell.run('replay', '--kind', 'equipment');
  expect(code).toBe(0);
  expect(out).toContain('4 events selected, 2 keys: 2 records sent again, 1.5 s');
  expect(asked).toMatchObject([{ how: 'newest', kind: 'equipment', events: null, dryRun: false }]);
});

test('what an earlier replay has still to send is told by the one that selects none of it', async () => {
  const { shell } = replaying({ keys: 0, replayed: 0, earlierUnsent: 3 });
  const { out, error } = await shell.run('replay', '--kind', 'equipment');
  expect(out).toContain('4 events selected, 0 keys: 0 records sent again');
  expect(error).toContain('still to be sent: 3 records of an earlier replay');
});

test('what the topic refused is told with its reason and makes the command fail', async () => {
  const { shell } = replaying({
    replayed: 1,
    refused: [{ reason: 'record-too-large', records: 3, events: [] }],
  });
  const { code, out, error } = await shell.run('replay', '--kind', 'equipment');
  expect(code).toBe(1);
  expect(out).toContain('1 record sent again');
  expect(error).toContain('3 refused: record-too-large; they stand on their topics as they were sent before');
});

test.each([
  [1, `1 refused: record-too-large (${id}); audit has all others`],
  [3, `3 refused: record-too-large (${id} and 2 more); audit has all others`],
])(
  'what a topic lacks of history, %i, is named, with advice that keeps the order of keys',
  async (records, said) => {
    const refused: ReplayRefusal[] = [{ reason: 'record-too-large', records, events: [id] }];
    const { shell } = replaying({ how: 'history', toTopic: 'audit', refused });
    const { code, error } = await shell.run('replay', '--kind', 'equipment', '--to-topic', 'audit');
    expect(code).toBe(1);
    expect(error).toContain(said);
    expect(error).toContain('create another topic whose max.message.bytes is that of the live ones');
    expect(error).toContain('replay the same to it');
    expect(error).not.toContain('their keys');
  },
);

test('what did not go again since the store was behind its topics is told, and makes the command fail', async () => {
  const { shell } = replaying({ replayed: 0, refused: [{ reason: 'store-behind', records: 2, events: [] }] });
  const { code, error } = await shell.run('replay', '--kind', 'equipment');
  expect(code).toBe(1);
  expect(error).toContain('2 not sent: the store was found behind their topics');
});

test.each([
  ['newest', 'wait to be sent, and go out anyway'],
  ['history', 'left out: they, or one of their key before them, are not sent yet'],
] as const)(
  'what waits to be sent is counted apart from what %s brings, and is not unknown',
  async (how, said) => {
    const { shell } = replaying({ how, selected: 0, keys: 0, replayed: 0, waiting: 2 });
    const words = how === 'history' ? ['--to-topic', 'audit'] : [];
    const { code, out, error } = await shell.run('replay', '--event', id, ...words);
    expect(code).toBe(0);
    expect(error).not.toContain('kept');
    expect(out).toContain(`0 records sent again, 1.5 s; 2 ${said}`);
  },
);

test.each([
  [['--event', id, '--refetch', '--dry-run'], { how: 'reads', events: [id], dryRun: true }],
  [['--event', ` ${id.toUpperCase()} `], { how: 'newest', events: [id] }],
  [['--event', id, '--event', id], { how: 'newest', events: [id, id] }],
  [['--organization', '7', '--to-topic', 'audit'], { how: 'history', organizationId: '7', toTopic: 'audit' }],
])('%j asks for what it says', async (words, wanted) => {
  const { shell, asked } = replaying();
  expect((await shell.run('replay', ...words)).code).toBe(0);
  expect(asked).toMatchObject([wanted]);
});

test('a replay is followed to its own end, through the service too', async () => {
  const { shell } = replaying();
  const next = { ...view, startedAt: '2026-03-01T12:00:01.000Z', replayed: 9 };
  shell.api.replay = async (startedAt) => (startedAt === view.startedAt ? view : next);
  expect((await shell.json('replay', '--kind', 'equipment')).value).toMatchObject({ replayed: 2 });
  const server = await serveFor(shell);
  expect((await shell.json('replay', '--kind', 'equipment')).value).toMatchObject({ replayed: 2 });
  await server.close(0);
});

test('at a terminal a failure is told in a line of its own, not behind the progress', async () => {
  const { shell } = replaying();
  shell.terminal = true;
  shell.api.replay = async () => {
    throw new Problem('store.unavailable', 'the service is gone');
  };
  const { code, error } = await shell.run('replay', '--kind', 'equipment');
  expect([code, error.split('\r\x1b[K').at(-1)]).toEqual([
    1,
    expect.stringMatching(/^tramline: the service/),
  ]);
});

test('one that goes on says when the former was left and what that had sent, and counts its own', async () => {
  const { shell } = replaying({
    resumed: true,
    leftAt: '2026-11-22T11:34:10.000Z',
    replayedBefore: 500,
    how: 'history',
  });
  const { out } = await shell.run('replay', '--kind', 'equipment', '--to-topic', 'audit');
  expect(out).toContain(
    'goes on with the one that was left at 2026-11-22T11:34:10.000Z: 500 records sent again then',
  );
  expect(out).toContain('4 events selected: 2 records sent again, 1.5 s');
});

test.each([
  ['newest', 'begins anew', '2 records on their way'],
  ['history', 'goes on from there, for ten minutes and until another replay begins', '2 records sent again'],
] as const)(
  'one of %s that stopped says that the same command %s, and tells %s',
  async (how, said, counted) => {
    const { shell } = replaying({ how, state: 'stopped', reason: 'no' });
    const { out, error } = await shell.run('replay', '--kind', 'equipment');
    expect(error).toContain(`the same command ${said}`);
    // What of the newest was marked may wait for Kafka still.
    expect(out).toContain(counted);
  },
);

test.each([
  ['newest', 'begins anew', []],
  ['history', 'goes on from there, for ten minutes and until another replay begins', ['--to-topic', 'audit']],
] as const)(
  'whose service went away in one of %s is told that the same command %s',
  async (_, said, words) => {
    const gone = new Problem('store.unavailable', 'the service is gone');
    const { shell } = replaying();
    shell.api.replay = () => Promise.reject(gone);
    const { code, error } = await shell.run('replay', '--kind', 'equipment', ...words);
    expect(code).toBe(1);
    expect(error).toContain(`the service is gone; if the replay ended with it, the same command ${said}`);
    expect((await shell.run('replay', '--kind', 'equipment', ...words, '--dry-run')).error).not.toContain(
      'same',
    );
    shell.api.startReplay = () => Promise.reject(gone);
    expect((await shell.run('replay', '--kind', 'equipment', ...words)).error).not.toContain('same');
  },
);

test.each([
  [
    'newest',
    [],
    'any more: it had counted 2 records on their way; those that have not gone out go as soon as a worker runs; if the replay ended with it, the same command begins anew',
  ],
  [
    'reads',
    ['--refetch'],
    'any more: it had counted 2 resources to be read again; if the replay ended with it, the same command goes on from there, for ten minutes and until another replay begins',
  ],
] as const)(
  'whose service ends in the middle of %s is not begun anew on the store',
  async (how, words, said) => {
    const { shell, asked } = replaying({ how });
    const server = await serveFor(shell);
    shell.api.replay = async () => ({ ...view, how, state: 'running' });
    let looks = 0;
    shell.clock.wait = async () => {
      looks += 1;
      if (looks === 2) await server.close(0);
    };
    const { code, out, error } = await shell.run('replay', '--kind', 'equipment', ...words);
    expect([code, out, asked.length, shell.opened]).toEqual([1, '', 1, 0]);
    expect(error).toContain(said);
  },
);

test.each([
  ['which makes none', { ...view, state: 'idle', startedAt: null, selected: 0, replayed: 0 }],
  ['which ended another', { ...view, startedAt: '2026-03-01T12:00:09.000Z', replayed: 9 }],
] as const)(
  'a replay whose address another process answers by now, %s, is not told as ended',
  async (_, other) => {
    const { shell } = replaying();
    shell.api.replay = async () => other;
    const { code, out, error } = await shell.run('replay', '--kind', 'equipment');
    expect([code, out]).toEqual([1, '']);
    expect(error).toContain(
      'another process answers now, which does not make this replay: it had counted 2 records',
    );
  },
);

test.each([
  [
    2,
    'about 2 calls to the provider, any settling reads among them, more for what is gone, has moved or fails',
  ],
  [0, 'no calls to the provider'],
])(
  'a dry run says about how many calls reads would cost and what the sandbox leaves: %i',
  async (calls, said) => {
    const { shell } = replaying({ dryRun: true, how: 'reads', calls, callsLeft: 90 });
    const { out } = await shell.run('replay', '--kind', 'equipment', '--refetch', '--dry-run');
    expect(out).toContain(`keys; ${said}; 90 calls left in the sandbox`);
  },
);

test.each([
  [['--dry-run'], true],
  [[], false],
] as const)(
  'what is parked, and what is left out of forgotten organizations, is told: %j',
  async (words, dryRun) => {
    const { shell } = replaying({ dryRun, how: 'reads', parked: 5, forgotten: 2 });
    const { out } = await shell.run('replay', '--kind', 'equipment', '--refetch', ...words);
    expect(out).toContain(
      '; 5 parked until a customer acts (`tramline parked`); 2 of forgotten organizations left out',
    );
  },
);

test.each([
  [{ selected: 0, unknown: [id] }, 3, 'none of these events is kept'],
  [{ state: 'stopped', reason: 'audit: no' } as const, 1, 'stopped: audit: no'],
])('a replay that is %j ends with %i', async (more, code, said) => {
  const { shell } = replaying(more);
  const ended = await shell.run('replay', '--event', id);
  expect(ended).toMatchObject({ code, error: expect.stringContaining(said) });
});

test('an organization that nobody knows is not found, and one of which nothing is kept is replayed as nothing', async () => {
  const { shell, asked } = replaying({ selected: 0, keys: 0, replayed: 0 });
  const known = shell.api.organization;
  shell.api.organization = () => Promise.reject(new Problem('command.not-found', 'no organization 9'));
  expect(await shell.run('replay', '--organization', '9')).toMatchObject({
    code: 3,
    error: expect.stringContaining('nobody knows the organization 9'),
  });
  shell.api.organization = () => Promise.reject(new NobodyListens('the service is gone'));
  expect((await shell.run('replay', '--organization', '9')).code).toBe(0);
  expect(asked).toHaveLength(2);
  shell.api.organization = async () => ({}) as Awaited<ReturnType<typeof known>>;
  expect((await shell.run('replay', '--organization', '9')).code).toBe(0);
});

test.each([
  ['newest', [], '4 events selected, 2 keys so far: 2 records on their way', 'begins anew'],
  [
    'history',
    ['--to-topic', 'audit'],
    '4 events selected so far: 2 records sent again',
    'goes on from there, for ten minutes and until another replay begins',
  ],
] as const)('an interrupt leaves a service at %s, and says so', async (how, words, told, next) => {
  const { shell } = replaying({ how, state: 'running' });
  const server = await serveFor(shell);
  shell.clock.wait = async () => shell.interrupt.abort();
  const interrupted = await shell.run('replay', '--kind', 'equipment', ...words);
  expect(interrupted).toMatchObject({ code: 130, out: expect.stringContaining(told) });
  expect(interrupted.error).toContain('the service goes on with it');
  await server.close(0);
  // On the store itself it ends with the command.
  const alone = await shell.run('replay', '--kind', 'equipment', ...words);
  expect(alone.error).toContain(`interrupted: the same command ${next}`);
  expect(alone.error).not.toContain('the service goes on');
});

test.each([
  ['stopped', '5992 events selected, 1992 keys so far: 1992 resources to be read again'],
  ['ended', '5992 events selected, 1992 keys: 1992 resources to be read again'],
] as const)(
  'what the last step did of one that is interrupted on the store is told, where it has %s by then',
  async (state, said) => {
    const { shell } = replaying({ how: 'reads', selected: 0, keys: 0, replayed: 0, state: 'running' });
    const look = shell.api.replay;
    const after = { ...view, state, how: 'reads', selected: 5992, keys: 1992, replayed: 1992 } as const;
    shell.api.replay = async (startedAt) =>
      shell.closed === 0 ? look(startedAt) : { ...after, reason: 'the process stops' };
    shell.clock.wait = async () => shell.interrupt.abort();
    const { code, out, error } = await shell.run('replay', '--kind', 'equipment', '--refetch');
    expect([code, out]).toEqual([130, expect.stringContaining(said)]);
    expect(error).not.toContain('the process stops');
  },
);

test('of an interrupted count nothing goes on, and it is not told as all', async () => {
  const { shell } = replaying({ dryRun: true, state: 'running' });
  shell.clock.wait = async () => shell.interrupt.abort();
  const { out, error } = await shell.run('replay', '--kind', 'equipment', '--dry-run');
  expect(out).toContain('4 events selected so far: 2 keys');
  expect(error).toContain('interrupted before all was counted');
  expect(error).not.toContain('the same command');
});

test.each([
  ['is away', 'publish.unavailable', []],
  ['is away, for a dry run as well', 'publish.unavailable', ['--dry-run']],
  ['refuses to name the topic', 'publish.refused', []],
] as const)(
  'history whose Kafka %s is refused in its words, also through the service',
  async (_, code, words) => {
    const { shell } = replaying();
    shell.api.startReplay = () => Promise.reject(new Problem(code, 'Kafka cannot be used: no answer'));
    const asked = ['replay', '--kind', 'equipment', '--to-topic', 'audit', ...words];
    const said = {
      code: 1,
      out: '',
      error: expect.stringMatching(/^tramline: Kafka cannot be used: no answer\n$/m),
    };
    expect(await shell.run(...asked)).toMatchObject(said);
    const server = await serveFor(shell);
    const through = await shell.run(...asked).finally(() => server.close(0));
    expect(through).toMatchObject(said);
  },
);

test('of two named events the one that is not there is told, and the other is replayed', async () => {
  const { shell } = replaying({ selected: 1, unknown: [id] });
  const { code, error } = await shell.run('replay', '--event', id, '--event', 'b'.repeat(32));
  expect(code).toBe(0);
  expect(error).toContain(`not among the events that are kept: ${id}`);
});

test('one that goes on and has nothing left to select is no mistake', async () => {
  const { shell } = replaying({ selected: 0, resumed: true, leftAt: '2026-11-22T11:34:10.000Z' });
  expect((await shell.run('replay', '--event', id, '--to-topic', 'audit')).code).toBe(0);
});

test.each([[['--event', 'x']], [['--kind', 'tractor']]])('%j is a mistake', async (words) => {
  expect((await makeShell().run('replay', ...words)).code).toBe(2);
});
