// Commands that read and write the provider's data: the same through a service and beside a store, with an exit code for
// each kind of refusal, and a file that is only put in its place when it is complete and checked.
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../../src/model/problem';
import type { RawFault } from '../../../src/model/provider-data';
import type { OperationsServer } from '../../../src/operations/server';
import { freePort } from '../../support/free-port';
import { faultOf, itemOf, type ScriptedProvider } from '../../support/scripted-provider';
import { makeShell, type Shell, serveFor } from './shell';

let shell: Shell;
let provider: ScriptedProvider;
let server: OperationsServer | null = null;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-files-'));
});
afterEach(async () => {
  await server?.close(10);
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

const secretAddress = 'https://api.provider.test/isg/makes?key=canary';
const machine = { id: '7', category: 'machine', name: 'Combine', serialNumber: 'S1', archived: true };
const anything = { organizationIds: [], ids: [], serialNumbers: [], category: null, archived: null };
const nothing = { category: null, name: null, serialNumber: null, makeId: null, typeId: null, modelId: null };
const blocked = { kind: 'action-required', cause: 'terms', message: 'Accept.', connectionId: 'c1' } as const;

describe.each(['service', 'store'] as const)('through the %s', (via) => {
  beforeEach(async () => {
    shell = makeShell();
    ({ provider } = shell);
    if (via === 'service') server = await serveFor(shell);
    else shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  });

  test('a list is one array or a table, and filters reach the provider', async () => {
    provider.lines = [{ item: itemOf(machine) }, { item: itemOf({ ...machine, id: '8', archived: false }) }];
    const words = ['--organization', '1', '--organization', '2', '--id', '7', '--serial-number', 'S1'];
    const chosen = ['--category', 'machine', '--archived', 'true'];
    const { code, value } = await shell.json<{ id: string }[]>('equipment', 'list', ...words, ...chosen);
    expect([code, value.map(({ id }) => id)]).toEqual([0, ['7', '8']]);
    expect(provider.asked).toEqual([
      [
        'equipment',
        {
          organizationIds: ['1', '2'],
          ids: ['7'],
          serialNumbers: ['S1'],
          category: 'machine',
          archived: true,
        },
      ],
    ]);
    const { out } = await shell.run('equipment');
    expect(out.split('\n').slice(0, 3)).toEqual([
      'ID  ORGANIZATION  CATEGORY  NAME     SERIAL NUMBER  STATE',
      '7   4711          machine   Combine  S1             archived',
      '8   4711          machine   Combine  S1             in use',
    ]);
    expect(provider.asked.at(-1)).toEqual(['equipment', anything]);
  });

  test('a serial number with a comma cannot be asked for, and is not taken for two', async () => {
    const { code, out, error } = await shell.run('equipment', 'list', '--serial-number', 'S,1');
    expect([code, out, error]).toEqual([2, '', expect.stringContaining('comma')]);
    expect(provider.asked).toEqual([]);
  });

  test('an empty id is wrong usage, and nothing is asked', async () => {
    for (const words of ['equipment get', 'equipment update', 'field-operations get', 'files get']) {
      const { code, out, error } = await shell.run(...words.split(' '), '');
      expect([words, code, out, error]).toEqual([words, 2, '', expect.stringContaining('<id> is empty')]);
    }
    expect(provider.asked).toEqual([]);
  });

  test('who asks endpoints that end is told so where this process asks them, and nobody is of what is no matter there', async () => {
    shell.environment = { ...shell.environment, PROVIDER_EQUIPMENT_API: 'old', WEBHOOK_AUTH: 'none' };
    for (const words of ['equipment list', 'equipment get 7']) {
      const { error } = await shell.run(...words.split(' '));
      expect([words, error.includes('PROVIDER_EQUIPMENT_API=old: the machine')]).toEqual([
        words,
        via === 'store',
      ]);
      expect(error).not.toContain('WEBHOOK_AUTH');
    }
    expect((await shell.run('field-operations')).error).not.toContain('PROVIDER_EQUIPMENT_API');
  });

  test('an empty list is an empty array, and a sentence for people', async () => {
    expect((await shell.json('equipment')).value).toEqual([]);
    expect((await shell.run('equipment')).out).toBe('There is no such equipment.\n');
    expect((await shell.run('field-operations')).out).toBe('There are no such field operations.\n');
    expect((await shell.run('files')).out).toBe('There are no files.\n');
  });

  test('more rows than a table holds are further tables', async () => {
    provider.lines = Array.from({ length: 501 }, (_none, place) => ({
      item: itemOf({ ...machine, id: String(place) }),
    }));
    const { out } = await shell.run('equipment');
    expect(out.split('\n').filter((line) => line.startsWith('ID '))).toHaveLength(2);
  });

  test('what cannot be read is said with its address, and the rest is printed', async () => {
    const action = faultOf({ ...blocked, actionUrl: 'https://terms.test/' }, { detail: 'Accept.' });
    provider.lines = [{ item: itemOf({}) }, { item: itemOf(machine) }, { fault: action }];
    const { code, out, error } = await shell.run('equipment', '--json');
    expect([code, JSON.parse(out)]).toEqual([1, [expect.objectContaining({ id: '7' })]]);
    expect(error).toContain('tramline: /id: an id is required (https://provider.test/thing)\n');
    expect(error).toContain(
      'tramline: organization 4711: the provider waits for the customer: Accept. (https://provider.test/page); ' +
        'a customer acts at https://terms.test/\n',
    );
    provider.lines = [{ fault: action }];
    const waiting = await shell.run('equipment');
    expect([waiting.code, waiting.error]).toEqual([5, expect.stringContaining('https://terms.test/')]);
  });

  test.each<[RawFault['answer'], number, string]>([
    [
      { kind: 'gone', certain: true, connectionId: 'c1', origin: '' },
      3,
      'the provider has no such thing: the detail',
    ],
    [{ kind: 'no-connection', detail: '' }, 3, 'the detail'],
    [{ kind: 'no-connection', detail: '', nobody: true }, 5, 'the detail'],
    [
      { kind: 'not-connected', actionUrl: 'https://c.test/', connectionId: 'c1' },
      5,
      'acts at https://c.test/',
    ],
    [
      { kind: 'reauthorize', message: null, connectionId: 'c1', sealedToken: 's' },
      5,
      'a user must consent again',
    ],
    [{ kind: 'client-refused', message: null, connectionId: 'c1' }, 4, 'scope or licence'],
    [{ kind: 'no-access', message: null, connectionId: 'c1' }, 4, 'no access'],
    [{ kind: 'refused', code: 'status-400', detail: '', origin: '', connectionId: 'c1' }, 4, 'the detail'],
    [{ kind: 'rate-limited', retryAfterMs: 1, untilMs: 1 }, 1, 'fewer calls'],
    [{ kind: 'aborted' }, 1, 'the detail'],
    [null, 1, 'the detail (https://provider.test/page)'],
  ])('%j ends with %i', async (answer, code, words) => {
    provider.read = { fault: faultOf(answer) };
    const ended = await shell.run('equipment', 'get', '7');
    expect([ended.code, ended.out, ended.error]).toEqual([code, '', expect.stringContaining(words)]);
  });

  test('what waits for the customer is a hint to probe, once for each refusal, and told all the same where none can be given', async () => {
    const connect = { kind: 'not-connected', actionUrl: null, connectionId: 'c1' } as const;
    const refusals = [
      faultOf({ ...blocked, actionUrl: null }),
      faultOf(connect, { organizationId: '4712' }),
      faultOf(connect, { organizationId: null }),
      faultOf({ kind: 'no-access', message: null, connectionId: 'c1' }),
    ];
    const hinted = () =>
      provider.asked.splice(0).flatMap(([verb, ...given]) => (verb === 'hintRefusal' ? [given] : []));
    provider.lines = refusals.map((fault) => ({ fault }));
    await shell.run('equipment');
    expect(hinted()).toEqual(['4711', '4712', null].map((id) => [id, null]));
    for (const fault of refusals) {
      provider.read = { fault };
      await shell.run('equipment', 'get', '7');
    }
    // Whose it is the store may know.
    expect(hinted()).toEqual(['4711', '4712', null].map((id) => [id, { kind: 'equipment', id: '7' }]));
    provider.storeIsAway = true;
    expect((await shell.run('equipment')).error.match(/^tramline: /gm)).toHaveLength(4);
  });

  test('a record is shown in lines of at most 80 columns', async () => {
    const make = { id: '1', name: 'Harrow', erid: 'e', certified: true };
    const facts = {
      make,
      rate: { value: 2, unit: 'L/har', source: {} },
      lists: [[1, 2], { a: null }, 'x'.repeat(30), `${'word '.repeat(20)}end`],
    };
    provider.read = { value: itemOf({ id: '7', none: null, empty: [], ...facts }) as never };
    const { out } = await shell.run('field-operations', 'get', 'op/1', '--organization', '4711');
    expect(provider.asked).toEqual([['fieldOperation', 'op/1', '4711']]);
    expect(out).toContain('make            Harrow (1), certified true\n');
    expect(out).toContain('rate            2 L/har\n');
    expect(out).toContain('empty           none\n');
    expect(out).toContain('lists           [1, 2]\n                –\n');
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBe(80);
    provider.read = { value: itemOf({}) as never };
    expect(await shell.run('equipment', 'get', '7')).toMatchObject({
      code: 1,
      error: expect.stringContaining('/id: an id is required (https://provider.test/thing)'),
    });
  });

  test('a wish is created or changed, and one that is incomplete is refused before it is sent', async () => {
    provider.read = { value: itemOf(machine) as never };
    const create = ['equipment', 'create', '--organization', '4711', '--category', 'machine'];
    expect((await shell.json('equipment', 'update', '7', '--name', 'N', '--make', '1')).code).toBe(0);
    expect((await shell.run(...create, '--name', 'N', '--type', '2', '--model', '3')).code).toBe(0);
    const accepted = { id: '7', organizationId: '4711', visible: false };
    provider.read = { value: accepted as never };
    expect((await shell.json(...create, '--name', 'N')).value).toEqual(accepted);
    expect((await shell.run(...create, '--name', 'N')).out).toBe(
      'The provider has accepted it as 7, and does not show it yet.\n',
    );
    expect(provider.asked.slice(0, 2)).toEqual([
      ['updateEquipment', '7', null, { ...nothing, name: 'N', makeId: '1' }],
      ['createEquipment', '4711', { ...nothing, category: 'machine', name: 'N', typeId: '2', modelId: '3' }],
    ]);
    const sent = provider.asked.length;
    expect((await shell.run(...create)).code).toBe(2);
    expect((await shell.run('equipment', 'update', '7')).code).toBe(2);
    expect((await shell.run('equipment', 'create', '--name', 'N')).code).toBe(2);
    expect(provider.asked).toHaveLength(sent);
  });

  test('reference data is chosen by a part of its name; what has no id is told, and the rest is printed', async () => {
    const [harrow, veldkamp] = [itemOf({ id: '1', name: 'Harrow' }), itemOf({ id: '2', name: 'Veldkamp' })];
    provider.read = {
      value: [harrow, { ...itemOf({ name: 'x' }), address: secretAddress }, veldkamp] as never,
    };
    const makes = await shell.json('makes');
    expect(makes.value).toHaveLength(2);
    expect(makes.code).toBe(1);
    expect(makes.error).toContain('/id: ');
    expect(makes.error).toContain('(https://api.provider.test/isg/makes)\n');
    provider.read = { value: [harrow, veldkamp] as never };
    expect((await shell.json('equipment', 'types', '--name', 'HARR')).value).toEqual([
      { id: '1', name: 'Harrow' },
    ]);
    const none = await shell.run('models', '--name', 'none');
    expect([none.code, none.out]).toEqual([0, 'There are no such models.\n']);
    expect(provider.asked).toEqual([
      ['reference', 'makes'],
      ['reference', 'types'],
      ['reference', 'models'],
    ]);
  });

  test('a text of the provider begins no line of its own, whose fact nobody told', async () => {
    const facts = { name: 'Baler\nserialNumber  1', makes: [{ name: 'A\r\nB' }, 'C\u2028D'] };
    provider.read = { value: itemOf({ id: 'op-1', ...facts }) as never };
    const { out } = await shell.run('field-operations', 'get', 'op-1');
    expect(
      out
        .split('\n')
        .filter((line) => /^\S/.test(line))
        .map((line) => line.split(' ')[0]),
    ).toEqual(['id', 'organizationId', 'observedAt', 'name', 'makes', 'source']);
    expect(out).toMatch(/Baler serialNumber {2}1\n.*A B\n.*C D\n/);
  });

  test('measurements are read beside the products of their operation', async () => {
    const operation = itemOf({ id: 'op-1' });
    provider.read = { value: { operation, values: [] } as never };
    expect((await shell.run('field-operations', 'measurements', 'op-1')).out).toBe('Nothing was measured.\n');
    provider.read = {
      value: { operation: itemOf({ id: 'op-1', measurements: [{ name: 'A' }] }), values: [] } as never,
    };
    expect((await shell.json('field-operations', 'measurements', 'op-1', '--name', 'A')).value).toEqual([
      { name: 'A' },
    ]);
    expect((await shell.run('field-operations', 'measurements', 'op-1')).out).toBe('name  A\n\n');
    expect(provider.asked[1]).toEqual(['measurements', 'op-1', null, 'A']);
  });

  test('a file’s record is shown where no place is named for its bytes', async () => {
    provider.read = { value: itemOf({ id: 'f1', nativeSize: 5 }) as never };
    expect((await shell.json('files', 'get', 'f1')).value).toMatchObject({ id: 'f1', bytes: 5 });
    expect((await shell.run('files', 'get', 'f1')).out).toContain('bytes         5\n');
  });

  describe('a file', () => {
    const whole = Buffer.from('the bytes of a file');
    const sha256 = createHash('sha256').update(whole).digest('hex');
    const place = () => join(folder, 'out.bin');

    const fileAddress = 'https://api.provider.test/files/f1';
    /** Bytes from a place on, ending early where `to` says so. */
    function content(from: number, to = whole.length, more: object = {}): void {
      provider.contents.push(() => ({
        value: {
          address: fileAddress,
          from,
          bytesTotal: whole.length,
          bytesRecorded: whole.length,
          version: '"v1"',
          sha256: null,
          ...more,
          chunks: (async function* () {
            yield whole.subarray(from, to);
            if (to < whole.length) throw new Problem('provider.unavailable', 'the file was cut: body-cut');
          })(),
        },
      }));
    }
    const get = (...words: string[]) => shell.run('files', 'get', 'f1', '--output', place(), ...words);
    const left = () => readdirSync(folder);

    test('is put in its place when it is complete and checked', async () => {
      writeFileSync(place(), 'what was there before');
      content(0, whole.length, { sha256 });
      const { code, out } = await get('--json');
      expect([code, JSON.parse(out)]).toEqual([
        0,
        { id: 'f1', output: place(), bytes: whole.length, sha256, checkedBy: 'digest' },
      ]);
      expect(readFileSync(place())).toEqual(whole);
      expect(left()).toEqual(['out.bin']);
    });

    test('is read on from where it was cut, and without a digest its length is checked', async () => {
      content(0, 5);
      content(5, 9);
      content(9);
      const { code, out } = await get();
      expect([code, out]).toEqual([0, expect.stringContaining('Its length was checked.')]);
      expect(readFileSync(place())).toEqual(whole);
      expect(provider.asked).toEqual([
        ['fileContent', 'f1', 0, null],
        ['fileContent', 'f1', 5, '"v1"'],
        ['fileContent', 'f1', 9, '"v1"'],
      ]);
    });

    test('of which neither a digest nor a length is named is not said to be checked', async () => {
      content(0, whole.length, { bytesRecorded: null });
      expect(await get()).toMatchObject({
        code: 0,
        out: expect.stringContaining('names neither a digest nor a length to check it by.'),
      });
      content(0, whole.length, { bytesRecorded: null });
      expect(JSON.parse((await get('--json')).out)).toMatchObject({ bytes: whole.length, checkedBy: null });
    });

    test('that is cut again and again without a byte is given up, and leaves nothing', async () => {
      for (let times = 0; times < 5; times += 1) content(0, 0);
      expect(await get()).toMatchObject({ code: 1, out: '' });
      expect(left()).toEqual([]);
      expect(shell.clock.waits).toHaveLength(4);
    });

    test.each([
      ['another digest', { sha256: '00'.repeat(32) }, 'expected the SHA-256 0000'],
      ['fewer bytes than it came with', { bytesTotal: 5 }, 'expected 5 bytes, got more'],
      ['another place', { from: 3 }, 'expected bytes from 0, got them from 3'],
    ])('with %s is refused, and what was there before stays', async (_what, more, words) => {
      writeFileSync(place(), 'before');
      content(0, whole.length, more);
      expect(await get()).toMatchObject({ code: 1, error: expect.stringContaining(words) });
      expect([left(), readFileSync(place(), 'utf8')]).toEqual([['out.bin'], 'before']);
    });

    test('that has changed between two parts is refused', async () => {
      content(0, 5);
      content(5, whole.length, { bytesTotal: whole.length + 1 });
      expect(await get()).toMatchObject({
        code: 1,
        error: expect.stringContaining(`got one of ${whole.length + 1} (${fileAddress})`),
      });
      expect(left()).toEqual([]);
    });

    test('that is too large is refused before a byte of it is kept', async () => {
      content(0);
      expect(await get('--bytes-max', '18')).toMatchObject({
        code: 1,
        error: expect.stringContaining('19 bytes'),
      });
      expect((await get('--bytes-max', 'many')).code).toBe(2);
      expect(left()).toEqual([]);
    });

    test('that is not there ends with 3', async () => {
      provider.contents.push(() => ({
        fault: faultOf({ kind: 'gone', certain: false, connectionId: 'c1', origin: '' }),
      }));
      expect((await get()).code).toBe(3);
    });

    test.each([
      ['takes no files', 0o555, /tramline: --output leads to \/\S+, which takes no files \(EACCES\)/],
      ['may not be entered', 0o600, /--output \/\S+ is in a folder that this user may not enter: the name/],
    ])('that is to go to a folder that %s ends with 2 and names it', async (_how, mode, words) => {
      content(0);
      chmodSync(folder, mode);
      // A superuser may write anywhere.
      const isSuperuser = process.geteuid!() === 0;
      if (isSuperuser) process.seteuid!(65_534);
      const { code, error } = await get().finally(() => isSuperuser && process.seteuid!(0));
      chmodSync(folder, 0o700);
      expect([code, error]).toEqual([2, expect.stringMatching(words)]);
      expect(error).toContain(folder);
      expect(left()).toEqual([]);
    });

    test('of no bytes is a file of no bytes', async () => {
      content(19, 19, { from: 0, bytesTotal: 0 });
      expect((await get()).code).toBe(0);
      expect(readFileSync(place())).toHaveLength(0);
    });

    test('is left when it is interrupted', async () => {
      content(0);
      shell.interrupt.abort();
      expect((await get()).code).toBe(130);
      expect(left()).toEqual([]);
    });
  });
});

test('a list that breaks off is an error, never all there is', async () => {
  shell = makeShell();
  ({ provider } = shell);
  server = await serveFor(shell);
  provider.lines = [{ item: itemOf(machine) }, null as never];
  const { code, error } = await shell.run('equipment');
  expect([code, error]).toEqual([1, expect.stringContaining('broke off')]);
});
