import { makeWidths } from '../../../src/publish/widths';

const place = { topic: 't', partition: 1, partitions: 3 };

test('a refused batch is halved until one row is left, and that is the floor', () => {
  const widths = makeWidths(500);
  const seen = [widths.of(place)];
  while (widths.of(place) > 1) {
    widths.refused(place, widths.of(place));
    seen.push(widths.of(place));
  }
  expect(seen).toEqual([500, 250, 125, 62, 31, 15, 7, 3, 1]);
});

test('each success allows a tenth more, until nothing is left to remember', () => {
  const widths = makeWidths(12);
  widths.refused(place, 20);
  widths.accepted(place);
  expect(widths.of(place)).toBe(11);
  widths.accepted(place);
  expect(widths.of(place)).toBe(12);
});

test('other partitions, and the same one after it was cleared, take all', () => {
  const widths = makeWidths(500);
  widths.refused(place, 4);
  expect(widths.of({ ...place, partition: 2 })).toBe(500);
  widths.accepted({ ...place, partition: 2 });
  widths.clear(place);
  expect(widths.of(place)).toBe(500);
});
