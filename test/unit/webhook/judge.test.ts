import { Secret } from '../../../src/tools/secret';
import { makeJudge } from '../../../src/webhook/judge';
import { readBody } from '../../../src/webhook/read-body';
import { processorTimeOf } from '../../support/processor-time';
import fc from '../../support/properties';
import { notification, settingsWith } from './receiver';

const { judge, setAside } = makeJudge(settingsWith().eventTypes, () => [new Secret('planted-canary')]);

/** Through the real reader, so that numbers arrive as they do in a delivery. */
function judgeText(text: string) {
  const reading = readBody(Buffer.from(`[${text}]`));
  if ('fault' in reading) throw new Error(reading.fault);
  return judge(reading.elements[0], null);
}

function without(name: string): Record<string, unknown> {
  const { [name]: _left, ...rest } = notification();
  return rest;
}

describe('a notification of a resource', () => {
  test.each(['equipment', 'machine', 'fieldOperation'])('of type %s is a hint', (eventTypeId) => {
    expect(judge(notification({ eventTypeId }), 'ann')).toEqual({
      line: 'hint',
      eventTypeId,
      address: 'https://api.acme.test/platform/fieldOperations/795b80cf',
      organizationId: '4711',
      user: 'ann',
    });
  });

  test('keeps no token, and lets fields pass that it does not know', () => {
    const judged = judge(notification({ token: 'planted-canary', version: 7, more: { deep: [] } }), null);
    expect(judged).toMatchObject({ line: 'hint', organizationId: '4711' });
    expect(JSON.stringify(judged)).not.toContain('planted-canary');
  });

  test.each(['equipment', 'unknown'])('of type %s keeps no user info of its address', (eventTypeId) => {
    const targetResource = 'https://ann:planted@api.acme.test/platform/fieldOperations/795b80cf';
    expect(judge(notification({ eventTypeId, targetResource }), null)).toMatchObject({
      address: 'https://[secret]@api.acme.test/platform/fieldOperations/795b80cf',
    });
  });

  test('may have an address of 2,048 bytes', () => {
    const targetResource = `https://api.acme.test/a${'農'.repeat(675)}`;
    expect(Buffer.byteLength(targetResource)).toBe(2048);
    expect(judge(notification({ targetResource }), null)).toMatchObject({
      line: 'hint',
      address: targetResource,
    });
  });

  test('that names no organization has none', () => {
    expect(judge(notification({ metadata: [] }), null)).toMatchObject({ line: 'hint', organizationId: null });
  });

  test.each([
    ['4711', '4711'],
    ['0', '0'],
    ['9007199254740993', '9007199254740993'],
    ['"0047"', '0047'],
    ['"a/b"', 'a/b'],
  ])('whose orgId is %s is of the organization %s', (value, organizationId) => {
    const text = JSON.stringify(notification({ metadata: 'M' })).replace(
      '"M"',
      `[{"key":"x"},{"key":"orgId","value":${value}}]`,
    );
    expect(judgeText(text)).toMatchObject({ line: 'hint', organizationId });
  });

  test.each(['null', '""', '-1', '1.5', '1e400', 'true', '["4711"]', '{}', '"a\\u0000b"', '"\\ud800"'])(
    'whose orgId is %s is set aside with its place',
    (value) => {
      const text = JSON.stringify(notification({ metadata: 'M' })).replace(
        '"M"',
        `[{"key":"x"},{"key":"orgId","value":${value}}]`,
      );
      expect(judgeText(text)).toMatchObject({
        line: 'quarantined',
        reason: 'malformed-notification',
        path: '/metadata/1/value',
      });
    },
  );

  test.each(['targetResource', 'metadata'])('without %s is set aside', (name) => {
    expect(judge(without(name), null)).toMatchObject({
      line: 'quarantined',
      reason: 'malformed-notification',
      path: `/${name}`,
    });
  });

  test.each([
    ['/targetResource', { targetResource: '' }],
    ['/targetResource', { targetResource: null }],
    ['/targetResource', { targetResource: 5 }],
    ['/targetResource', { targetResource: ['https://api.acme.test'] }],
    ['/targetResource', { targetResource: `https://api.acme.test/${'a'.repeat(2048)}` }],
    ['/targetResource', { targetResource: `https://api.acme.test/${'農'.repeat(676)}` }],
    // Longer once what may be a password is hidden.
    ['/targetResource', { targetResource: `https://api.acme.test/${'//a@'.repeat(500)}` }],
    ['/targetResource', { targetResource: 'https://api.acme.test/\0' }],
    ['/targetResource', { targetResource: 'https://api.acme.test/\ud800' }],
    ['/metadata', { metadata: null }],
    ['/metadata', { metadata: { orgId: '4711' } }],
    ['/metadata/1', { metadata: [{ key: 'a', value: 'b' }, null] }],
    ['/metadata/0/key', { metadata: [{ value: '4711' }] }],
    ['/clientKey', { clientKey: null }],
    ['/token', { token: 5 }],
    ['/links', { links: 'none' }],
  ])('is set aside with the place %s', (path, differences) => {
    expect(judge(notification(differences), null)).toMatchObject({
      line: 'quarantined',
      reason: 'malformed-notification',
      path,
    });
  });
});

