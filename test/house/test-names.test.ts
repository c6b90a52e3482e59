// Goal: a test's name is a fact that is told once, and none is left out or run alone by accident.
// Method: pure checks over the text of the suites, each shown a bad example first. The formatter keeps indentation
// regular, so a suite encloses what stands deeper than itself.
import { type RepositoryFile, repositoryFiles, under, withoutComments } from './repository-files';

const suites = under(repositoryFiles(), 'test/', '.test.ts');

type Named = { name: string; line: number };

/** The full names of the tests that are written with a literal title, `suite › suite › test`. */
function namesOf(text: string): Named[] {
  const open: { indent: number; title: string }[] = [];
  return text.split('\n').flatMap((content, index) => {
    const indent = content.length - content.trimStart().length;
    while (content.trim() !== '' && open.length > 0 && indent <= (open.at(-1)?.indent ?? 0)) open.pop();
    // Titles may stand on a line of their own below a table of cases.
    const call =
      /^\s*(?:(describe\w*|test|it)\b.*?\(|\]\)\(|`\()\s*(?:'[A-Z]\w+', \w+\(\), )?(['"`])(.+?)\2/.exec(
        content,
      );
    if (call === null) return [];
    const [, kind, , title] = call as unknown as [string, string | undefined, string, string];
    if (kind?.startsWith('describe')) {
      open.push({ indent, title });
      return [];
    }
    return [{ name: [...open.map((suite) => suite.title), title].join(' › '), line: index + 1 }];
  });
}

function toldTwice(files: RepositoryFile[]): string[] {
  return files.flatMap((file) => {
    const seen = new Set<string>();
    return namesOf(file.text)
      .filter(({ name }) => seen.size === seen.add(name).size)
      .map(({ name, line }) => `${file.path}:${line} ${name}`);
  });
}

// Written in halves where the whole would accuse this file.
const apart = /\b((test|it|describe)\.(only|skip|todo|failing)|fit|xit|xtest|fdescribe|xdescribe)\b\s*[(.]/;

function leftOutOrAlone(files: RepositoryFile[]): string[] {
  return files.flatMap((file) =>
    withoutComments(file.text)
      .split('\n')
      .flatMap((line, index) => (apart.test(line) ? [`${file.path}:${index + 1}`] : [])),
  );
}

const suite = (text: string): RepositoryFile => ({ path: 'test/unit/inbox/take.test.ts', text });

test('a name that is told twice in one suite is caught', () => {
  const text = [
    "test('a task is taken once', () => {});",
    "describe('after a restart', () => {",
    "  test('a task is taken once', () => {});",
    "  test('a lease has ended', () => {});",
    "  test('a lease has ended', () => {});",
    '});',
    'test.each([',
    '  [1],',
    "])('a task is taken once', () => {});",
  ].join('\n');
  expect(toldTwice([suite(text)])).toEqual([
    'test/unit/inbox/take.test.ts:5 after a restart › a lease has ended',
    'test/unit/inbox/take.test.ts:9 a task is taken once',
  ]);
});

test('no name is told twice in its suite', () => {
  expect(toldTwice(suites)).toEqual([]);
});

test.each(['test.' + 'only(', 'describe.' + 'skip(', 'it.' + 'todo(', 'x' + 'it('])(
  '%s is caught',
  (call) => {
    expect(leftOutOrAlone([suite(`${call}'a fact', () => {});`)])).toEqual([
      'test/unit/inbox/take.test.ts:1',
    ]);
  },
);

test('no test is left out or run alone', () => {
  expect(leftOutOrAlone(suites)).toEqual([]);
});

test('the suites and their names are found', () => {
  expect(suites.length).toBeGreaterThan(8);
  expect(suites.flatMap((file) => namesOf(file.text)).length).toBeGreaterThan(50);
});
