// Goal: what a newcomer types from the README is understood: every command, option and script that it names exists, and
// the bench has the figures that its own page explains.
// Method: commands are parsed by the command line itself, which is asked for its help and runs nothing. Shown bad
// examples first.
import { makeShell } from '../unit/commands/shell';
import { repositoryFiles } from './repository-files';

const files = repositoryFiles();
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';
const scripts = Object.keys((JSON.parse(textOf('package.json')) as { scripts: object }).scripts);
const shell = makeShell();

/** What stands in blocks or between backticks and begins as a command; in a table, what stands beside one too. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));
  const cells = [...text.matchAll(/^\| (`tramline [^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/^(?!tramline )/, 'tramline ')),
  );
  return [...blocks, ...inline, ...cells]
    .flatMap((line) => line.split(' && '))
    .map((line) => line.replace(/ +#.*$/, '').replace(/^npm run -s tramline -- /, 'tramline '))
    .filter((line) => /^(tramline|npm) /.test(line));
}

/** `a b/c [--d X]` is `a b --d` and `a c --d`: optional parts are options that must exist too. */
function alternatives(command: string): string[][] {
  const words = command
    .replace(/[[\]()…,]/g, ' ')
    .split(' ')
    .filter((word) => word !== '' && word !== 'or');
  return words.reduce<string[][]>(
    (lines, word) => {
      const choices = /^[a-z-]+(\/[a-z-]+)+$/.test(word) ? word.split('/') : [word];
      return lines.flatMap((line) => choices.map((choice) => [...line, choice]));
    },
    [[]],
  );
}

/** Why it would not be taken; null when it would. Values are somebody else's to check. */
async function faultOf([program, ...words]: string[]): Promise<string | null> {
  if (program === 'npm') {
    const [verb, name] = words;
    const script = verb === 'run' ? words.find((word, at) => at > 0 && word !== '-s') : (name ?? verb);
    return ['ci', ...scripts].includes(script!) ? null : `no script ${script}`;
  }
  const path = words.slice(
    0,
    words.findIndex((word) => !/^[a-z-]+$/.test(word) || word.startsWith('--')) >>> 0,
  );
  const { code, out } = await shell.run(...path, '--help');
  const known = /^Usage: tramline (.*)$/m.exec(out)?.[1]?.split(' ') ?? [];
  const missing = path.find((word, place) => known[place] !== word);
  if (code !== 0 || missing !== undefined) return `no command ${path.join(' ')}`;
  const unknown = words.filter((word) => word.startsWith('--') && !new RegExp(`${word}\\b`).test(out));
  return unknown.length === 0 ? null : `no ${unknown.join()}`;
}

async function faultsIn(text: string): Promise<string[]> {
  const faults: string[] = [];
  for (const command of commandsIn(text)) {
    for (const words of alternatives(command)) {
      const fault = await faultOf(words);
      if (fault !== null) faults.push(`${command}: ${fault}`);
    }
  }
  return faults;
}

test('a command, an option and a script that do not exist are caught, wherever they stand', async () => {
  const text = [
    '```\nnpm ci && npm run nonsense   # a script\nnpm run -s tramline -- sync --all\n```',
    'Then `tramline files list/show`, `tramline sync [--whole]` and `npm run -s soak`.',
    '| `tramline parked`, `nowhere` | `tramline quarantine` |',
  ].join('\n');
  expect(await faultsIn(text)).toEqual([
    'npm run nonsense: no script nonsense',
    'tramline sync --all: no --all',
    'tramline files list/show: no command files show',
    'tramline sync [--whole]: no --whole',
    'tramline nowhere: no command nowhere',
  ]);
});

test('every command, option and script of the README exists', async () => {
  expect(commandsIn(textOf('README.md')).length).toBeGreaterThan(40);
  expect(await faultsIn(textOf('README.md'))).toEqual([]);
});

test('the page of the bench explains each figure that it takes, and no other', () => {
  const named = files
    .filter(({ path }) => path.startsWith('bench/figures/'))
    .flatMap(({ text }) => [...text.matchAll(/: Figure = \{\s*name: '([\w-]+)'/g)].map(([, name]) => name!));
  const page = textOf('bench/README.md');
  const [, offered = ''] = /takes one of ([^;]*);/.exec(page) ?? [];
  const listed = [...offered.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!);
  const explained = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual(named.toSorted());
  expect(explained.toSorted()).toEqual(named.toSorted());
});
