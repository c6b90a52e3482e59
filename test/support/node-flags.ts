// How Node is started for the product: with the environment and the flags of the command's own first line, so that what is
// tested and measured is what a user starts. Reads the source, once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository';

/** The words with which the first line starts the program, from `env` on. Throws where it names no `node`. */
export function startWords(): string[] {
  const [first = ''] = readFileSync(join(repositoryRoot(), 'src/cli.ts'), 'utf8').split('\n');
  const words = first.split(' ').slice(2);
  if (!words.includes('node')) throw new Error(`the command starts with ${first}`);
  return words;
}

/** The words between `node` and the program. Throws where the command's first line names no `node`. */
export function nodeFlags(): string[] {
  const words = startWords();
  return words.slice(words.indexOf('node') + 1);
}

/** What a process of a test has of the runner's environment; the last is where V8 leaves what it compiled. */
export function runnerEnvironment(): Record<string, string | undefined> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE };
}

/** What the first line sets before `node`. Throws where it names none. */
export function nodeEnvironment(): Record<string, string> {
  const words = startWords();
  const set = words.slice(0, words.indexOf('node')).filter((word) => word.includes('='));
  return Object.fromEntries(set.map((word) => word.split('=', 2) as [string, string]));
}
