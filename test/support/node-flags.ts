// How Node is started for the product: with the flags of the command's own first line, so that what is tested and
// measured is what a user starts. Reads the source, once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository';

/** The words between `node` and the program. Throws where the command's first line names no `node`. */
export function nodeFlags(): string[] {
  const [first = ''] = readFileSync(join(repositoryRoot(), 'src/cli.ts'), 'utf8').split('\n');
  const words = first.split(' ');
  const at = words.indexOf('node');
  if (at < 0) throw new Error(`the command starts with ${first}`);
  return words.slice(at + 1);
}
