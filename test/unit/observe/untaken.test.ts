// Goal: a collector that takes nothing is told in words, once, and again only after an hour.
import { diag } from '@opentelemetry/api';
import { tellUntaken } from '../../../src/observe/untaken';

const hourMs = 3_600_000;
let nowMs: number;
let told: string[];

beforeEach(() => {
  nowMs = 0;
  told = [];
  tellUntaken(
    (detail) => told.push(detail),
    () => nowMs,
  );
});
afterEach(() => diag.disable());

test('the first loss is told at once, further ones of the same hour are not', () => {
  for (nowMs of [0, 5000, hourMs - 1, hourMs]) diag.error('metrics export timed out after 200ms');
  expect(told).toEqual([
    'The collector did not take traces or metrics, which are dropped: metrics export timed out after 200ms. ' +
      'Work goes on without it.',
    expect.stringContaining('timed out'),
  ]);
});

test('of an error its message and code are told, neither its stack nor the body of an answer', () => {
  diag.error(
    JSON.stringify({ stack: 'at x', message: 'Unauthorized', code: '401', data: 'canary', name: 'Error' }),
  );
  expect(told[0]).toContain('dropped: Unauthorized (401). Work');
  expect(told[0]).not.toMatch(/at x|canary/);
});

test('a reason is cut, and what is no error is not told', () => {
  diag.warn('partial success');
  expect(told).toEqual([]);
  diag.error('x'.repeat(5000));
  expect(told[0]!.length).toBeLessThan(320);
});
