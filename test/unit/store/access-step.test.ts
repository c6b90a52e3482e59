// Who said so, in words that send on-call to whoever can act.
import { accessStep } from '../../../src/store/access-step';

test('a listing is said to have shown the link of an organization that is not connected', () => {
  const row = { at: 0, access: 'not-connected', previous: 'active', cause: 'not-connected' } as const;
  expect(accessStep('4711', { ...row, said_by: 'sync', asked_by: null })).toMatchObject({
    text: 'the access of its organization 4711 went from active to not-connected: so said a listing that showed it with its `connections` link (not-connected)',
    by: 'sync',
  });
});
