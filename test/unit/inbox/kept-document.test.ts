/**
 * What is kept of a document that cannot be trusted: all of it when it is small, and never more than the bound.
 */
import { keptDocument } from '../../../src/inbox/kept-document';

const named = { includeOperatorNames: true };

test('a small document is kept whole, whatever it is', () => {
  expect(keptDocument({ surprise: [1, { deep: null }] }, named)).toBe('{"surprise":[1,{"deep":null}]}');
  expect(keptDocument('text', named)).toBe('"text"');
  expect(keptDocument(null, named)).toBe('null');
});

test('what JSON cannot hold is kept as nothing', () => {
  expect(keptDocument(undefined, named)).toBeNull();
});

test('a large document is cut at 64 KiB, never within a character', () => {
  for (const character of ['ä', 'é', '農', '€', '🚜']) {
    for (let shift = 0; shift < 4; shift += 1) {
      const document = JSON.stringify({ name: 'x'.repeat(shift) + character.repeat(70_000) });
      const kept = keptDocument(JSON.parse(document), named)!;
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(65_536);
      expect(Buffer.byteLength(kept)).toBeGreaterThan(65_532);
      expect(document.startsWith(kept)).toBe(true);
    }
  }
});

test('no name of a person is kept where events leave them out, in whatever shape it came', () => {
  const operators = [{ '@type': 'Operator', name: 'M. Okafor', license: 'X1', operatorId: 'o1' }];
  const body = { machines: [{ operators }, { operators: operators[0] }, { operators: 'M. Okafor' }] };
  const kept = keptDocument(body, { includeOperatorNames: false })!;
  expect(kept).not.toContain('Okafor');
  expect(kept).not.toContain('X1');
  const [first, second] = (JSON.parse(kept) as typeof body).machines;
  expect([first, second]).toEqual([
    { operators: [{ operatorId: 'o1' }] },
    { operators: [{ operatorId: 'o1' }] },
  ]);
  expect(JSON.parse(keptDocument(body, named)!)).toEqual(body);
  const nobody = { operators: [null] };
  expect(keptDocument(nobody, { includeOperatorNames: false })).toBe('{"operators":[{"operatorId":null}]}');
});