describe('what is no notification', () => {
  test.each([null, 5, 'text', true, [], [notification()], {}, { eventTypeId: null }, { eventTypeId: '' }])(
    '%j is set aside',
    (element) => {
      expect(judge(element, null)).toMatchObject({ line: 'quarantined', reason: 'malformed-notification' });
    },
  );

  test('an event type that no store can hold is set aside', () => {
    for (const eventTypeId of ['a\0b', '\udc00', 'a'.repeat(257)]) {
      expect(judge(notification({ eventTypeId }), null)).toMatchObject({ path: '/eventTypeId' });
    }
  });

  test('an event type that is inherited is none', () => {
    expect(judgeText('{"__proto__":{"eventTypeId":"heartbeat"}}')).toMatchObject({
      line: 'quarantined',
      path: '/eventTypeId',
    });
  });
});

describe('verification and heartbeat', () => {
  test.each(['subscriptionVerification', 'heartbeat'])('%s is dealt with, whatever else it holds', (type) => {
    const acted = { line: 'acted', eventTypeId: type, probeOrganizationId: null, dueAt: null };
    expect(judge({ eventTypeId: type }, null)).toEqual(acted);
    expect(judge({ eventTypeId: type, targetResource: null, metadata: null }, null)).toEqual(acted);
  });
});

describe('an unknown type', () => {
  test('is kept with its address', () => {
    expect(judge(notification({ eventTypeId: 'boundary' }), null)).toEqual({
      line: 'ignored',
      eventTypeId: 'boundary',
      address: 'https://api.acme.test/platform/fieldOperations/795b80cf',
    });
  });

  test.each([null, 5, 'a\0', `https://${'a'.repeat(2048)}`])(
    'is kept without the address %.20j',
    (target) => {
      expect(judge({ eventTypeId: 'boundary', targetResource: target }, null)).toMatchObject({
        line: 'ignored',
        address: null,
      });
    },
  );

  test.each(['constructor', '__proto__', 'toString'])('named %s is unknown as well', (eventTypeId) => {
    expect(judge(notification({ eventTypeId }), null)).toMatchObject({ line: 'ignored', eventTypeId });
  });
});

