// Goal: what the repository says of itself holds on any machine: links lead somewhere, documents that are named exist,
// and nothing depends on where it was written.
// Method: pure checks over the text files of the repository, each shown a bad example first.
import { posix } from 'node:path';
import { type RepositoryFile, repositoryFiles } from './repository-files';

const all = repositoryFiles();

/** Relative links of Markdown files that lead to no file, folder or heading, as `file → link`. */
function brokenLinks(files: RepositoryFile[]): string[] {
  const headings = new Map(files.filter(isMarkdown).map((file) => [file.path, headingsOf(file.text)]));
  const exists = (path: string): boolean =>
    path === '.' ||
    files.some((file) => file.path === path || file.path.startsWith(`${path.replace(/\/$/, '')}/`));
  return files.filter(isMarkdown).flatMap((file) =>
    [...withoutCode(file.text).matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)]
      .map((match) => match[1] as string)
      .filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
      .filter((link) => {
        const [target, fragment] = link.split('#') as [string, string | undefined];
        const path =
          target === '' ? file.path : posix.normalize(posix.join(posix.dirname(file.path), target));
        if (!exists(path)) return true;
        return fragment !== undefined && headings.has(path) && !headings.get(path)?.includes(fragment);
      })
      .map((link) => `${file.path} → ${link}`),
  );
}

function isMarkdown(file: RepositoryFile): boolean {
  return file.path.endsWith('.md');
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** The fragments under which the headings of a document are reached. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );
}

/** Mentions of Markdown files that are not in the repository, as `file: mention`. */
function unknownDocuments(files: RepositoryFile[]): string[] {
  const known = new Set(files.filter(isMarkdown).map((file) => posix.basename(file.path)));
  return files
    .filter((file) => file.path !== 'package-lock.json')
    .flatMap((file) =>
      [...file.text.matchAll(/(?<![\w.*-])[\w-]+\.md\b/g)]
        .map((match) => match[0])
        .filter((mention) => !known.has(mention))
        .map((mention) => `${file.path}: ${mention}`),
    );
}

// Put together from parts, so that this file does not accuse itself.
const machine = ['work', 'root', 'home/[a-z]\\w*', 'Users/[A-Za-z]\\w*'].map((folder) => `/${folder}/`);
const registries = ['registry.' + 'npmjs', 'repo1?.' + 'maven', 'arti' + 'factory', 'verd' + 'accio'];
const tied = new RegExp(`(?<![\\w.:*-])(${machine.join('|')})|\\b(${registries.join('|')})\\b`);

/** Lines that hold a path of one machine or the address of a package registry, as `path:line`. */
function tiedToAMachine(files: RepositoryFile[]): string[] {
  return files.flatMap((file) =>
    file.text.split('\n').flatMap((line, index) => (tied.test(line) ? [`${file.path}:${index + 1}`] : [])),
  );
}

const page = (text: string, path = 'README.md'): RepositoryFile => ({ path, text });

test('a link to a missing file or heading is caught, others are not', () => {
  const text = [
    '# The path, in short',
    '[a](src/pipeline.ts) [b](#the-path-in-short) [c](https://example.org/x) [d](test/) [e](bench/README.md#figures)',
    '`[not](a-link)` [f](missing.md) [g](#nowhere) [h](bench/README.md#gone)',
  ].join('\n');
  const others = [
    page('', 'src/pipeline.ts'),
    page('', 'test/a.test.ts'),
    page('# Figures', 'bench/README.md'),
  ];
  expect(brokenLinks([page(text), ...others])).toEqual([
    'README.md → missing.md',
    'README.md → #nowhere',
    'README.md → bench/README.md#gone',
  ]);
});

test('a link is read from the folder of its document', () => {
  const why = page('[up](../../README.md) [beside](take.ts)', 'src/inbox/WHY.md');
  expect(brokenLinks([why, page('', 'README.md')])).toEqual(['src/inbox/WHY.md → take.ts']);
});

test('every relative link of the documents leads somewhere', () => {
  expect(brokenLinks(all)).toEqual([]);
});

test('a document that is named but not here is caught', () => {
  const missing = 'plans' + '.md';
  const files = [page(`// As ${missing} says; see README.md.`, 'src/main.ts'), page('')];
  expect(unknownDocuments(files)).toEqual([`src/main.ts: ${missing}`]);
});

test('every document that is named is here', () => {
  const others = all.filter((file) => !file.path.startsWith('test/house/'));
  expect(unknownDocuments(others)).toEqual([]);
});

test.each([
  ['a folder of one machine', `cd /${'work'}/here`],
  ['a home folder', `"/${'home'}/someone/tramline"`],
  ['the address of a registry', `https://${'registry'}.npmjs.org/one`],
])('%s is caught', (_what, text) => {
  expect(tiedToAMachine([page(`fine\n${text}\n`)])).toEqual(['README.md:2']);
});

test('a folder of the repository is not mistaken for one of a machine', () => {
  expect(tiedToAMachine([page('src/work/take.ts /var/lib/tramline https://example.org/work/')])).toEqual([]);
});

test('nothing names a path of one machine or the address of a registry', () => {
  expect(tiedToAMachine(all)).toEqual([]);
});
