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
  askedBy: 'notification',
};
const terms: Answer = {
  kind: 'action-required',
  cause: 'terms',
  actionUrl: 'https://provider.example/terms',
  message: 'restricted',
  connectionId: 'c1',
};
const signal = new AbortController().signal;

function stage(answer: Answer, changed = true, heldMs = 0) {
  const observed: Observation[] = [];
  const calls: string[] = [];
  const store = {
    async observe(observation: Observation): Promise<Transition & { applied: boolean }> {
      observed.push(observation);
      return { causes: {}, access: 'active', previous: 'terms-required', changed, applied: true };
    },
    async postponeProbe(id: string, epoch: number, again: number | string, found: string) {
      calls.push(`postpone ${id}/${epoch} ${again}: ${found}`);
    },
    async payProbeCall(anyway: boolean) {
      calls.push(`paid ${anyway}`);
      return 0;
    },
    async refuseConnection(id: string, _message: string | null, sealedToken: string) {
      calls.push(`refuse ${sealedToken} of ${id}`);
      const transition = { causes: {}, access: 'reauthorize', previous: 'active', changed: true };
      return {
        observed: [
          { observation: { organizationId: '1' }, transition },
          { observation: { organizationId: '2' }, transition: { ...transition, changed: false } },
        ],
      };
    },
    async keepSights(id: string, organizations: string[]) {
      calls.push(`keeps ${id} ${organizations}`);
      const transition = { causes: {}, access: 'reauthorize', previous: 'active', changed: true };
      return {
        observed: organizations.length > 0 ? [] : [{ observation: { organizationId: '1' }, transition }],
      };
    },
    async acceptConnection(id: string) {
      calls.push(`accept ${id}`);
      return true;
    },
    async access(id: string) {
      if (id === '2') return null;
      const detail = { sinceMs: 0, actionUrl: null, message: null };
      const causes = {
        ...(['known', 'refused'].includes(id) && { 'not-connected': detail }),
        ...(id === 'refused' && { 'refused-grant': detail }),
      };
      return { access: 'active', causes, epoch: 9 };
    },
  } as unknown as AccessDoors['store'];
  const doors: AccessDoors = {
    store,
    ask: async () => answer,
    heldMs: () => heldMs,
    heard: async (_due, { kind }) => void calls.push(`heard ${kind}`),
    probed: ({ found }) => void calls.push(`probed ${found}`),
    changed: ({ organizationId }) => void calls.push(`changed ${organizationId}`),
    connectionsChanged: async () => void calls.push('connections changed'),
    answered: () => void calls.push('answered'),
    clock: makeHandClock(0),
  };
  return { access: makeOrganizationAccess(doors), doors, observed, calls };
}

test('a blocking answer is observed under the epoch at which the probe began', async () => {
  const { access, observed, calls } = stage(terms);
  await access.probe(due, signal);
  expect(observed).toEqual([
    {
      organizationId: '4711',
      epoch: 3,
      askedBy: 'notification',
      probed: 'action-required',
      found: { cause: 'terms', actionUrl: 'https://provider.example/terms', message: 'restricted' },
      by: 'probe',
    },
  ]);
  expect(calls).toEqual(['probed action-required', 'heard action-required', 'changed 4711', 'answered']);
});

test('an observation that changes nothing still lets waiting work go on', async () => {
  const { access, calls } = stage(terms, false);
  await access.probe(due, signal);
  expect(calls).toEqual(['probed action-required', 'heard action-required', 'answered']);
});

test('the connections link is named as what said so', async () => {
  const { access, observed } = stage({ kind: 'not-connected', actionUrl: null, connectionId: 'c1' });
  await access.probe(due, signal);
  expect(observed[0]).toMatchObject({ by: 'connections-link', found: { cause: 'not-connected' } });
});

test.each([
  [{ kind: 'rate-limited', retryAfterMs: 7000, untilMs: 7000 }],
  [{ kind: 'client-refused', connectionId: 'c1', message: 'scope' }],
] as [Answer][])(
  '%j is heard, says nothing about access, and puts the probe off for longer each time',
  async (answer) => {
    const { access, observed, calls } = stage(answer);
    await access.probe(due, signal);
    expect(observed).toEqual([]);
    expect(calls).toEqual([
      `probed ${answer.kind}`,
      `heard ${answer.kind}`,
      `postpone 4711/3 later: ${answer.kind}`,
    ]);
  },
);

test('who is seen by no connection is not asked again and again', async () => {
  const { access, calls } = stage({ kind: 'no-connection', detail: 'none' });
  await access.probe(due, signal);
  expect(calls.at(-1)).toBe('postpone 4711/3 never: no-connection');
});

test('of whom nothing may be asked is not asked again and again either, and what was asked is paid for', async () => {
  const { access, calls } = stage({ kind: 'address-refused', code: 'address-refused', detail: 'elsewhere' });
  await access.probe(due, signal);
  expect(calls.slice(-2)).toEqual(['postpone 4711/3 never: address-refused', 'paid true']);
});

test('while the provider is left alone nothing is asked, and the probe comes when that is over', async () => {
  const { access, calls } = stage(terms, true, 2000);
  await access.probe(due, signal);
  expect(calls).toEqual(['postpone 4711/3 2000: left-alone']);
});

test('a refused token is refused in the store, and what that changed is told', async () => {
  const { access, calls } = stage(terms);
  await access.refuseGrant('c1', 'expired', 'sealed');
  expect(calls).toEqual(['refuse sealed of c1', 'connections changed', 'changed 1', 'answered']);
});

test('a grant that is taken again is asked with at once', async () => {
  const { access, calls } = stage(terms);
  await access.acceptGrant('c1');
  expect(calls).toEqual(['accept c1', 'connections changed']);
});

test('a listing that shows the connections link is said once, under the epoch before it', async () => {
  const { access, observed } = stage(terms);
  await access.unconnected('known', null, 4);
  await access.unconnected('4711', 'https://provider.example/connect', 8);
  await access.unconnected('2', null, 1);
  await access.unconnected('refused', null, 5);
  expect(observed).toMatchObject([
    { organizationId: '4711', epoch: 8, found: { actionUrl: 'https://provider.example/connect' } },
    { organizationId: '2', epoch: 1, by: 'sync' },
    // It was shown to a grant that holds: that is news of one whose grant was refused.
    { organizationId: 'refused', epoch: 5, by: 'sync' },
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

test('what a whole listing left to a refused consent alone is told, and nothing where it left nothing', async () => {
  const { access, calls } = stage(terms);
  await access.keepSights('c1', ['1']);
  await access.keepSights('c1', []);
  expect(calls).toEqual(['keeps c1 1', 'keeps c1 ', 'connections changed', 'changed 1', 'answered']);
});