describe('a Required Customer Action', () => {
  const action = (differences: Record<string, unknown>) => ({
    eventTypeId: 'requiredCustomerAction',
    ...differences,
  });
  const orgId = { key: 'orgId', value: 4711 };

  test('names its organization in its metadata, or as its target', () => {
    const expected = { line: 'acted', probeOrganizationId: '4711', dueAt: null };
    expect(judge(action({ metadata: [orgId] }), null)).toMatchObject(expected);
    for (const target of [
      'https://api.acme.test/platform/organizations/4711',
      'https://api.acme.test/organizations/4711/?a=b#c',
      '/moved/Organizations/4711',
      'https://api.acme.test/organizations/47%311/terms',
    ]) {
      expect(judge(action({ targetResource: target, metadata: [] }), null)).toMatchObject(expected);
    }
  });

  test('whose metadata and target differ is of the organization that the metadata names', () => {
    const both = action({ targetResource: 'https://api.acme.test/organizations/9', metadata: [orgId] });
    expect(judge(both, null)).toMatchObject({ probeOrganizationId: '4711' });
  });

  test.each([
    {},
    { metadata: [] },
    { targetResource: 'https://api.acme.test/organizations/' },
    { targetResource: 'https://api.acme.test/organizations/%zz' },
    { targetResource: 'https://api.acme.test/organizations/%00' },
    { targetResource: 'https://api.acme.test/fields/4711' },
  ])('that names no organization is set aside: %j', (differences) => {
    expect(judge(action(differences), null)).toMatchObject({ line: 'quarantined', path: '/metadata' });
  });

  test('is of the organization that its path names last, as the rule in one pattern said', () => {
    // The same rule as one pattern, whose cost grows with the square of the path; it takes `organizations` twice in a
    // row differently, and stops at a line's end.
    const pattern = /\/organizations\/([^/]+)(?!.*\/organizations\/)/i;
    const segment = fc.oneof(
      fc.constantFrom('organizations', 'Organizations', '', 'organizations2', '4711', 'terms'),
      fc.stringMatching(/^[A-Za-z0-9.~_-]{1,5}$/),
    );
    const twice = /(?:^|\/)organizations\/+organizations(?:\/|$)/i;
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 9 }), (segments) => {
        const path = segments.join('/');
        fc.pre(path !== '' && !twice.test(path));
        const judged = judge(action({ targetResource: path }), null);
        const named = pattern.exec(path)?.[1];
        if (named === undefined) expect(judged).toMatchObject({ line: 'quarantined', path: '/metadata' });
        else expect(judged).toMatchObject({ line: 'acted', probeOrganizationId: named });
      }),
      { numRuns: 3000 },
    );
  });

  test('costs no more to judge for an address that is made to be read again and again', () => {
    const delivery = (word: string) =>
      Array.from({ length: 256 }, (_, at) =>
        action({ targetResource: `/${word}/${'a'.repeat(980)}/${word}/${'b'.repeat(1000)}${at}` }),
      );
    // Of the same bytes, without the word.
    const [hostile, harmless] = [delivery('organizations'), delivery('organisations')];
    const hostileTimes: number[] = [];
    const harmlessTimes: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      harmlessTimes.push(processorTimeOf(() => harmless.forEach((element) => void judge(element, null))));
      hostileTimes.push(processorTimeOf(() => hostile.forEach((element) => void judge(element, null))));
    }
    expect(Math.min(...hostileTimes)).toBeLessThan(30 * Math.min(...harmlessTimes));
  });

  test.each([
    ['an unreadable orgId', '/metadata/0/value', { metadata: [{ key: 'orgId', value: {} }] }],
    ['a target that is no text', '/targetResource', { targetResource: 5 }],
  ])('with %s is set aside', (_what, path, differences) => {
    expect(judge(action(differences), null)).toMatchObject({ line: 'quarantined', path });
  });

  test.each([
    ['dueTime', '2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
    ['dueDate', '2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['dueAt', '2026-03-01T12:00:00+02:00', '2026-03-01T10:00:00.000Z'],
    ['dueAt', '2026-03-01T12:00:00', '2026-03-01T12:00:00.000Z'],
    ['dueAt', 1_772_366_400, '2026-03-01T12:00:00.000Z'],
    ['dueAt', '1772366400', '2026-03-01T12:00:00.000Z'],
    ['dueAt', 1_772_366_400_250, '2026-03-01T12:00:00.250Z'],
    ['dueAt', null, null],
    ['other', '2026-03-01', null],
  ])('with %s %j is due at %j', (key, value, dueAt) => {
    const judged = judge(action({ metadata: [orgId, { key, value }] }), null);
    expect(judged).toMatchObject({ line: 'acted', dueAt });
    expect(judged).not.toHaveProperty('dueUnread');
  });

  test.each([
    ...['soon', '2026-13-45', '20260301', 17_723_664, 1.5, { at: 1 }],
    // What a lenient reader of dates would take for one.
    ...['March 1, 2026', '2026', '2026-3-1', 'by 2026-03-01', '2026-03-01 at noon', '2026-03-01 12:00'],
    ...['2026-03-01T12:00:00Z (noon)', '17723664000', '01772366400', '17723664000000'],
  ])('with the due time %j has none, which is told', (value) => {
    const judged = judge(action({ metadata: [orgId, { key: 'dueAt', value }] }), null);
    expect(judged).toMatchObject({ line: 'acted', dueAt: null, dueUnread: true });
  });

  test('counts as one also when its type is listed as a resource', () => {
    const both = makeJudge({ requiredAction: ['x'], equipment: ['x'], fieldOperation: [] }, () => []);
    expect(both.judge({ eventTypeId: 'x', metadata: [orgId] }, null)).toMatchObject({ line: 'acted' });
  });
});

