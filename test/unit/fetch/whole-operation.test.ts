// An operation that came without its measurements waits; whatever else came is as it was.
import { wholeOperation } from '../../../src/fetch/whole-operation';
import type { Answer } from '../../../src/model/answer';

const came = (body: unknown): Answer => ({
  kind: 'ok',
  document: {
    body,
    address: 'https://api.test/operations/1',
    mediaType: 'application/json',
    connectionId: 'c1',
  },
});

test('without the measurements that were asked for it waits, and says where they are missing', () => {
  expect(wholeOperation(came({ '@type': 'FieldOperation', id: '1' }))).toEqual({
    kind: 'transient',
    code: 'embed-unanswered',
    detail: 'expected measurementTypes, which was asked for, got none',
    path: '/measurementTypes',
    origin: 'https://api.test',
    connectionId: 'c1',
    retryAfterMs: null,
  });
});

test.each([
  [{ '@type': 'FieldOperation', measurementTypes: [] }],
  [{ '@type': 'FieldOperation', measurementTypes: null }],
  [{ '@type': 'Machine' }],
  [{}],
  [[]],
  ['text'],
  [null],
])('%j is taken as it came', (body) => {
  const answer = came(body);
  expect(wholeOperation(answer)).toBe(answer);
});

test('what is no document stays what it is', () => {
  const answer: Answer = { kind: 'aborted' };
  expect(wholeOperation(answer)).toBe(answer);
});
