// What is copied from a page into a shell is one word there, whatever the id holds: a real shell is asked.
import { execFileSync } from 'node:child_process';
import { shellValue, shellWord } from '../../../src/model/shell-word';

const takenBy = (shell: string, word: string): string =>
  execFileSync(shell, ['-c', `printf '[%s]' ${word}`], { encoding: 'utf8' });

test.each(['4711', 'd12', 'ann@farm.example', 'https://api.example/equipment/1', 'a-b_c.d', '00-aa'])(
  '%s is left as it is',
  (id) => {
    expect(shellWord(id)).toBe(id);
  },
);

test.each(
  [
    'a b',
    "it's",
    '1; rm -rf /',
    '$(id)',
    '`id`',
    '"',
    '\\',
    '*',
    '~',
    '',
    '#',
    '&',
    'ü',
    "'",
    '!x',
    '{a,b}',
  ].concat('https://api.example/list?a=1&b=2'),
)('%s is one word, and is nothing but itself', (id) => {
  expect(takenBy('sh', shellWord(id))).toBe(`[${id}]`);
  expect(shellWord(id)).not.toBe(id);
});

test.each(['-5', '-x y', '--json', '-'])(
  '%s is no option: it stands behind --, unless it is the value of one',
  (id) => {
    expect(shellWord(id)).toBe(`-- ${shellValue(id)}`);
    expect(takenBy('sh', shellWord(id))).toBe(`[--][${id}]`);
  },
);
