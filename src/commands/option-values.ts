/**
 * What options of several commands are read as: one of a kind that may be repeated, and a whole number. Pure.
 */
import { InvalidArgumentError } from 'commander';

/** Each value of an option that may be given more than once. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

/** Throws commander's complaint for anything else, and for more than 15 digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number is needed.');
  return Number(text);
}