describe('what is kept of an element', () => {
  const rawOf = (element: unknown) => setAside(element, 'malformed-notification', '').raw;

  test('is its JSON without tokens, at any depth and in any case', () => {
    expect(rawOf({ a: 1, token: 'x', b: { Token: 'y', c: 2 } })).toBe('{"a":1,"b":{"c":2}}');
  });

  test('holds no current secret, wherever it stood', () => {
    expect(rawOf({ note: 'it is planted-canary!' })).toBe('{"note":"it is [secret]!"}');
    expect(rawOf('planted-canary')).toBe('"[secret]"');
  });

  test('keeps the digits of long numbers', () => {
    expect(judgeText('{"id":9007199254740993,"x":1e400}')).toMatchObject({
      raw: '{"id":9007199254740993,"x":1e400}',
    });
  });

  test('is cut at 8 KiB and stays well-formed', () => {
    for (const filler of ['a', 'é', '€', '🚜', '\ud800', '\0']) {
      for (let shift = 0; shift < 4; shift += 1) {
        const raw = rawOf('x'.repeat(shift) + filler.repeat(9000));
        expect(Buffer.byteLength(raw)).toBeLessThanOrEqual(8192);
        expect(Buffer.byteLength(raw)).toBeGreaterThan(8188);
        expect(raw.isWellFormed()).toBe(true);
        expect(raw).not.toMatch(/\0|\uFFFD/);
      }
    }
  });
});

describe('what is kept of an element that repeats a member', () => {
  const rawOf = (json: string) =>
    setAside(JSON.parse(json), 'repeated-member', '/a', { path: '/a', text: json }).raw;

  test('holds every member of it, as it was written but for the blanks', () => {
    expect(rawOf('{ "a": 9007199254740993, "a": [ true, {} ], "\\u0061": "x y", "b": null }')).toBe(
      '{"a":9007199254740993,"a":[true,{}],"a":"x y","b":null}',
    );
  });

  test('holds no token, however its name or its value is written, no current secret and no user info', () => {
    expect(
      rawOf(
        '{"token":"one","t\\u006fken":{"x":["two,"]},"a":{"TOKEN" : 3,"token":[]},"a":"\\u0070lanted-canary","b":"token"}',
      ),
    ).toBe(
      '{"token":"[secret]","token":"[secret]","a":{"TOKEN":"[secret]","token":"[secret]"},"a":"[secret]","b":"token"}',
    );
    expect(rawOf('{"a":1,"a":"https:\\/\\/ann:planted@provider.example\\/1"}')).toBe(
      '{"a":1,"a":"https://[secret]@provider.example/1"}',
    );
  });

  test('is what is kept of any other, where it repeats nothing and names no token', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const element = JSON.parse(JSON.stringify(value)) as unknown;
        const kept = setAside(element, 'malformed-notification', '').raw;
        expect(rawOf(JSON.stringify(element, null, 1))).toBe(kept);
      }),
      { numRuns: 500 },
    );
  });

  test('is cut at 8 KiB', () => {
    expect(Buffer.byteLength(rawOf(`{"a":1,"a":"${'€'.repeat(9000)}"}`))).toBeLessThanOrEqual(8192);
  });
});

test('any JSON is judged as exactly one line, and what is kept of it can be stored', () => {
  const part = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'binary' }));
  const element = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        eventTypeId: fc.oneof(fc.constantFrom('equipment', 'requiredCustomerAction', 'heartbeat'), part),
        targetResource: part,
        metadata: fc.oneof(
          fc.array(fc.oneof(fc.record({ key: fc.constantFrom('orgId', 'dueAt'), value: part }), part)),
          part,
        ),
        token: part,
        ['__proto__']: part,
      },
      { requiredKeys: [] },
    ),
  );
  const storable = (text: string | null) => text === null || (text.isWellFormed() && !text.includes('\0'));
  fc.assert(
    fc.property(element, (value) => {
      const judged = judgeText(JSON.stringify(value));
      if (judged.line === 'hint') {
        expect([judged.address, judged.eventTypeId, judged.organizationId].every(storable)).toBe(true);
      } else if (judged.line === 'quarantined') {
        expect(storable(judged.raw) && storable(judged.path)).toBe(true);
        expect(judged.reason).toBe('malformed-notification');
      } else {
        expect(['acted', 'ignored']).toContain(judged.line);
        expect(storable(judged.eventTypeId)).toBe(true);
      }
    }),
    { numRuns: 1500 },
  );
});
