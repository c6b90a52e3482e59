import { whomRefused } from '../../../src/inbox/whom-refused';
import type { Answer } from '../../../src/model/answer';

const refused: Answer = { kind: 'not-connected', actionUrl: null, connectionId: 'c1' };
const seen = (connectionId: string, organizationId: string) =>
  connectionId === 'c1' && organizationId !== 'foreign';
const whom = (organizationId: string | null, hintedOrganizationId: string | null, answer: Answer = refused) =>
  whomRefused({ organizationId, hintedOrganizationId }, answer, seen);

test('the owner that was read is proven', () => {
  expect(whom('1', null)).toEqual({ organizationId: '1', proven: true });
  expect(whom('1', '1')).toEqual({ organizationId: '1', proven: true });
});
test('an owner that only a hint names is not proven', () => {
  expect(whom(null, '2')).toEqual({ organizationId: '2', proven: false });
});
test('a hint that names another owner puts the known one in doubt', () => {
  expect(whom('1', '2')).toEqual({ organizationId: '2', proven: false });
});
test('a hinted owner that the connection does not see counts for nothing', () => {
  expect(whom(null, 'foreign')).toEqual({ organizationId: null, proven: false });
  expect(whom('1', 'foreign')).toEqual({ organizationId: '1', proven: true });
});
test('an answer that came through no connection names the known owner alone', () => {
  expect(whom(null, '2', { kind: 'aborted' } as Answer)).toEqual({ organizationId: null, proven: false });
});
describe('a place for the action', () => {
  const at = (actionUrl: string | null): Answer => ({
    kind: 'action-required',
    cause: 'terms',
    actionUrl,
    message: null,
    connectionId: 'c1',
  });
  const termsOf = (id: string) => at(`https://portal.test/organizations/${id}/terms`);
  test('names whom the refusal is about, whoever was last read or hinted as the owner', () => {
    expect(whom('1', null, termsOf('3'))).toEqual({ organizationId: '3', proven: false });
    expect(whom('1', '2', termsOf('3'))).toEqual({ organizationId: '3', proven: false });
    expect(whom('1', '2', termsOf('1'))).toEqual({ organizationId: '1', proven: true });
  });
  test('proves whose it is where nothing was read of it yet', () => {
    expect(whom(null, null, termsOf('3'))).toEqual({ organizationId: '3', proven: true });
    expect(whom(null, '3', termsOf('3'))).toEqual({ organizationId: '3', proven: true });
    expect(whom(null, '2', termsOf('3'))).toEqual({ organizationId: '3', proven: false });
    expect(whom(null, '2', termsOf('foreign'))).toEqual({ organizationId: '2', proven: false });
  });
  test('counts for nothing where the connection does not see what it names, or where it names nobody', () => {
    for (const answer of [termsOf('foreign'), at('https://portal.test/terms'), at(null)])
      expect(whom('1', null, answer)).toEqual({ organizationId: '1', proven: true });
  });
});
