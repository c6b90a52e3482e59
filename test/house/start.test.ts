// The command says in its first line how Node is to be started; who starts it in another way must say the same.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeEnvironment, nodeFlags, startWords } from '../support/node-flags';
import { repositoryRoot } from '../support/repository';

function scriptsThatStartOtherwise(scripts: Record<string, string>, words: string[]): string[] {
  const start = [...words, 'dist/src/cli.js'].join(' ');
  return Object.entries(scripts)
    .filter(([, script]) => script.includes('dist/src/cli.js') && !script.includes(start))
    .map(([name]) => name);
}

test('every script starts the command with the words of its first line', () => {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scriptsThatStartOtherwise(scripts, startWords())).toEqual([]);
});

test('the words of its first line start a Node with what they set', () => {
  const print = ['-p', 'JSON.stringify([process.env, process.execArgv])'];
  const { stdout } = spawnSync('/usr/bin/env', [...startWords(), ...print], { encoding: 'utf8' });
  const [environment, flags] = JSON.parse(stdout) as [Record<string, string>, string[]];
  expect(environment).toMatchObject(nodeEnvironment());
  expect(flags).toEqual(expect.arrayContaining(nodeFlags()));
});

test('a script that starts it without them is caught', () => {
  const words = ['env', 'A=2', 'node', '--flag'];
  const scripts = {
    bare: 'node dist/src/cli.js serve',
    flagged: 'node --flag dist/src/cli.js',
    same: `exec ${words.join(' ')} dist/src/cli.js`,
    build: 'tsc',
  };
  expect(scriptsThatStartOtherwise(scripts, words)).toEqual(['bare', 'flagged']);
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
