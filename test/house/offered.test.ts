// Goal: whoever calls a function from outside its room need not read its body to know what it promises.
// Method: pure checks over the text of the sources: each exported function that another room, or what joins the rooms,
// imports has a comment of its own. Shown bad examples first.
import { posix } from 'node:path';
import { type RepositoryFile, repositoryFiles, under } from './repository-files';

const sources = under(repositoryFiles(), 'src/');

const roomOf = (path: string): string => path.split('/').slice(0, 2).join('/');

/** `path name` of what is imported from another room. */
function importedFromOutside(files: RepositoryFile[]): Set<string> {
  const imported = new Set<string>();
  for (const { path, text } of files) {
    for (const [, names = '', from = ''] of text.matchAll(/import\s+\{([^}]*)\}\s+from\s+'(\.[^']*)'/g)) {
      const target = `${posix.join(posix.dirname(path), from)}.ts`;
      if (roomOf(target) === roomOf(path)) continue;
      for (const name of names.split(',')) imported.add(`${target} ${name.trim().split(/\s+as\s+/)[0]}`);
    }
  }
  return imported;
}

/** `path name` of functions that others call and that say nothing of themselves. */
function silent(files: RepositoryFile[]): string[] {
  const imported = importedFromOutside(files);
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/(.*)\n(?:export (?:async )?function\*? |export const )(\w+)(.*)/g)].flatMap(
      ([, before = '', name = '', rest = '']) => {
        const isFunction = rest.startsWith('(') || rest.startsWith('<') || rest.includes('=>');
        const speaks = before.endsWith('*/') || before.trimStart().startsWith('//');
        return isFunction && !speaks && imported.has(`${path} ${name}`) ? [`${path} ${name}`] : [];
      },
    ),
  );
}

test('a function without a comment is found when another room calls it', () => {
  const offered =
    '// What.\n\nexport function take() {}\n\n/** Gives. */\nexport const give = () => 1;\n\nexport const most = 3;\n';
  const files = [
    { path: 'src/inbox/take.ts', text: offered },
    { path: 'src/inbox/beside.ts', text: "import { take } from './take';\n" },
  ];
  expect(silent(files)).toEqual([]);
  const caller = {
    path: 'src/wire/join.ts',
    text: "import { give, most, take as taking } from '../inbox/take';\n",
  };
  expect(silent([...files, caller])).toEqual(['src/inbox/take.ts take']);
});

test('every function that a room offers to others says what it promises', () => {
  expect(importedFromOutside(sources).size).toBeGreaterThan(200);
  expect(silent(sources)).toEqual([]);
});
