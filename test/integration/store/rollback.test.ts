/**
 * A group that fails leaves nothing behind, in the tables or in memory: whoever had the same calls executed one by one, or
 * not at all, cannot tell the difference afterwards. Fences and revisions that were given are not given again, so that of
 * them only the order is the same.
 */
import { rmSync } from 'node:fs';
import type { Inbox } from '../../../src/model/store';
import type { TakenTask } from '../../../src/model/task';
import type { Database } from '../../../src/store/sqlite/database';
import { type Call, type CallResult, openEngine } from '../../../src/store/sqlite/engine';
import type { VerbName } from '../../../src/store/sqlite/verbs';
import { layStore, settingsFor } from '../../contract/open-sqlite';
import { aliasHintOf, deliveryOf, draftOf, goneBy, heldBy, hintOf, terms } from '../../contract/store-hand';
import fc from '../../support/properties';

/** What every transaction of an engine runs into. */
const fault = {
  commit: null as Error | null,
  /** Of a commit that has something to write. */
  write: null as Error | null,
  rollback: null as Error | null,
};

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase: (file: string): Database => {
      const database = real.openDatabase(file) as Database;
      const { commit, rollback, begin } = database;
      let before = 0;
      const throwing = (which: 'commit' | 'rollback', then: () => void) => () => {
        const error = fault[which];
        if (error !== null) throw error;
        then();
      };
      return Object.assign(database, {
        begin() {
          begin();
          before = database.changes();
        },
        commit: throwing('commit', () => {
          if (fault.write !== null && database.changes() > before) throw fault.write;
          commit();
        }),
        rollback: throwing('rollback', rollback),
      });
    },
  };
});

/** As SQLite says it: the low byte of the code names the kind. */
const sqliteError = (errcode: number) => Object.assign(new Error(`errcode ${errcode}`), { errcode });

afterEach(() => Object.assign(fault, { commit: null, write: null, rollback: null }));

const startMs = Date.parse('2026-01-01T00:00:00Z');

/** An engine with what a caller would hold: the tasks that it has taken. */
class Subject {
  nowMs = startMs;
  readonly #laid = layStore();
  // A budget that runs out, so that what is paid for a call decides what comes next.
  readonly #engine = openEngine({ ...settingsFor(this.#laid.file), probesPerMinute: 40 }, () => this.nowMs);
  held: TakenTask[] = [];

  execute(calls: Call[]): CallResult[] {
    const results = this.#engine.execute(calls);
    for (const [index, result] of results.entries()) {
      if (calls[index]!.verb === 'take' && 'value' in result)
        this.held.push(...(result.value as TakenTask[]));
    }
    return results;
  }

  ask(verb: VerbName, ...args: unknown[]): unknown {
    const [result] = this.execute([{ verb, args }]);
    return result;
  }

  /** Everything that can be seen from outside, and what would happen next. */
  seen(): unknown {
    const shown = [
      this.ask('listTasks', { state: null, limit: 1000, after: 0 }),
      this.ask('listOrganizations', { limit: 1000, after: null }),
      this.ask('listConnections'),
      this.ask('listQuarantine', { limit: 1000, after: null }),
      this.ask('pickUnsent', 1000, 1e9, []),
      this.ask('ledgerPage', 0, 1000, Number.MAX_SAFE_INTEGER),
      this.ask('counts'),
      this.ask('epochs'),
    ];
    const next: unknown[] = [];
    for (let step = 0; step < 12; step += 1) {
      next.push(this.ask('nextDueInMs', 'task'), this.ask('nextDueInMs', 'probe'));
      next.push(this.ask('take', 2), this.ask('takeProbes', 1, 5000), this.ask('payProbeCall', false));
      this.nowMs += step * 997;
    }
    return [shown, next];
  }

  commit(): boolean {
    return this.#engine.commit();
  }

