/**
 * What is kept of a document that cannot be trusted: all of it when it is small, and never more than the bound.
 */
import { keptDocument } from '../../../src/inbox/kept-document';

test('a small document is kept whole, whatever it is', () => {
  expect(keptDocument({ surprise: [1, { deep: null }] })).toBe('{"surprise":[1,{"deep":null}]}');
  expect(keptDocument('text')).toBe('"text"');
  expect(keptDocument(null)).toBe('null');
});

test('what JSON cannot hold is kept as nothing', () => {
  expect(keptDocument(undefined)).toBeNull();
});

test('a large document is cut at 64 KiB, never within a character', () => {
  const kept = keptDocument({ name: 'ä'.repeat(70_000) })!;
  expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(65_536);
  expect(Buffer.byteLength(kept)).toBeGreaterThan(65_530);
  expect(kept).not.toContain('\ufffd');
});
