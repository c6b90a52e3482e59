// Goal: identity is name and labels, nothing else, and is never ambiguous.
import { fingerprintOf } from '../../../src/alert/fingerprint';
import fc from '../../support/properties';

test('the order of labels does not matter', () => {
  expect(fingerprintOf('A', { x: '1', y: '2' })).toBe(fingerprintOf('A', { y: '2', x: '1' }));
});

test('different names or labels never share a fingerprint', () => {
  const identity = fc.tuple(fc.constantFrom('A', 'B'), fc.dictionary(fc.constantFrom('x', 'y'), fc.string()));
  fc.assert(
    fc.property(identity, identity, ([name, labels], [otherName, otherLabels]) => {
      const same =
        name === otherName &&
        JSON.stringify(Object.entries(labels).sort()) === JSON.stringify(Object.entries(otherLabels).sort());
      expect(fingerprintOf(name, labels) === fingerprintOf(otherName, otherLabels)).toBe(same);
    }),
  );
});
