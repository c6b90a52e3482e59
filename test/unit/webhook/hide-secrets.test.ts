// There may be as many secrets as there are subscriptions, and a delivery has up to 256 elements to be looked at: what is
// hidden is held against a plain search for each, and what it costs against a few secrets.
import { randomBytes } from 'node:crypto';
import { Secret } from '../../../src/tools/secret';
import { redactElement } from '../../../src/webhook/redact';
import { processorTimeOf } from '../../support/processor-time';
import fc from '../../support/properties';

const secretsOf = (values: string[]) => values.map((value) => new Secret(value));
const hide = (text: string, ...values: string[]) =>
  JSON.parse(redactElement(text, secretsOf(values))) as string;

test('of those that overlap no part is left', () => {
  expect(hide('x abcdef y', 'abcd', 'cdef')).toBe('x [secret] y');
  expect(hide('x abcdef y', 'abcd', 'abc', 'bcd')).toBe('x [secret]ef y');
  expect(hide('abcabc', 'abc')).toBe('[secret][secret]');
});

test('whatever is at the end or at the beginning is hidden too', () => {
  expect(hide('one two', 'one', 'two', 'one two three')).toBe('[secret] [secret]');
  expect(hide('one', 'one')).toBe('[secret]');
});

/** Every character that belongs to an occurrence, one value after the other. */
function hiddenPlainly(text: string, values: string[]): string {
  const ends = new Map<number, number>();
  for (const value of values.filter(({ length }) => length > 2)) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      ends.set(at, Math.max(ends.get(at) ?? 0, at + value.length));
    }
  }
  let clean = '';
  for (let at = 0; at < text.length; ) {
    if (!ends.has(at)) clean += text[at++];
    else {
      let end = ends.get(at)!;
      for (let inside = at; inside < end; inside += 1) end = Math.max(end, ends.get(inside) ?? 0);
      clean += '[secret]';
      at = end;
    }
  }
  return clean;
}

test('in any text exactly the places are hidden that a search for each value finds', () => {
  const some = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '7'), maxLength: 60 });
  const values = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '7'), maxLength: 5 }));
  fc.assert(
    fc.property(some, values, (text, named) => {
      expect(hide(text, ...named)).toBe(hiddenPlainly(text, named));
    }),
  );
});

test('5,000 secrets cost hardly more than three', () => {
  const values = Array.from({ length: 5000 }, () => randomBytes(24).toString('base64url'));
  const element = { note: randomBytes(1500).toString('base64url') };
  const cost = (secrets: readonly Secret[]) => {
    redactElement(element, secrets);
    return processorTimeOf(() => {
      for (let count = 0; count < 500; count += 1) redactElement(element, secrets);
    });
  };
  const few = cost(secretsOf(values.slice(0, 3)));
  expect(cost(secretsOf(values))).toBeLessThan(few * 20);
});
