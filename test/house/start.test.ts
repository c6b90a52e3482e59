// The command says in its first line how Node is to be started; who starts it in another way must say the same.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFlags } from '../support/node-flags';
import { repositoryRoot } from '../support/repository';

function scriptsWithOtherFlags(scripts: Record<string, string>, flags: string[]): string[] {
  const start = `node ${[...flags, 'dist/src/cli.js'].join(' ')}`;
  return Object.entries(scripts)
    .filter(([, script]) => script.includes('dist/src/cli.js') && !script.includes(start))
    .map(([name]) => name);
}

test('every script starts the command with the flags of its first line', () => {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(nodeFlags().length).toBeGreaterThan(0);
  expect(scriptsWithOtherFlags(scripts, nodeFlags())).toEqual([]);
});

test('a script that starts it without them is caught', () => {
  const scripts = { bare: 'node dist/src/cli.js serve', other: 'node --flag dist/src/cli.js', build: 'tsc' };
  expect(scriptsWithOtherFlags(scripts, ['--flag'])).toEqual(['bare']);
});

/** A shell that only waits for the command would end alone at the signal that npm passes on. */
function scriptsBehindShell(scripts: Record<string, string>): string[] {
  return Object.entries(scripts)
    .filter(([, script]) => / && (?!exec ).*dist\/src\/cli\.js/.test(script))
    .map(([name]) => name);
}

test('a signal to npm reaches the command that a script starts, and no shell before it', () => {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scriptsBehindShell(scripts)).toEqual([]);
  const bad = 'npm run -s build && node dist/src/cli.js demo';
  expect(scriptsBehindShell({ bad, good: bad.replace('node', 'exec node') })).toEqual(['bad']);
});

test('the command that the package names is executable once it is built', () => {
  const { bin } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8')) as {
    bin: { tramline: string };
  };
  const mode = statSync(join(repositoryRoot(), bin.tramline)).mode & 0o777;
  expect(mode.toString(8)).toBe('755');
});