  close(): void {
    this.#engine.close();
    rmSync(this.#laid.folder, { recursive: true });
  }
}

const id = fc.constantFrom('1', '2', '3', '4');
const organization = fc.constantFrom('4711', '99');
const nth = fc.nat(9);
const content = fc.constantFrom('a', 'b');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('put' as const), id, organization, alias: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('take' as const), limit: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom(
        'finish' as const,
        'finishGone' as const,
        'foundAbsent' as const,
        'postpone' as const,
        'giveBack' as const,
        'quarantineTask' as const,
        'releaseLeases' as const,
      ),
      nth,
      organization,
      content,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constantFrom('block' as const, 'open' as const, 'probe' as const),
      organization,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom(
        'takeProbes' as const,
        'payProbeCall' as const,
        'payAnyway' as const,
        'postponeProbe' as const,
        'hasten' as const,
        'release' as const,
        'sweep' as const,
      ),
      organization,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constantFrom('learn' as const, 'import' as const, 'refuse' as const),
      organization,
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
const group = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  fails: fc.option(fc.nat(8)),
  waitMs: fc.constantFrom(0, 500, 1000, 15_000, 61_000, -3_600_000),
});

/** A call that does its work and fails at the end of it. */
const failing = (nowMs: number): Call => {
  const broken = { ...hintOf('5'), address: {} as string };
  const action = { line: 'acted', eventTypeId: 'x', probeOrganizationId: '99', dueAt: null } as const;
  return { verb: 'put', args: [deliveryOf(nowMs, [hintOf('1'), hintOf('9', '500'), action, broken])] };
};

/** The calls of a group, by what its caller holds and knows now; each held task is given back once at most. */
function callsOf(subject: Subject, steps: Step[]): Call[] {
  const held = [...subject.held];
  const epochs = (subject.ask('epochs') as { value: Map<string, number> }).value;
  const calls = steps.flatMap((what): Call[] => {
    const { does } = what;
    switch (does) {
      case 'put': {
        const hint = (what.alias ? aliasHintOf : hintOf)(what.id, what.organization);
        return [{ verb: 'put', args: [deliveryOf(subject.nowMs, [hint])] }];
      }
      case 'take':
        return [{ verb: 'take', args: [what.limit] }];
      case 'block':
      case 'open': {
        const { organization: organizationId } = what;
        const found = does === 'block' ? terms : { cause: null };
        const epoch = epochs.get(organizationId) ?? 1;
        return [{ verb: 'observe', args: [{ organizationId, epoch, found, by: 'probe' }] }];
      }
      case 'probe':
        return [{ verb: 'requestProbe', args: [what.organization, true] }];
      case 'takeProbes':
        return [{ verb: does, args: [1, 5000] }];
      case 'payProbeCall':
      case 'payAnyway':
        return [{ verb: 'payProbeCall', args: [does === 'payAnyway'] }];
      case 'postponeProbe':
        return [
          { verb: does, args: [what.organization, epochs.get(what.organization) ?? 1, 3000, 'left-alone'] },
        ];
      case 'hasten':
      case 'sweep':
        return [{ verb: does, args: [] }];
      case 'release':
        return [{ verb: 'releaseQuarantine', args: ['q1'] }];
      case 'learn':
        return [{ verb: does, args: [[{ id: what.organization, name: 'n', connectionId: 'c1' }]] }];
      case 'import':
        return [{ verb: 'importConnections', args: [[connectionOf(what.organization)]] }];
      case 'refuse':
        return [{ verb: 'refuseConnection', args: ['c1', 'expired', 's'] }];
      default: {
        const [task] = held.splice(what.nth % Math.max(1, held.length), 1);
        return task === undefined ? [] : [endingOf(does, task, what)];
      }
    }
  });
  subject.held = held;
  return calls;
}

function connectionOf(importHash: string) {
  const sealed = { sealedToken: 's', sealedTokenSecret: null, sealedRefresh: null, expiresAt: null };
  return {
    connectionId: 'c1',
    user: 'u',
    auth: 'oauth2',
    ...sealed,
    status: 'valid',
    organizations: [],
    importHash,
  };
}

