// Every command, run as words from a shell: the same answer and exit code whether a service is asked or the store is
// opened, JSON that a machine can rely on, and for people a table that fits and says what to do next.

import { NobodyListens } from '../../../src/commands/client';
import type { StructuredEvent } from '../../../src/model/api';
import { Problem } from '../../../src/model/problem';
import type { OperationsServer } from '../../../src/operations/server';
import { freePort } from '../../support/free-port';
import {
  alert,
  connection,
  entry,
  history,
  organizations,
  publishedEvent,
  task,
} from '../operations/sample-store';
import { checkLines, makeShell, type Shell, serveFor } from './shell';

let shell: Shell;
let server: OperationsServer | null = null;

afterEach(async () => {
  await server?.close(10);
  server = null;
});

describe.each(['service', 'store'] as const)('through the %s', (via) => {
  beforeEach(async () => {
    shell = makeShell();
    if (via === 'service') server = await serveFor(shell);
    else shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  });
  afterEach(() => {
    expect([shell.opened, shell.closed]).toEqual(via === 'store' ? [shell.opened, shell.opened] : [0, 0]);
  });

  test('organizations are listed by id, and the first that is blocked says what to do', async () => {
    expect(await shell.json('organizations')).toMatchObject({ code: 0, value: organizations });
    const { code, out } = await shell.run('organizations', 'list');
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toMatch(/^ID +NAME +ACCESS +SINCE +PARKED$/);
    expect(out).toContain('5000  –');
    expect(out).toContain(
      '(“Please accept the terms.”) at https://provider.example/terms – then:\n  tramline organizations probe 4712\n',
    );
  });

  test('one organization is shown, and one that is unknown ends with 3', async () => {
    expect((await shell.json('organizations', 'get', '4712')).value).toEqual({
      ...organizations[1],
      manageUrl: null,
      history,
    });
    expect((await shell.run('organizations', 'get', '4711')).out).toContain(
      'manageUrl   https://connections.test/manage\n',
    );
    expect((await shell.run('organizations', 'get', '4712')).out).toContain('access      terms-required');
    expect((await shell.run('organizations', 'get', '4712')).out).toMatch(
      /\n\n2025-03-01T10:00:00Z {2}active → terms-required, said by probe after 403: terms\n/,
    );
    expect(await shell.run('organizations', 'get', 'x')).toMatchObject({ code: 3, out: '' });
    expect((await shell.run('organizations', 'probe', 'x')).code).toBe(3);
  });

  test('by when a customer was announced to act is shown, and where it looks is the next step', async () => {
    shell.sample.announced = ['1970-01-11T00:00:00.000Z', '1970-02-01T00:00:00.000Z'];
    const { out } = await shell.run('organizations', 'get', '4711');
    expect(out).toMatch(/^mustActBy {3}1970-01-11T00:00Z, in 10 d, 1970-02-01T00:00Z, in 31 d$/m);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'Tell Farm 4711 (4711) until when it must act at the provider: it sees there what, once it signs in. ' +
        'Its page: https://connections.test/manage',
    );
  });

  test('where nobody evaluates alerts that is one of them, with since when and what to do', async () => {
    shell.sample.unattendedMs = 60_000;
    const { out } = await shell.run('alerts');
    expect(out).toMatch(/^critical {2}TramlineWorkersAbsent {2}since 1969-12-31T23:59Z/);
    const said = out.replace(/\s+/g, ' ');
    expect(said).toContain('No process evaluates alerts since 1969-12-31T23:59:00.000Z');
    expect(said).toContain(
      'until `JOURNAL_DAYS` (7) after it was accepted; until then everything that waits',
    );
    expect(out.trimEnd().split('\n').slice(-2).join(' ')).toContain('Start a worker');
    shell.sample.unattendedMs = 5000;
    expect((await shell.run('alerts')).out).not.toContain('TramlineWorkersAbsent');
  });

  test('a probe ends with 0 where the organization may be read, and with 5 where a customer must act', async () => {
    expect((await shell.json('organizations', 'probe', '4711')).code).toBe(0);
    const blocked = await shell.run('organizations', 'probe', '4712');
    expect(blocked.code).toBe(5);
    expect(blocked.error.includes('asked when one starts')).toBe(via === 'store');
  });

  test.each([
    [null, 'has not answered yet'],
    ['rate-limited', 'did not say (rate-limited)'],
    ['transient', 'did not say (transient)'],
    ['left-alone', 'did not say (left-alone)'],
    ['refused', 'did not say (refused)'],
    ['reauthorize', 'did not say (reauthorize)'],
  ])('a probe that found %s does not pass off what was known as an answer', async (probed, words) => {
    shell.probed = probed;
    const { code, error } = await shell.run('organizations', 'probe', '4711');
    expect(code).toBe(via === 'service' ? 1 : 0);
    // Also of who was blocked before: nobody knows whether its customer has acted since.
    expect((await shell.run('organizations', 'probe', '4712')).code).toBe(via === 'service' ? 1 : 5);
    expect(error).toContain(via === 'service' ? words : 'asked when one starts');
  });

  test('a probe where nobody has consented ends with 5 and names the command for it', async () => {
    Object.assign(shell.sample.connections, { list: async () => [] });
    shell.probed = 'no-connection';
    // Also of what was met in a delivery alone.
    for (const id of ['x', '4711']) {
      expect(await shell.run('organizations', 'probe', id)).toMatchObject({
        code: 5,
        error: expect.stringContaining('tramline: no user’s consent is known here: tramline connect'),
      });
    }
  });

  test('a probe where the settings do not say who consented is answered as it was without that', async () => {
    const list = () => Promise.reject(new Problem('settings.invalid', 'ENCRYPTION_KEYS holds no key'));
    Object.assign(shell.sample.connections, { list });
    expect((await shell.run('organizations', 'probe', 'x')).code).toBe(3);
    shell.probed = 'no-connection';
    expect((await shell.run('organizations', 'probe', '4711')).code).toBe(via === 'service' ? 1 : 0);
  });

  test('a probe that no connection can make is answered where the organization waits for a consent', async () => {
    shell.probed = 'no-connection';
    Object.assign(shell.sample.store, {
      findOrganization: async (id: string) => ({ ...organizations[0], id, access: 'reauthorize' }),
    });
    expect((await shell.run('organizations', 'probe', '4711')).code).toBe(5);
    Object.assign(shell.sample.store, { findOrganization: async () => organizations[0] });
    expect((await shell.run('organizations', 'probe', '4711')).code).toBe(via === 'service' ? 1 : 0);
  });

  test('a probe by a worker that does not say what it found ends by the access as it is, and says so', async () => {
    shell.probed = 'by-a-worker';
    for (const [id, code] of [
      ['4711', 0],
      ['4712', 5],
    ] as const) {
      const probed = await shell.run('organizations', 'probe', id);
      expect(probed.code).toBe(code);
      expect(probed.error).toContain(
        via === 'service' ? 'does not say what it found' : 'asked when one starts',
      );
    }
  });

  test('of a forgotten one’s connection whose end was not confirmed it is not said that the provider was not told', async () => {
    const revoked = { id: 'c1', state: 'revoked', atProvider: false, subscriptions: [] };
    Object.assign(shell.sample.connections, { revoke: async () => revoked });
    expect((await shell.run('organizations', 'forget', '4712', '--yes')).out).toContain(
      'Connection c1 saw nobody else and is erased; the provider did not say that it\ntook its tokens back.\n',
    );
  });

  test('an organization is forgotten once that is confirmed by its id, or with --yes', async () => {
    shell.answers = ['y'];
    expect(await shell.run('organizations', 'forget', '4712')).toMatchObject({ code: 1, out: '' });
    expect(shell.sample.forgotten).toEqual([]);
    shell.answers = ['4712'];
    const { code, out } = await shell.run('organizations', 'forget', '4712');
    expect([code, shell.sample.forgotten]).toEqual([0, ['4712']]);
    // A service can start while somebody makes up their mind.
    expect(shell.openWhileAsking).toEqual([0, 0]);
    expect(out).toContain('4712 is forgotten; 3 that waited for it are discarded.');
    expect(out).toContain('Connection c1 saw nobody else and is erased; the provider took its tokens back.');
    expect(out.replace(/\s+/g, ' ')).toContain('unless another connection lists it: s1, s2');
    expect(out).toContain('Still seen by: c2.');
    expect(out).toContain('Its customer ends the connection at the provider');
    expect((await shell.json('organizations', 'forget', '4711', '--yes')).value).toEqual({
      id: '4711',
      state: 'forgotten',
      discarded: 3,
      ended: true,
      revoked: [],
      seenBy: ['c2'],
    });
    expect((await shell.run('organizations', 'forget', 'x', '--yes')).code).toBe(3);
  });

  test('whoever is broken off while an organization is forgotten is told to repeat it', async () => {
    jest.spyOn(shell.sample, 'forget').mockImplementation(() => {
      throw new Problem('store.unavailable', 'the store is away');
    });
    const { code, error } = await shell.run('organizations', 'forget', '4712', '--yes');
    expect(code).toBe(1);
    expect(error.replace(/\s+/g, ' ')).toContain(
      'was given up by then, the same command goes on from there.',
    );
  });

  test('of one that waits its organization is asked about as of one', async () => {
    const parked = jest.replaceProperty(organizations[1]!, 'parked', 1);
    const { error } = await shell.run('organizations', 'forget', '4712');
    parked.restore();
    expect(error.replace(/\s+/g, ' ')).toContain('and gives up 1 that waits.');
    expect((await shell.run('organizations', 'forget', '4712')).error).toContain('3 that wait.');
  });

  test('events are one structured CloudEvent a line', async () => {
    const { code, out } = await shell.run('events', '--json');
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as StructuredEvent);
    expect(code).toBe(0);
    expect(lines.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(lines[0]).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      source: 'https://api.example/vendor',
      type: 'io.tramline.equipment.created.v1',
      subject: '4711/equipment/1',
      time: '2025-03-01T10:00:00.000Z',
      dataschema: 'https://schemas.tramline.io/event/equipment.v1.schema.json',
      sequence: '00000000000000000001',
      datacontenttype: 'application/json',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      position: 1,
      topic: 'tramline.equipment.v1',
      partition: 3,
      offset: '17',
      data: { id: '1', organizationId: '4711', observedAt: '2025-03-01T10:00:00.000Z', source: {} },
    });
    expect(lines[1]).toMatchObject({ reconciled: true });
  });

  test('events are chosen by position, organization and type', async () => {
    const positions = async (...words: string[]) => {
      const { out } = await shell.run('events', ...words);
      return out.split('\n').flatMap((line) => line.match(/^ +\d+/)?.[0].trim() ?? []);
    };
    expect(await positions('--after', '1')).toEqual(['2', '3']);
    expect(await positions('--organization', '4712')).toEqual(['3']);
    expect(await positions('--type', 'io.tramline.equipment.deleted.v1')).toEqual([]);
    expect(await positions('--type', 'equipment.deleted')).toEqual([]);
    expect(await positions('--type', 'equipment.updated')).toEqual(
      await positions('--type', 'io.tramline.equipment.updated.v1'),
    );
    const mistyped = await shell.run('events', '--type', 'equipment.change');
    expect([mistyped.code, mistyped.error]).toEqual([2, expect.stringContaining('equipment.created, ')]);
  });

  test('where there is no event, or none of those wanted, it is said beside the output', async () => {
    const none = await shell.run('events', '--type', 'equipment.deleted');
    expect([none.code, none.out, none.error.split('\n').at(-2)]).toEqual([0, '', 'There is no such event.']);
    const after = await shell.run('events', '--after', '3');
    expect([after.out, after.error.split('\n').at(-2)]).toEqual(['', 'There is no such event.']);
    expect((await shell.run('events')).error).not.toContain('no such event');
    shell.sample.events = [];
    const empty = await shell.run('events');
    expect([empty.code, empty.out, empty.error.split('\n').at(-2)]).toEqual([0, '', 'No event is kept.']);
    expect(await shell.run('events', '--json')).toEqual({ code: 0, out: '', error: '' });
  });

  test('more events than a page holds are all printed', async () => {
    shell.sample.events = Array.from({ length: 450 }, (_none, index) => publishedEvent(index + 1));
    const { out } = await shell.run('events', '--json');
    expect(out.trim().split('\n')).toHaveLength(450);
  });

  test('a page that large events made shorter than asked for is not the end', async () => {
    shell.sample.events = Array.from({ length: 20 }, (_none, index) => publishedEvent(index + 1));
    shell.sample.eventsMax = 8;
    const { out } = await shell.run('events', '--json');
    expect(out.trim().split('\n')).toHaveLength(20);
  });

  test('an event that cannot be read back stands in its place and says so', async () => {
    Object.assign(shell.sample.events[1]!, { damaged: 'The record cannot be read back: it is cut.' });
    const { out } = await shell.run('events');
    expect(out.trim().split('\n')).toHaveLength(3);
    expect(out).toContain('       2  4711/equipment/2: The record cannot be read back: it is cut.\n');
  });

  test('what is kept is printed to its end, also where retention has taken events beside it', async () => {
    shell.sample.events = Array.from({ length: 450 }, (_none, index) => publishedEvent(2 * index + 1));
    shell.sample.floor = 800;
    const { code, out } = await shell.run('events', '--json');
    expect([code, out.trim().split('\n').length]).toEqual([0, 450]);
  });

  test('a position that is no longer kept is an error that names the oldest', async () => {
    shell.sample.floor = 2;
    const { code, error } = await shell.run('events', '--after', '0');
    expect([code, error.split('\n').at(-2)]).toEqual([
      1,
      'tramline: events up to position 2 are no longer kept: use --after 2',
    ]);
  });

  // An embedded store is let go at its end, see below: what comes is found in one that several processes share.
  const shared = 'postgres://tramline@127.0.0.1/tramline';

  test('following prints what comes until it is interrupted, and ends with 130', async () => {
    shell.environment.DATABASE_URL = shared;
    const { wait } = shell.clock;
    shell.clock.wait = async (ms) => {
      await wait(ms);
      if (shell.clock.waits.length === 2) shell.sample.events.push(publishedEvent(4));
      if (shell.clock.waits.length === 4) shell.interrupt.abort();
    };
    const { code, out } = await shell.run('events', '--follow', '--after', '2', '--json');
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as StructuredEvent);
    expect([code, lines.map(({ position }) => position)]).toEqual([130, [3, 4]]);
  });

  test('following one organization goes on while retention passes its last event, following all says what is missing', async () => {
    shell.environment.DATABASE_URL = shared;
    const { wait } = shell.clock;
    shell.clock.wait = async (ms) => {
      await wait(ms);
      if (shell.clock.waits.length % 4 === 2) shell.sample.floor = 9;
      if (shell.clock.waits.length % 4 === 0) shell.interrupt.abort();
    };
    const all = await shell.run('events', '--follow', '--after', '2', '--json');
    expect([all.code, all.error]).toEqual([1, expect.stringContaining('use --after 9')]);
    shell.sample.floor = 0;
    shell.clock.waits.length = 0;
    const one = await shell.run('events', '--follow', '--organization', '4711', '--after', '2', '--json');
    expect([one.code, one.out.trim().split('\n').length]).toEqual([130, 1]);
  });

  test('following goes on where it was when what it asks was away, and says so once', async () => {
    shell.environment.DATABASE_URL = shared;
    const { wait } = shell.clock;
    const away =
      via === 'store' ? new NobodyListens('http://a.test') : new Problem('store.unavailable', 'no disk');
    shell.clock.wait = async (ms) => {
      await wait(ms);
      const { waits } = shell.clock;
      if (waits.length === 1) shell.sample.failure = away;
      if (waits.length === 7) {
        shell.sample.failure = null;
        shell.sample.events.push(publishedEvent(4));
      }
      if (waits.length === 9) shell.interrupt.abort();
    };
    const { code, out, error } = await shell.run('events', '--follow', '--after', '2', '--json');
    const lines = out.trim().split('\n');
    expect([code, lines.map((line) => (JSON.parse(line) as StructuredEvent).position)]).toEqual([
      130,
      [3, 4],
    ]);
    expect(shell.clock.waits.slice(1, 7)).toEqual([500, 1000, 2000, 4000, 8000, 10_000]);
    expect(error.match(/; going on after position 3 when it answers\n/g)).toHaveLength(1);
  });

  test('following ends where it was never answered, and while it waits when it is interrupted', async () => {
    shell.environment.DATABASE_URL = shared;
    shell.sample.failure = new Problem('store.unavailable', 'the disk is full');
    expect((await shell.run('events', '--follow')).code).toBe(1);
    shell.sample.failure = null;
    const { wait } = shell.clock;
    shell.clock.wait = async (ms) => {
      await wait(ms);
      shell.sample.failure = new Problem('store.unavailable', 'the disk is full');
      if (shell.clock.waits.length === 3) shell.interrupt.abort();
    };
    expect((await shell.run('events', '--follow')).code).toBe(130);
  });

  test('parked resources are listed with who must act', async () => {
    expect((await shell.json('parked')).value).toEqual([task]);
    const { out } = await shell.run('parked');
    expect(out).toContain('4712          equipment  1   https://api.example/equipment/1');
    expect(out).toContain('– then:\n  tramline organizations probe 4712\n');
  });

  test('of many customers that must act three are told of, without asking for each', async () => {
    const tasks = Array.from({ length: 300 }, (_, id) => ({
      ...task,
      id,
      organizationId: String(4711 + (id % 5)),
    }));
    const asked: string[] = [];
    const { findOrganization } = shell.sample.store;
    Object.assign(shell.sample.store, {
      listTasks: async () => tasks,
      findOrganization: (id: string) => {
        asked.push(id);
        return findOrganization('4712');
      },
    });
    const { out } = await shell.run('parked');
    expect(asked).toEqual(['4711', '4712', '4713']);
    expect(out).toContain('→ 2 more organizations must act: tramline organizations list\n');
  });

  test('of connections a refused one leads to another consent, and one by OAuth 1 to the switch-over too', async () => {
    const next = async (auth: 'oauth1' | 'oauth2') => {
      shell.sample.connections.list = async () => [{ ...connection, auth, status: 'refused' }];
      return (await shell.run('connections')).out.split('\n→ ')[1]?.replace(/\s+/g, ' ').trim();
    };
    const anew = 'Let its user consent anew: tramline connect --user ann';
    expect(await next('oauth2')).toBe(anew);
    const switchOver = 'tramline connect --auth oauth2 --user ann';
    expect(await next('oauth1')).toBe(`${anew}, or, where the provider has ended OAuth 1: ${switchOver}`);
  });

  test('quarantine is listed, shown, released and discarded', async () => {
    expect((await shell.json<unknown[]>('quarantine')).value).toHaveLength(2);
    expect((await shell.run('quarantine', 'list')).out).toContain('tramline quarantine show q1');
    expect((await shell.json('quarantine', 'show', 'q1')).value).toEqual(entry);
    expect((await shell.run('quarantine', 'show', 'q1')).out).toContain('tramline quarantine discard q1');
    expect((await shell.json('quarantine', 'release', 'q1')).value).toEqual({ id: 'q1', state: 'released' });
    shell.sample.entries[0]!.state = 'waiting';
    const seen = '→ See what becomes of it: tramline explain ';
    expect((await shell.run('quarantine', 'release', 'q1')).out).toContain(seen);
    expect(await shell.run('quarantine', 'release', 'q1')).toMatchObject({ code: 3 });
    const refused = await shell.run('quarantine', 'release', 'q2');
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringContaining('q2 cannot be released, only discarded: tramline quarantine discard q2'),
    ]);
    expect((await shell.run('quarantine', 'discard', 'q2')).out).toContain('given up');
    expect((await shell.run('quarantine', 'show', 'q2')).out).not.toMatch(/quarantine (release|discard)/);
  });

  /** Of one reason more than one order takes, two that cannot be released, and one of another. */
  const many = () => {
    const some = Array.from({ length: 1203 }, (_, index) => ({
      ...entry,
      id: `q${1000 + index}`,
      what: 'task' as const,
    }));
    const closed = some.slice(0, 2).map((one) => ({ ...one, reason: 'unauthenticated' as const }));
    shell.sample.entries = [...closed, ...some.slice(2), { ...entry, id: 'q9000', reason: 'no-access' }];
    return (state: string) => shell.sample.entries.filter((one) => one.state === state).length;
  };

  test('all that wait for one reason are counted, and then released in one command', async () => {
    const count = many();
    const counted = await shell.run(
      'quarantine',
      'release',
      '--reason',
      'malformed-notification',
      '--dry-run',
    );
    expect(counted).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1201 wait: 1201 malformed-notification\n/),
    });
    expect(count('waiting')).toBe(1204);
    const released = await shell.run('quarantine', 'release', '--reason', 'malformed-notification');
    expect(released).toMatchObject({ code: 0, out: expect.stringMatching(/^1201 are due again\.\n/) });
    expect(released.error).toContain('1201 wait: 1201 malformed-notification');
    expect([count('released'), count('waiting')]).toEqual([1201, 3]);
    const none = await shell.run('quarantine', 'release', '--reason', 'malformed-notification');
    expect(none).toMatchObject({ code: 3, error: expect.stringContaining('tramline quarantine list') });
  });

  test('of all that wait what cannot be released is told, with what can be done, and the rest goes on', async () => {
    const count = many();
    const { code, out } = await shell.run('quarantine', 'release', '--all');
    expect([code, out.split('\n').slice(0, 2)]).toEqual([
      1,
      ['1202 are due again.', '2 cannot be released, only discarded: q1000, q1001.'],
    ]);
    expect(count('waiting')).toBe(2);
    const { value } = await shell.json<{ id: string; state: string }[]>(
      'quarantine',
      'release',
      'q1000',
      'q1',
      '7',
    );
    expect(value).toEqual([
      { id: '7', state: 'not-found' },
      { id: 'q1000', state: 'refused' },
      { id: 'q1', state: 'not-found' },
    ]);
    const refused = await shell.run('quarantine', 'release', '--reason', 'unauthenticated');
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('tramline quarantine discard --reason unauthenticated\n');
  });

  test('where an order of several fails, it is said how many were decided before it', async () => {
    const count = many();
    const { store } = shell.sample;
    const { discardQuarantine } = store;
    store.discardQuarantine = async (id) => {
      if (id === 'q1600') throw new Problem('store.unavailable', 'the store is away');
      return discardQuarantine(id);
    };
    const { code, out, error } = await shell.run('quarantine', 'discard', '--all', '--yes');
    expect([code, out]).toEqual([1, '']);
    expect(error).toContain('Of 1204 the first 500 were decided; of the next 500 it is not known.\n');
    expect(count('discarded')).toBeGreaterThanOrEqual(500);
  });

  test('many are only given up by whoever says how many they are, or --yes, and by their ids at once', async () => {
    const count = many();
    shell.answers = ['no', '1201'];
    const reason = ['--reason', 'malformed-notification'];
    expect(await shell.run('quarantine', 'discard', ...reason)).toMatchObject({ code: 1, out: '' });
    expect([shell.openWhileAsking, count('discarded')]).toEqual([[0], 0]);
    expect((await shell.run('quarantine', 'discard', ...reason)).out).toMatch(
      /^1201 are given up, on record\.\n/,
    );
    const three = await shell.run('quarantine', 'discard', 'q1000', 'q1001', 'q1000', 'q5');
    expect(three).toMatchObject({ code: 3, out: expect.stringContaining('2 are given up') });
    expect(three.out).toContain('Nothing waits under q5.');
    expect(await shell.run('quarantine', 'discard', '--all', '--yes')).toMatchObject({ code: 0 });
    expect([count('waiting'), shell.asked.length]).toEqual([0, 2]);
    expect((await shell.run('quarantine', 'discard', '--all')).out).toBe('Nothing waits for an operator.\n');
  });

  test.each([[], ['q1', '--all'], ['--all', '--reason', 'no-access'], ['q1', '--dry-run']])(
    'release and discard take entries or a choice of them: %s %s %s',
    async (...words) => {
      const decided = many();
      for (const verb of ['release', 'discard'])
        expect(await shell.run('quarantine', verb, ...words)).toMatchObject({ code: 2, out: '' });
      expect(decided('waiting')).toBe(1204);
    },
  );

  test('a journey is told step by step, and one that is unknown ends with 3', async () => {
    expect((await shell.json('explain', 'd1')).value).toMatchObject({
      what: 'delivery',
      steps: [{ elements: 1 }],
    });
    expect((await shell.run('explain', 'd1')).out).toBe(
      'The delivery d1\n2025-03-01T10:00:00.000Z  accepted  Stored.\n\n→ What needs a person: tramline alerts\n',
    );
    expect((await shell.run('explain', 'd7')).out.split('\n').slice(1)).toEqual([
      '2025-03-01T10:00:00.000Z  hinted  delivery d7 said that it changed, 2 times',
      '2025-03-01T10:00:00.000Z  parked  now parked: its organization is terms-required',
      '',
      '→ See who must act: tramline parked',
      '',
    ]);
    const ofForgotten = '→ Nobody has to act, unless its organization connects again.';
    expect((await shell.run('explain', 'd8')).out.split('\n')).toContain(ofForgotten);
    expect((await shell.run('explain', 'https://unknown.example/?a=b&c')).code).toBe(3);
    // As it is pasted.
    for (const copied of [' d1', 'D1\n'])
      expect((await shell.run('explain', copied)).out).toContain('The delivery d1\n');
  });

  test('alerts name what they are of, and the first says what to do', async () => {
    expect((await shell.json('alerts')).value).toMatchObject([
      {
        name: alert.name,
        severity: 'warning',
        state: 'firing',
        since: '2025-03-01T10:00:00.000Z',
        labels: alert.labels,
      },
    ]);
    const { out } = await shell.run('alerts');
    expect(out).toMatch(
      /^warning {2}TramlineTermsRequired {2}since 2025-03-01T10:00Z, .+ d\n {2}of {5}4712\n/,
    );
    expect(out).toContain('\n  Terms must be accepted.\n');
    expect(out).toContain('\n  where  https://provider.example/terms\n');
    expect(out).toMatch(/\n→ Send the organization the address where terms are accepted\.\n$/);
  });

  test('a test of the sinks says what each made of it, within 80 columns, and ends with 1 when one failed', async () => {
    expect((await shell.run('alerts', 'test')).out).toBe(
      'No sink is named: alerts are log lines of the running service.\n\n' +
        '→ To page somebody, set ALERTMANAGER_URLS, PAGERDUTY_ROUTING_KEY or\n  SLACK_WEBHOOK_URL.\n',
    );
    const took = { sink: 'slack', outcome: 'accepted', status: 200, detail: 'took both messages' } as const;
    shell.alertTests = [took];
    expect(await shell.json('alerts', 'test')).toMatchObject({ code: 0, value: [took] });
    expect((await shell.run('alerts', 'test')).out).toBe(
      'slack         accepted (200)\n  took both messages\n\n→ See whether each page arrived.\n',
    );
    shell.alertTests.push({
      sink: 'pagerduty',
      outcome: 'unreachable',
      status: null,
      detail: 'gives no answer',
    });
    const { code, out } = await shell.run('alerts', 'test');
    expect(code).toBe(1);
    expect(out).toContain('pagerduty     unreachable\n  gives no answer\n');
    const instance = 'http://am-2.example:9093';
    shell.alertTests = [
      took,
      { sink: 'alertmanager', instance, outcome: 'unreachable', status: null, detail: 'gives no answer' },
    ];
    const ofOne = await shell.run('alerts', 'test');
    expect([ofOne.code, ofOne.out]).toEqual([
      1,
      expect.stringContaining(`alertmanager  unreachable\n  ${instance}\n  gives no answer\n`),
    ]);
  });

  test('the ledger adds up, and ends with 1 when something is lost', async () => {
    expect((await shell.json('ledger')).value).toMatchObject({ accepted: 9, lost: 0 });
    const { code, out } = await shell.run('ledger');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^accepted +9\npublished +5\n[\s\S]*tramline organizations/),
    ]);
    shell.sample.store.ledger = async () => ({ ...(await makeShell().sample.store.ledger()), accepted: 10 });
    expect(await shell.json('ledger')).toMatchObject({ code: 1, value: { lost: 1 } });
  });

  test('a check that fails ends with 1 and says what to do', async () => {
    expect(await shell.json('check')).toMatchObject({ code: 1, value: checkLines });
    const { out } = await shell.run('check');
    expect(out).toContain('kafka     failed   no broker answers');
    expect(out).toContain('→ kafka: Look at KAFKA_BROKERS.');
  });

  test('a store that does not answer ends with 1', async () => {
    shell.sample.failure = new Problem('store.unavailable', 'the disk is full');
    expect(await shell.run('ledger')).toMatchObject({ code: 1, out: '' });
  });

  test('what only asks opens a store that is there, what may begin with one another, and a check what there is', async () => {
    const asks = ['organizations', 'events', 'parked', 'quarantine', 'alerts', 'ledger', 'connections'];
    for (const word of asks) {
      await shell.run(word);
      expect([word, shell.wish]).toEqual([word, via === 'store' ? 'kept' : null]);
    }
    const [begin, look] = [
      ['equipment list', 'files list', 'sync'],
      ['check', 'alerts test'],
    ];
    for (const words of [...begin, ...look]) {
      await shell.run(...words.split(' '));
      const wished = begin.includes(words) ? 'made' : 'as-is';
      expect([words, shell.wish]).toEqual([words, via === 'store' ? wished : null]);
    }
  });

  test('where there is nothing, people are told so', async () => {
    Object.assign(shell.sample.store, {
      listOrganizations: async () => [],
      listTasks: async () => [],
      listQuarantine: async () => [],
      listAlerts: async () => [],
    });
    for (const word of ['organizations', 'parked', 'quarantine', 'alerts']) {
      expect((await shell.run(word)).out).toMatch(/^(No|Nothing) [a-z ]+\.\n\n→ .+: tramline \w+\n$/);
      expect((await shell.json(word)).value).toEqual([]);
    }
  });
});

