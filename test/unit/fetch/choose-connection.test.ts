import { type Claim, readersOf } from '../../../src/fetch/choose-connection';
import { connectionOf } from '../../support/provider-client';

const ann = connectionOf({ connectionId: 'ann', user: 'ann' });
const bob = connectionOf({ connectionId: 'bob', user: 'bob' });
const bobToo = connectionOf({ connectionId: 'bob-2', user: 'bob' });
const eve = connectionOf({ connectionId: 'eve', user: 'eve', status: 'refused' });
const all = [ann, bob, bobToo, eve];
const sight: Record<string, string[]> = { ann: ['1', '2'], bob: ['2'], 'bob-2': ['3'], eve: ['1', '4'] };

function readers(claim: Partial<Claim>): string[] {
  const whole = {
    connectionId: null,
    organizationId: null,
    hintedUser: null,
    hintedOrganizationId: null,
    ...claim,
  };
  return [...readersOf(whole, all, (id) => new Set(sight[id]))].map(({ connectionId }) => connectionId);
}

const chosen = (claim: Partial<Claim>) => readers(claim)[0] ?? null;

test('the connection that last read it is kept', () => {
  expect(chosen({ connectionId: 'bob', organizationId: '2', hintedUser: 'ann' })).toBe('bob');
  expect(chosen({ connectionId: 'bob', hintedUser: 'ann' })).toBe('bob');
});

test('a kept connection that is refused, or sees the owner no more, is replaced by one that sees it', () => {
  expect(chosen({ connectionId: 'eve', organizationId: '1' })).toBe('ann');
  expect(chosen({ connectionId: 'bob-2', organizationId: '2' })).toBe('ann');
  expect(chosen({ connectionId: 'unknown', organizationId: '3' })).toBe('bob-2');
});

test('where the kept one cannot read it, the one whose listing has shown it since does', () => {
  const shown = { organizationId: '2', hintedUser: 'ann', shownBy: 'bob' };
  expect(chosen({ ...shown, connectionId: 'eve' })).toBe('bob');
  expect(chosen({ ...shown, connectionId: 'ann' })).toBe('ann');
  expect(chosen({ ...shown, connectionId: 'eve', shownBy: 'bob-2' })).toBe('ann');
});

test('after the first come the others who see the owner, each once; of an owner that is not known, only its user’s', () => {
  expect(readers({ organizationId: '2', connectionId: 'ann', shownBy: 'bob', hintedUser: 'bob' })).toEqual([
    'ann',
    'bob',
  ]);
  expect(readers({ organizationId: '2', shownBy: 'bob', hintedUser: 'ann' })).toEqual(['bob', 'ann']);
  expect(readers({ hintedUser: 'bob', hintedOrganizationId: '2' })).toEqual(['bob', 'bob-2']);
});

test('what a listing has shown since in another organization is read by its connection, unless the kept one sees that too', () => {
  const moved = { organizationId: '1', connectionId: 'ann', hintedOrganizationId: '3', shownBy: 'bob-2' };
  expect(chosen(moved)).toBe('bob-2');
  expect(chosen({ ...moved, connectionId: 'eve' })).toBe('bob-2');
  expect(chosen({ ...moved, shownBy: null })).toBe('ann');
  expect(chosen({ ...moved, shownBy: 'bob' })).toBe('ann');
  expect(chosen({ ...moved, hintedOrganizationId: '4', shownBy: 'eve' })).toBe('ann');
  expect(chosen({ ...moved, hintedOrganizationId: '2', shownBy: 'bob' })).toBe('ann');
  expect(chosen({ ...moved, organizationId: '2', hintedOrganizationId: '2', shownBy: 'bob' })).toBe('ann');
});

test('of those that see the owner, the hinted user’s goes first', () => {
  expect(chosen({ organizationId: '2', hintedUser: 'bob' })).toBe('bob');
  expect(chosen({ organizationId: '2' })).toBe('ann');
  expect(chosen({ organizationId: '1', hintedUser: 'bob' })).toBe('ann');
});

test('a user whom nobody had named is still known by the connection’s id', () => {
  expect(chosen({ hintedUser: 'bob-2' })).toBe('bob-2');
  expect(chosen({ organizationId: '2', hintedUser: 'ann' })).toBe('ann');
});

test('what a delivery says about the owner changes nothing when the owner is known', () => {
  expect(chosen({ organizationId: '1', hintedOrganizationId: '3', hintedUser: 'bob' })).toBe('ann');
});

test('with an unknown owner the hinted user’s own connection reads, never another’s', () => {
  expect(chosen({ hintedUser: 'bob' })).toBe('bob');
  expect(chosen({ hintedUser: 'bob', hintedOrganizationId: '3' })).toBe('bob-2');
  expect(chosen({ hintedUser: 'bob', hintedOrganizationId: '1' })).toBe('bob');
});

test('without a known user, any connection that sees the claimed owner reads', () => {
  expect(chosen({ hintedOrganizationId: '2' })).toBe('ann');
  expect(chosen({ hintedOrganizationId: '3' })).toBe('bob-2');
});

test('what is announced to a user without a valid connection is read by nobody, whatever owner it claims', () => {
  expect(chosen({ hintedUser: 'eve', hintedOrganizationId: '1' })).toBeNull();
  expect(chosen({ hintedUser: 'nobody', hintedOrganizationId: '1' })).toBeNull();
});

test('a known owner is read by whoever sees it, also when the hinted user has no valid connection', () => {
  expect(chosen({ organizationId: '1', hintedUser: 'eve' })).toBe('ann');
  expect(chosen({ connectionId: 'ann', hintedUser: 'eve' })).toBe('ann');
});

test('nobody reads what no valid connection sees', () => {
  expect(chosen({ organizationId: '4' })).toBeNull();
  expect(chosen({ organizationId: '9', hintedUser: 'ann' })).toBeNull();
  expect(chosen({ hintedOrganizationId: '4' })).toBeNull();
  expect(chosen({ hintedUser: 'eve' })).toBeNull();
  expect(chosen({})).toBeNull();
});
