/**
 * A page says what failed once, whatever part of it the code repeats.
 */
import { failureWords } from '../../../src/inbox/failure-words';

test.each([
  ['status-503', 'status 503', 'answers 503'],
  ['status-503', 'status 503: away', 'answers 503: away'],
  ['status-503', 'away', 'status-503: away'],
  ['timeout', 'no answer: timeout', 'no answer: timeout'],
  [
    'redirected',
    'status 302; redirects are not followed',
    'redirected: status 302; redirects are not followed',
  ],
])('%s with “%s” is told as “%s”', (code, detail, words) => {
  expect(failureWords({ code, detail })).toBe(words);
});
