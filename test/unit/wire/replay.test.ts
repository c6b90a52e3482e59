/**
 * What a replay tells the log of events that the topic of a history lacks.
 */
import { passedOver } from '../../../src/wire/replay';

test('events that a topic finds too large are named in one line, with their topic', () => {
  expect(passedOver('audit', ['a1', 'b2'])).toEqual({
    place: 'kafka',
    code: 'publish.passed-over',
    detail: 'audit lacks 2 events that are too large for it: a1, b2',
  });
});
