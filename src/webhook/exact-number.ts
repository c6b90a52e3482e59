/**
 * Numbers whose digits JavaScript would lose, kept as their source text (ECMAScript "JSON.parse source text access",
 * in Node 24). They print as they were written and are told from other values by `digitsOf`.
 */

interface SourceContext {
  source?: string;
}

/** The compiler's library does not know these three yet. */
const sourceJson = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: SourceContext) => unknown): unknown;
  rawJSON(text: string): { rawJSON: string };
  isRawJSON(value: unknown): value is { rawJSON: string };
};

/** Parses JSON; throws SyntaxError as `JSON.parse` does. Slower than it, so only for text that needs it. */
export function parseExactly(text: string): unknown {
  return sourceJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && losesDigits(value, source)
      ? sourceJson.rawJSON(source)
      : value,
  );
}

function losesDigits(value: number, source: string): boolean {
  return Number.isInteger(value) ? !Number.isSafeInteger(value) : String(value) !== source;
}

/** Is kept as its source text. */
export const isExact = (value: object): boolean => sourceJson.isRawJSON(value);

/** The decimal digits of a whole number that is not negative, however long; null for anything else. */
export function digitsOf(value: unknown): string | null {
  const text = sourceJson.isRawJSON(value) ? value.rawJSON : Number.isSafeInteger(value) ? String(value) : '';
  return /^(?:0|[1-9]\d{0,127})$/.test(text) ? text : null;
}