function endingOf(
  does: Extract<Step, { nth: number }>['does'],
  task: TakenTask,
  what: { organization: string; content: string },
): Call {
  const held = heldBy(task);
  const resource = /equipment\/(\d)/.exec(task.address)![1]!;
  const { organization: organizationId } = what;
  const rest = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 3000 };
  const probe = { organizationId, refusedAddress: task.address, connectionId: 'c1' };
  const given: { [Verb in typeof does]: Parameters<Inbox[Verb]>[0] } = {
    finish: { ...held, draft: draftOf(resource, what.content, { organizationId }), ...rest },
    finishGone: goneBy(task),
    foundAbsent: { ...held, againInMs: 2000 },
    postpone: { ...held, dueInMs: 2000, own: what.content === 'a', agedMs: 0, code: 'c', detail: null },
    giveBack: {
      ...held,
      dueAtMs: task.dueAtMs,
      code: 'c',
      probe: what.content === 'a' ? probe : null,
      dueInMs: 100,
      agedMs: 0,
      detail: null,
    },
    quarantineTask: { ...held, reason: 'no-access', path: '', detail: null, raw: null },
    releaseLeases: [task],
  };
  return { verb: does, args: [given[does]] };
}

/** With each fence and revision as its place in their order. */
function inOrder(told: unknown): unknown {
  const isNumbered = (name: string) => name === 'fence' || name === 'revision';
  const numbers = new Set<number>();
  const walk = (value: unknown, change: (number: number) => number): unknown => {
    if (value instanceof Map) return [...value].map((entry) => walk(entry, change));
    if (Array.isArray(value)) return value.map((one) => walk(one, change));
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value).map(([name, one]) => [
      name,
      isNumbered(name) && typeof one === 'number' ? change(one) : walk(one, change),
    ]);
    return Object.fromEntries(entries);
  };
  walk(told, (number) => {
    numbers.add(number);
    return number;
  });
  const places = new Map(
    [...numbers].sort((left, right) => left - right).map((number, place) => [number, place]),
  );
  return walk(told, (number) => places.get(number)!);
}

const outcomes = (results: CallResult[]) =>
  results.map((result) => ('value' in result ? result.value : result.problem.code));

test('a group with a call that fails is what its calls are one by one', () => {
  fc.assert(
    fc.property(fc.array(group, { minLength: 1, maxLength: 8 }), (groups) => {
      const together = new Subject();
      const alone = new Subject();
      try {
        for (const { steps, fails, waitMs } of groups) {
          const calls = callsOf(together, steps);
          const same = callsOf(alone, steps);
          expect(inOrder(same)).toEqual(inOrder(calls));
          if (fails !== null) {
            calls.splice(fails, 0, failing(together.nowMs));
            same.splice(fails, 0, failing(alone.nowMs));
          }
          const results = outcomes(together.execute(calls));
          const apart = same.flatMap((call) => outcomes(alone.execute([call])));
          expect(inOrder(results)).toEqual(inOrder(apart));
          if (fails !== null) expect(results).toContain('store.refused');
          together.nowMs += waitMs;
          alone.nowMs += waitMs;
        }
        expect(inOrder(together.seen())).toEqual(inOrder(alone.seen()));
      } finally {
        together.close();
        alone.close();
      }
    }),
    { numRuns: 60 },
  );
});

