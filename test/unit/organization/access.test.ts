/**
 * What is learned about access: a probe's answer is an observation or nothing, a refused token concerns whom nobody else
 * sees, and a listing's link is said once.
 */
import type { Answer } from '../../../src/model/answer';
import type { DueProbe, Observation, Transition } from '../../../src/model/organization';
import { type AccessDoors, makeOrganizationAccess, saidBy } from '../../../src/organization/access';
import { makeHandClock } from '../../support/hand-clock';

const due: DueProbe = {
  organizationId: '4711',
  epoch: 3,
  refusedAddress: 'https://provider.example/equipment/1',
  knownAddress: null,
  connectionId: 'c1',
};
const terms: Answer = {
  kind: 'action-required',
  cause: 'terms',
  actionUrl: 'https://provider.example/terms',
  message: 'restricted',
  connectionId: 'c1',
};
const signal = new AbortController().signal;

function stage(answer: Answer, changed = true) {
  const observed: Observation[] = [];
  const calls: string[] = [];
  const store = {
    async observe(observation: Observation): Promise<Transition & { applied: boolean }> {
      observed.push(observation);
      return { causes: {}, access: 'active', previous: 'terms-required', changed, applied: true };
    },
    async postponeProbe(id: string, ms: number) {
      calls.push(`postpone ${id} ${ms}`);
    },
    async refuseConnection(id: string) {
      calls.push(`refuse ${id}`);
      const transition = { causes: {}, access: 'reauthorize', previous: 'active', changed: true };
      return {
        observed: [
          { observation: { organizationId: '1' }, transition },
          { observation: { organizationId: '2' }, transition: { ...transition, changed: false } },
        ],
      };
    },
    async access(id: string) {
      if (id === '2') return null;
      const causes =
        id === 'known' ? { 'not-connected': { sinceMs: 0, actionUrl: null, message: null } } : {};
      return { access: 'active', causes, epoch: 9 };
    },
  } as unknown as AccessDoors['store'];
  const access = makeOrganizationAccess({
    store,
    ask: async () => answer,
    clientRefused: (message) => void calls.push(`client refused ${message}`),
    rateLimited: (ms) => void calls.push(`rate-limited ${ms}`),
    probed: ({ found }) => void calls.push(`probed ${found}`),
    changed: ({ organizationId }) => void calls.push(`changed ${organizationId}`),
    connectionRefused: async () => void calls.push('connection refused'),
    answered: () => void calls.push('answered'),
    clock: makeHandClock(0),
    retryMs: 15_000,
  });
  return { access, observed, calls };
}

test('a blocking answer is observed under the epoch at which the probe began', async () => {
  const { access, observed, calls } = stage(terms);
  await access.probe(due, signal);
  expect(observed).toEqual([
    {
      organizationId: '4711',
      epoch: 3,
      found: { cause: 'terms', actionUrl: 'https://provider.example/terms', message: 'restricted' },
      by: 'probe',
    },
  ]);
  expect(calls).toEqual(['probed action-required', 'changed 4711', 'answered']);
});

test('an observation that changes nothing still lets waiting work go on', async () => {
  const { access, calls } = stage(terms, false);
  await access.probe(due, signal);
  expect(calls).toEqual(['probed action-required', 'answered']);
});

test('the connections link is named as what said so', async () => {
  const { access, observed } = stage({ kind: 'not-connected', actionUrl: null, connectionId: 'c1' });
  await access.probe(due, signal);
  expect(observed[0]).toMatchObject({ by: 'connections-link', found: { cause: 'not-connected' } });
});

test('an answer that says nothing about access puts the probe off', async () => {
  const { access, observed, calls } = stage({ kind: 'rate-limited', retryAfterMs: 7000 });
  await access.probe(due, signal);
  expect(observed).toEqual([]);
  expect(calls).toEqual(['probed rate-limited', 'rate-limited 7000', 'postpone 4711 15000']);
});

test('a refused client key is told, and says nothing of the organization', async () => {
  const { access, observed, calls } = stage({ kind: 'client-refused', connectionId: 'c1', message: 'scope' });
  await access.probe(due, signal);
  expect(observed).toEqual([]);
  expect(calls).toEqual(['probed client-refused', 'client refused scope', 'postpone 4711 15000']);
});

test('a refused token is refused in the store, and what that changed is told', async () => {
  const { access, observed, calls } = stage({ kind: 'reauthorize', connectionId: 'c1', message: 'expired' });
  await access.probe(due, signal);
  expect(observed).toEqual([]);
  expect(calls).toEqual([
    'probed reauthorize',
    'refuse c1',
    'connection refused',
    'changed 1',
    'answered',
    'postpone 4711 15000',
  ]);
});

test('a listing that shows the connections link is said once, under the epoch before it', async () => {
  const { access, observed } = stage(terms);
  await access.unconnected('known', null, 4);
  await access.unconnected('4711', 'https://provider.example/connect', 8);
  await access.unconnected('2', null, 1);
  expect(observed).toMatchObject([
    { organizationId: '4711', epoch: 8, found: { actionUrl: 'https://provider.example/connect' } },
    { organizationId: '2', epoch: 1, by: 'sync' },
  ]);
});

test.each([
  [{ kind: 'not-modified', connectionId: 'c1' }],
  [{ kind: 'gone', certain: true, connectionId: 'c1', origin: 'o' }],
  [{ kind: 'no-access', connectionId: 'c1', message: null }],
] as [Answer][])('%j shows that the organization may be read', (answer) => {
  expect(saidBy(answer)).toEqual({ by: 'probe', found: { cause: null } });
});

test.each([
  [{ kind: 'aborted' }],
  [{ kind: 'no-connection', detail: '' }],
  [{ kind: 'client-refused', connectionId: 'c1', message: null }],
] as [Answer][])('%j says nothing about the organization', (answer) => {
  expect(saidBy(answer)).toBeNull();
});