test('following lets go of an embedded store before it waits, and goes on through the service that comes', async () => {
  shell = makeShell();
  const port = await freePort();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${port}` };
  const { wait } = shell.clock;
  const open: number[] = [];
  shell.clock.wait = async (ms) => {
    await wait(ms);
    const { waits } = shell.clock;
    open.push(shell.opened - shell.closed);
    if (waits.length === 2) server = await serveFor(shell, null, port);
    if (waits.length === 3) shell.sample.events.push(publishedEvent(4));
    if (waits.length === 5) shell.interrupt.abort();
  };
  const { code, out, error } = await shell.run('events', '--follow', '--after', '1', '--json');
  const lines = out.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as StructuredEvent).position)).toEqual([2, 3, 4]);
  expect([code, shell.opened, open]).toEqual([130, 1, [0, 0, 0, 0, 0]]);
  expect(error).toMatch(/^no service listens at .*; going on after position 3 when it answers\n$/);
});

test('what was released is told, whatever becomes of the service after it', async () => {
  shell = makeShell();
  server = await serveFor(shell);
  const { release } = shell.api;
  shell.api.release = async (id) => {
    const released = await release(id);
    shell.api.quarantined = () => Promise.reject(new Problem('store.unavailable', 'the store is away'));
    return released;
  };
  expect(await shell.run('quarantine', 'release', 'q1')).toMatchObject({
    code: 0,
    out: expect.stringContaining('→ See what becomes of it: tramline explain '),
  });
});

test('where the service ends between two orders about entries, the store itself goes on with what is left', async () => {
  shell = makeShell();
  shell.sample.entries = Array.from({ length: 1203 }, (_, index) => ({
    ...entry,
    id: `q${1000 + index}`,
    what: 'task',
  }));
  server = await serveFor(shell);
  const { releaseEach } = shell.api;
  shell.api.releaseEach = async (ids) => {
    const decided = await releaseEach(ids);
    if (shell.opened === 0) setImmediate(() => void server?.close(10));
    return decided;
  };
  const { code, out, error } = await shell.run('quarantine', 'release', '--all');
  expect([code, out.split('\n')[0]]).toEqual([0, '1203 are due again.']);
  expect(error).toContain('Of 1203 the first 500 were decided.\n');
  expect(shell.opened).toBe(1);
});

describe('commands that ask no service', () => {
  beforeEach(() => {
    shell = makeShell();
  });

  test('config tells every setting and where it came from, and hides secrets', async () => {
    shell.environment = {
      PORT: '9',
      OPERATIONS_TOKEN: 'canary',
      KAFKA_BROKER: 'x',
      KAFKA_BROKERS: 'a:1,b:2',
    };
    const { code, value } = await shell.json<Record<string, unknown>>('config');
    expect(code).toBe(0);
    expect(value).toMatchObject({
      PORT: { value: 9, from: 'environment' },
      HOST: { value: '0.0.0.0', from: 'default' },
      OPERATIONS_TOKEN: { value: 'set', from: 'environment' },
      ENCRYPTION_KEYS: { value: 'unset', from: 'unset' },
      KAFKA_BROKERS: { value: ['a:1', 'b:2'], from: 'environment' },
    });
    const { out, error } = await shell.run('config');
    expect(out).toMatch(/^KAFKA_BROKERS +a:1,b:2 +environment$/m);
    expect(error).toContain('did you mean KAFKA_BROKERS?');
    expect(error).toContain('ENCRYPTION_KEYS is missing');
    expect(out + error + JSON.stringify(value)).not.toContain('canary');
  });

  test('config shows values whole where it is piped, cut at a terminal, and each list as it is accepted', async () => {
    const base = `https://provider.example/${'equipment/'.repeat(6)}`;
    shell.environment = {
      PROVIDER_EQUIPMENT_URL: base,
      PROVIDER_SCOPES: 'ag1  eq1 offline_access',
      ALERTMANAGER_URLS: 'http://a.example,http://b.example',
    };
    const { out } = await shell.run('config');
    expect(out).toMatch(new RegExp(`^PROVIDER_EQUIPMENT_URL +${base} +environment$`, 'm'));
    expect(out).toMatch(/^PROVIDER_SCOPES +ag1 eq1 offline_access +environment$/m);
    expect(out).toMatch(/^ALERTMANAGER_URLS +http:\/\/a\.example\/?,http:\/\/b\.example\/? +environment$/m);
    shell.terminal = true;
    const shown = (await shell.run('config')).out.split('\n');
    expect(shown.find((line) => line.startsWith('PROVIDER_EQUIPMENT_URL'))).toMatch(
      / https:\/\/provid[^ ]*… +environment$/,
    );
  });

  test('a wrong setting ends with 2 and one line that names it', async () => {
    shell.environment = { PORT: 'canary', LEASE_SECONDS: '0' };
    for (const word of ['config', 'organizations', 'migrate']) {
      const { code, out, error } = await shell.run(word);
      expect([code, out]).toEqual([2, '']);
      expect(
        error
          .trim()
          .split('\n')
          .map((line) => line.split(' ')[0]),
      ).toEqual(['PORT', 'LEASE_SECONDS']);
      expect(error).not.toContain('canary');
    }
  });

  test('migrate opens the store, creates topics, and fails when one is not there', async () => {
    expect(await shell.json('migrate')).toMatchObject({
      code: 0,
      value: { store: 'sqlite:./data/tramline.db', topics: [] },
    });
    expect([shell.opened, shell.closed]).toEqual([1, 1]);
    shell.topics = [
      { topic: 'tramline.equipment.v1', state: 'present', partitions: 12, created: true, below: null },
      { topic: 'tramline.field-operation.v1', state: 'denied', partitions: 0, created: false, below: null },
    ];
    const { code, out } = await shell.run('migrate');
    expect(code).toBe(1);
    expect(out).toContain('tramline.equipment.v1: created, 12 partitions');
    expect(out).toContain('tramline.field-operation.v1: denied');
  });

  test('migrate beside the process that serves the store creates topics, and is refused where no broker is named', async () => {
    shell.refused = new Problem('store.locked', 't.db is in use by another process');
    expect((await shell.run('migrate')).code).toBe(2);
    shell.environment.KAFKA_BROKERS = 'b1:9092';
    expect(await shell.json('migrate')).toMatchObject({ code: 0, value: { served: true, topics: [] } });
    const { out } = await shell.run('migrate');
    expect(out).toContain('is left to the process that serves it');
  });

  test('migrate warns of a topic that has fewer copies than declared, and has done its work', async () => {
    const below = '2 replicas of 3 declared: the cluster has 2 brokers';
    const equipment = { topic: 't.equipment.v1', state: 'present', partitions: 12, created: true, below };
    shell.topics = [equipment, { ...equipment, topic: 't.field-operation.v1', below: null }];
    expect(await shell.run('migrate')).toMatchObject({ code: 0, error: `t.equipment.v1: ${below}\n` });
    expect(await shell.json('migrate')).toMatchObject({
      code: 0,
      value: { topics: [{ below }, { below: null }] },
    });
  });

  test('migrate moves a store when both ends are named, and only then', async () => {
    const words = ['migrate', '--from', 'sqlite:a.db', '--to', 'postgres://h/b'];
    const first = await shell.run(...words);
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining('tasks: 3 rows, abc') });
    expect(await shell.json(...words)).toMatchObject({ code: 0, value: { outcome: 'already', tables: [] } });
    expect(shell.moves[0]).toEqual(['sqlite:a.db', 'postgres://h/b']);
    expect((await shell.run('migrate', '--to', 'postgres://h/b')).code).toBe(2);
    expect([shell.moves.length, shell.opened]).toEqual([2, 0]);
  });

  test('a move that another version began says that all is copied anew, to people alone', async () => {
    const words = ['migrate', '--from', 'sqlite:a.db', '--to', 'postgres://h/begun-by-another'];
    expect((await shell.run(...words)).error.replace(/\s+/g, ' ')).toBe(
      'another version began this move: what it copied is thrown away, and all is copied anew ',
    );
    expect(await shell.json(...words)).toMatchObject({ code: 0, error: '' });
  });

  test('a move that is interrupted says how far it got and how it goes on, and ends as interrupted', async () => {
    const words = ['migrate', '--from', 'sqlite:a.db', '--to', 'postgres://h/b'];
    shell.interrupt.abort();
    const { code, error, out } = await shell.run(...words);
    expect([code, out]).toEqual([130, '']);
    expect(error.replace(/\s+/g, ' ')).toContain(
      'stopped: 3 rows of 1 of 9 tables are copied, the last in tasks; the same command goes on from there',
    );
    const { value } = await shell.json(...words);
    expect(value).toMatchObject({ outcome: 'stopped', tables: [{ name: 'tasks', rows: 3 }] });
    shell.isCopied = true;
    expect((await shell.run(...words)).error).toContain(
      'stopped: all 3 rows are copied, and not all of them are',
    );
  });

  test('a store is moved or its tokens are sealed anew: both at once is refused before either', async () => {
    for (const more of [
      ['--from', 'sqlite:a.db', '--to', 'postgres://h/b'],
      ['--from', 'sqlite:a.db'],
    ]) {
      const { code, error, out } = await shell.run('migrate', '--reencrypt', ...more);
      expect([code, out]).toEqual([2, '']);
      expect(error.replace(/\s+/g, ' ')).toContain(
        'move the store first, then run `tramline migrate --reencrypt`',
      );
    }
    expect(shell.moves).toEqual([]);
  });
});