test('a group that cannot be committed has not been, whatever becomes of its rollback', () => {
  const codes = fc.constantFrom(8, 10, 13, 13 | (1 << 8), 7);
  fc.assert(
    fc.property(
      fc.array(group, { minLength: 1, maxLength: 5 }),
      group,
      codes,
      fc.boolean(),
      (groups, lost, errcode, alsoRollback) => {
        const struck = new Subject();
        const spared = new Subject();
        try {
          for (const { steps, waitMs } of groups) {
            const calls = callsOf(struck, steps);
            expect(callsOf(spared, steps)).toEqual(calls);
            expect(outcomes(struck.execute(calls))).toEqual(outcomes(spared.execute(calls)));
            struck.nowMs += waitMs;
            spared.nowMs += waitMs;
          }
          const { held } = struck;
          const calls: Call[] = [...callsOf(struck, lost.steps), { verb: 'ready', args: [] }];
          struck.held = held;
          fault.commit = sqliteError(errcode);
          if (alsoRollback) fault.rollback = sqliteError(10);
          const told = struck.execute(calls).map((result) => 'problem' in result && result.problem.code);
          expect(told).toEqual(calls.map(() => 'store.unavailable'));
          fault.commit = null;
          fault.rollback = null;
          expect(inOrder(struck.seen())).toEqual(inOrder(spared.seen()));
        } finally {
          struck.close();
          spared.close();
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('after a commit that failed nothing is answered before it is on disk, until one that wrote succeeds', () => {
  const subject = new Subject();
  try {
    const ids = ['1', '2', '3', '4'];
    subject.ask(
      'put',
      deliveryOf(
        startMs,
        ids.map((id) => hintOf(id, '4711')),
      ),
    );
    fault.commit = sqliteError(13);
    expect(subject.ask('take', 1)).toHaveProperty('value');
    expect(subject.commit()).toBe(false);
    for (let turn = 0; turn < 2; turn += 1)
      expect(subject.ask('take', 1)).toMatchObject({ problem: { code: 'store.unavailable' } });
    fault.commit = null;
    expect(subject.ask('listTasks', { state: null, limit: 9, after: 0 })).toHaveProperty('value');
    fault.commit = sqliteError(13);
    expect(subject.ask('take', 1)).toMatchObject({ problem: { code: 'store.unavailable' } });
    fault.commit = null;
    expect(subject.ask('take', 1)).toHaveProperty('value');
    fault.commit = sqliteError(13);
    expect(subject.ask('take', 1)).toHaveProperty('value');
  } finally {
    fault.commit = null;
    subject.close();
  }
});

test('of a disk that takes nothing each call is told for itself what it can have', () => {
  const subject = new Subject();
  try {
    subject.ask('put', deliveryOf(startMs, [hintOf('1', '4711')]));
    fault.write = sqliteError(13);
    const calls: Call[] = [
      { verb: 'listTasks', args: [{ state: null, limit: 9, after: 0 }] },
      { verb: 'put', args: [deliveryOf(startMs, [hintOf('2', '4711')])] },
      { verb: 'counts', args: [] },
    ];
    const [tasks, put, counts] = subject.execute(calls);
    expect(tasks).toMatchObject({ value: [{ id: 1 }] });
    expect(put).toMatchObject({ problem: { code: 'store.unavailable' } });
    expect(counts).toHaveProperty('value');
  } finally {
    fault.write = null;
    subject.close();
  }
});

const endings = ['finish', 'finishGone', 'foundAbsent', 'postpone', 'giveBack', 'releaseLeases'] as const;

test.each(endings)('a task whose %s was answered, and is lost with its commit, is due at once', (does) => {
  const subject = new Subject();
  try {
    subject.ask('put', deliveryOf(startMs, [hintOf('1', '4711')]));
    subject.ask('take', 1);
    subject.ask('ready');
    const [task] = subject.held;
    const ended = endingOf(does, task!, { organization: '4711', content: 'a' });
    expect(subject.execute([ended])).not.toContainEqual({ problem: expect.anything() });
    fault.commit = sqliteError(13);
    expect(subject.commit()).toBe(false);
    fault.commit = null;
    expect(subject.ask('take', 1)).toMatchObject({ value: [{ taskId: task!.taskId }] });
    expect(subject.held.at(-1)!.fence).toBeGreaterThan(task!.fence);
  } finally {
    fault.commit = null;
    subject.close();
  }
});

test('what came nearer since the clock was set back is as far as before when that cannot be committed', () => {
  const struck = new Subject();
  const spared = new Subject();
  try {
    for (const subject of [struck, spared]) {
      subject.ask('put', deliveryOf(startMs, [hintOf('1', '4711'), hintOf('2', '99'), hintOf('3', '99')]));
      subject.ask('take', 1);
      subject.ask('requestProbe', '4711', true);
      subject.ask('takeProbes', 1, 5000);
      subject.ask('observe', { organizationId: '99', epoch: 1, found: terms, by: 'probe' });
      while ((subject.ask('sweep') as { value: { more: boolean } }).value.more);
      subject.nowMs -= 3_600_000;
    }
    fault.commit = sqliteError(13);
    expect(struck.ask('sweep')).toMatchObject({ problem: { code: 'store.unavailable' } });
    fault.commit = null;
    expect(inOrder(struck.seen())).toEqual(inOrder(spared.seen()));
    for (const subject of [struck, spared]) subject.ask('sweep');
    expect(inOrder(struck.seen())).toEqual(inOrder(spared.seen()));
  } finally {
    fault.commit = null;
    struck.close();
    spared.close();
  }
});
