// Goal: `ls src` tells what the product does, and no file can hold "everything else".
// Method: pure checks over the paths of the repository, each shown a bad example first.
import { type RepositoryFile, repositoryFiles, under } from './repository-files';

const forbiddenNames =
  'utils util helpers helper common shared misc manager service handler base core lib index'.split(' ');

const rooms = [
  'alert',
  'commands',
  'demo',
  'config',
  'connect',
  'fetch',
  'inbox',
  'model',
  'normalize',
  'observe',
  'operations',
  'organization',
  'publish',
  'simulator',
  'store',
  'subscribe',
  'sync',
  'tools',
  'webhook',
  'wire',
];
const topFiles = ['cli.ts', 'config.ts', 'main.ts', 'pipeline.ts', 'wire.ts'];
// A closed list. Who adds a sixth says here why no room could hold it. Connections are bounded by both listeners, of which
// one is the provider's and one the operators': whoever fills the one with idle sockets must not keep probes out of it.
const tools = ['backoff.ts', 'clock.ts', 'connections.ts', 'schema.ts', 'secret.ts'];
const testFolders = 'contract e2e faults fixtures house integration prove support unit'.split(' ');

function forbidden(paths: string[]): string[] {
  return paths.filter((path) => {
    const words = path.split('/').map((part) => part.replace(/\..*$/, ''));
    return words.some((word) => forbiddenNames.includes(word));
  });
}

function notKebabCase(paths: string[]): string[] {
  return paths.filter((path) =>
    path.split('/').some((part) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/.test(part)),
  );
}

function outsideTheLayout(paths: string[]): string[] {
  return paths.filter((path) => {
    const [, first, second] = path.split('/') as [string, string, string | undefined];
    if (second === undefined) return !topFiles.includes(first) && first !== 'WHY.md';
    if (first === 'tools') return !tools.includes(path.slice('src/tools/'.length)) && second !== 'WHY.md';
    return !rooms.includes(first);
  });
}

function testsOutsideTheLayout(paths: string[]): string[] {
  return paths.filter((path) => {
    const [, folder, room, rest] = path.split('/') as [
      string,
      string,
      string | undefined,
      string | undefined,
    ];
    if (!testFolders.includes(folder)) return true;
    return folder === 'unit' && rest !== undefined && room !== undefined && !rooms.includes(room);
  });
}

const paths = (files: RepositoryFile[]): string[] => files.map((file) => file.path);
const all = repositoryFiles();
const sources = paths(under(all, 'src/', ''));

test('a file or folder named after nothing in particular is caught', () => {
  const named = ['src/fetch/utils.ts', 'src/common/clock.ts', 'src/inbox/index.ts', 'src/inbox/take.ts'];
  expect(forbidden(named)).toEqual(named.slice(0, 3));
});

test('no source is named after nothing in particular', () => {
  expect(forbidden(sources)).toEqual([]);
});

test('a name that is not kebab-case is caught', () => {
  expect(notKebabCase(['src/fetch/rateLimit.ts', 'src/Fetch/client.ts', 'src/fetch/rate-limit.ts'])).toEqual([
    'src/fetch/rateLimit.ts',
    'src/Fetch/client.ts',
  ]);
});

test('every source, test and bench is named in kebab-case', () => {
  const named = [...sources, ...paths(under(all, 'test/')), ...paths(under(all, 'bench/'))];
  expect(notKebabCase(named.filter((path) => !path.endsWith('.md')))).toEqual([]);
});

test('a new room, a new file at the top and a fifth tool are caught', () => {
  const added = ['src/billing/invoice.ts', 'src/server.ts', 'src/tools/retry.ts'];
  expect(outsideTheLayout([...added, 'src/tools/clock.ts', 'src/main.ts', 'src/inbox/take.ts'])).toEqual(
    added,
  );
});

test('src holds the known rooms, the top files and the four tools, and nothing else', () => {
  expect(outsideTheLayout(sources)).toEqual([]);
});

test('a test outside the known folders, and a unit test of no room, are caught', () => {
  const astray = ['test/stories/change.test.ts', 'test/unit/billing/invoice.test.ts'];
  expect(
    testsOutsideTheLayout([...astray, 'test/unit/inbox/take.test.ts', 'test/unit/pipeline.test.ts']),
  ).toEqual(astray);
});

test('tests stand in the known folders, and unit tests mirror the rooms', () => {
  expect(testsOutsideTheLayout(paths(under(all, 'test/', '')))).toEqual([]);
});
