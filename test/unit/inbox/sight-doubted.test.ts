// When what was learned of who sees what is doubted, and since when it must be learned anew.
import { sightDoubted, unseenDetail } from '../../../src/inbox/sight-doubted';
import type { Answer } from '../../../src/model/answer';

const task = { organizationId: '4711', acceptedAtMs: 500 };
const refused: Answer = { kind: 'refused-unattributed', connectionId: 'c1', message: null };
const absent: Answer = {
  kind: 'transient',
  code: 'organization-unlisted',
  detail: 'the organization is not listed to this user',
  origin: 'https://provider.test',
  connectionId: 'c1',
  retryAfterMs: null,
};
const seesAll = () => true;

test('what nobody sees is doubted since its hint, and never where there was none', () => {
  const answer: Answer = { kind: 'no-connection', detail: 'nobody' };
  expect(sightDoubted(task, answer, seesAll)).toBe(500);
  expect(sightDoubted({ ...task, acceptedAtMs: null }, answer, seesAll)).toBe(0);
});

test.each([
  ['refused', refused],
  ['not found', absent],
])(
  'what is %s by a user to whom the owner is not listed is doubted since its hint, however often it was tried',
  (_how, answer) => {
    expect(sightDoubted(task, answer, seesAll)).toBe(500);
    expect(sightDoubted({ ...task, acceptedAtMs: null }, answer, seesAll)).toBe(0);
  },
);

test('nothing is doubted of a user who is known not to see the owner, of an unknown owner, and of other answers', () => {
  expect(sightDoubted(task, refused, () => false)).toBeNull();
  expect(sightDoubted({ ...task, organizationId: null }, refused, seesAll)).toBeNull();
  for (const answer of [
    { ...absent, code: 'status-503' },
    { kind: 'no-access', connectionId: 'c1', message: null },
    { kind: 'gone', certain: false, connectionId: 'c1', origin: 'https://provider.test' },
  ] as Answer[]) {
    expect(sightDoubted(task, answer, seesAll)).toBeNull();
  }
});

test('a document that its connection does not see is told with why that may be', () => {
  const unseen = 'the document belongs to organization 9, which the connection does not see';
  expect(unseenDetail('9', null)).toBe(unseen);
  expect(unseenDetail('9', 'its list is refused')).toBe(`${unseen}; its list is refused`);
});
