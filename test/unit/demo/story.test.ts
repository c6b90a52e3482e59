// Goal: a step of the demonstration begins when the one before has come to rest, however slow the machine is. Method: a
// stage whose one task moves on each time somebody looks, up to the moment at which the terms are withdrawn.
import type { Stage } from '../../../src/demo/stage';
import { tellStory } from '../../../src/demo/story';
import { makeTeller } from '../../../src/demo/tell';

test('terms are withdrawn when nothing is due, taken, postponed or settling any more', async () => {
  const states = ['settling', 'due', 'taken', 'postponed', 'settling', 'taken', 'done'];
  let looks = 0;
  const machine = { id: '7', organizationId: '1', uri: 'https://p/7', content: {} };
  const event = { type: 't', subject: '1/equipment/7', sequence: '1', data: { name: 'n' } };
  const answerTo = (path: string): unknown => {
    if (path === '/api/ledger') return { accepted: 102, waiting: 0 };
    if (path.startsWith('/api/events')) return [event, event];
    const only = new URL(path, 'http://h').searchParams.get('state');
    const state = states[Math.min(looks++, states.length - 1)]!;
    return only === null || only === state ? [{ state }] : [];
  };
  const withdrawn = new Error('the terms are withdrawn');
  const stage = {
    control: async (method: string, path: string) => {
      if (path === 'state') {
        return { organizations: [{ id: '1', name: 'A' }], equipment: [machine], fieldOperations: [] };
      }
      if (method === 'PATCH' && path === 'organizations/1') throw withdrawn;
      return [];
    },
    ask: async (path: string) => answerTo(path),
    until: async (path: string, holds: (answer: unknown) => boolean) => {
      for (let times = 0; times < 20; times += 1) {
        const answer = answerTo(path);
        if (holds(answer)) return answer;
      }
      throw new Error(`${path} never held`);
    },
  } as unknown as Stage;
  const pager = { next: () => new Promise<never>(() => {}), count: () => 0 };
  await expect(tellStory({ stage, teller: makeTeller(() => {}, false), pager })).rejects.toBe(withdrawn);
  expect(states[looks - 1]).toBe('done');
});
