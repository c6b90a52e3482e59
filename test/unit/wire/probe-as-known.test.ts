// A consent that the store knows of and this process does not yet: whoever is probed meanwhile is asked with it at once.
import type { Answer } from '../../../src/model/answer';
import type { Connection } from '../../../src/model/connection';
import type { DueProbe } from '../../../src/model/organization';
import { probeAsKnown, tellUnasked } from '../../../src/wire/probe-as-known';

const due = { organizationId: '4711', epoch: 3, askedBy: 'schedule' } as DueProbe;
const signal = new AbortController().signal;
const nobody: Answer = { kind: 'no-connection', detail: 'no valid connection sees organization 4711' };
const open: Answer = { kind: 'not-modified', connectionId: 'c1' };

const unlisted: Answer = { kind: 'refused-unattributed', connectionId: 'c1', message: null };

/** `changed`: the store holds another consent than the book; `meanwhile`: the book was read while the probe was made. */
function stage({ changed = false, meanwhile = false, isNew = false, answered = open }) {
  const calls: string[] = [];
  let connections: readonly Connection[] = [];
  const probe = probeAsKnown(
    async () => {
      calls.push(`probe with ${connections.length}`);
      const answer = connections.length === 0 ? nobody : answered;
      if (meanwhile) connections = [{} as Connection];
      return answer;
    },
    () => ({
      connections: () => connections,
      async follow() {
        calls.push('follow');
        if (changed) connections = [{} as Connection];
        return isNew;
      },
      soughtSince(sinceMs) {
        calls.push(`lists since ${sinceMs}`);
        return null;
      },
    }),
    () => void calls.push('wanted'),
    { nowMs: () => 1000 },
  );
  return { probe, calls };
}

test('a probe that met the connections of before is made with those of now', async () => {
  const { probe, calls } = stage({ changed: true });
  expect(await probe(due, signal)).toEqual(open);
  expect(calls).toEqual(['probe with 0', 'follow', 'probe with 1']);
});

test('so is one during which they were read again by somebody else', async () => {
  const { probe, calls } = stage({ meanwhile: true });
  expect(await probe(due, signal)).toEqual(open);
  expect(calls).toEqual(['probe with 0', 'follow', 'probe with 1']);
});

test('what such a look finds to be learned is learned', async () => {
  const { probe, calls } = stage({ changed: true, isNew: true });
  await probe(due, signal);
  expect(calls).toContain('wanted');
});

test('a user who is not listed the organization any more has the lists asked for anew: another may be', async () => {
  const { probe, calls } = stage({ meanwhile: true, answered: unlisted });
  await probe(due, signal);
  calls.length = 0;
  expect(await probe(due, signal)).toEqual(unlisted);
  expect(calls).toEqual(['probe with 1', 'lists since 1000']);
});

test('where nothing changed nobody is asked twice', async () => {
  const { probe, calls } = stage({});
  expect(await probe(due, signal)).toEqual(nobody);
  expect(calls).toEqual(['probe with 0', 'follow']);
});

test('a probe that may ask nobody is told with its reason, and answered as it was', async () => {
  const told: unknown[] = [];
  const unasked: Answer = {
    kind: 'address-refused',
    code: 'address-refused',
    detail: 'https://moved.test is not pinned',
  };
  let answer: Answer = unasked;
  const probe = tellUnasked(async () => answer, { trouble: (line) => void told.push(line) });
  expect(await probe(due, signal)).toBe(unasked);
  answer = open;
  expect(await probe(due, signal)).toBe(open);
  expect(told).toEqual([
    {
      place: 'provider',
      code: 'address-refused',
      detail: 'organization 4711 cannot be asked: https://moved.test is not pinned',
    },
  ]);
});
