// Goal: what a reader may rely on in every source file is so: an opening comment, no unfinished work, and the outside
// world touched only where it is said to be.
// Method: pure checks over the text of the sources, each shown a bad example first.
import { type RepositoryFile, repositoryFiles, under, withoutComments } from './repository-files';

const all = repositoryFiles();
const sources = under(all, 'src/');

function source(text: string, path = 'src/inbox/take.ts'): RepositoryFile {
  return { path, text };
}

/** The lines of code, comments aside, that match, as `path:line`. */
function linesWith(files: RepositoryFile[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    withoutComments(file.text)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}`] : [])),
  );
}

describe('the opening comment', () => {
  const lineCount = { least: 2, most: 8 };

  function withoutOpening(files: RepositoryFile[]): string[] {
    return files
      .filter(({ text }) => {
        const body = text.replace(/^#!.*\n/, '');
        const opening = /^(\/\*[\s\S]*?\*\/|(\/\/.*\n)+)/.exec(body)?.[0].trimEnd();
        if (opening === undefined) return true;
        const lines = opening.split('\n').length;
        const words = opening.match(/[A-Za-z]{2,}/g) ?? [];
        return lines < lineCount.least || lines > lineCount.most || words.length < 8;
      })
      .map((file) => file.path);
  }

  test('is missed when it is not there, is too short, too long, or not first', () => {
    const good = source(
      '// Takes the next task that is due and leases it to one worker,\n// fairly.\n',
      'good.ts',
    );
    const block = source(
      '/**\n * Takes the next task that is due and leases it to one worker.\n */\n',
      'block.ts',
    );
    const bad = [
      source('export const take = 1;\n', 'none.ts'),
      source('// Takes the next task that is due and leases it to one worker.\nexport {};\n', 'short.ts'),
      source('// Take.\n// It.\n', 'empty.ts'),
      source(`${'// One more line of many about this file.\n'.repeat(9)}`, 'long.ts'),
      source(
        "import './a';\n// Takes the next task that is due,\n// and leases it to one worker.\n",
        'late.ts',
      ),
    ];
    expect(withoutOpening([good, block, ...bad])).toEqual(bad.map((file) => file.path));
  });

  test('stands in every source file', () => {
    expect(withoutOpening(sources)).toEqual([]);
  });
});

describe('the environment', () => {
  const reading = /\bprocess\s*(\??\.\s*env\b|\[\s*['"`]env)|\benv\b[^;]*from ['"](node:)?process['"]/;
  const readers = (files: RepositoryFile[]): string[] =>
    linesWith(
      files.filter((file) => file.path !== 'src/config.ts'),
      reading,
    );

  test('is seen being read outside config.ts, in each way to write it', () => {
    const ways = [
      'process.env.PORT',
      "process['env']",
      'const { PORT } = process.env;',
      "import { env } from 'node:process';",
    ];
    expect(readers(ways.map((text, index) => source(text, `src/fetch/${index}.ts`)))).toHaveLength(
      ways.length,
    );
    expect(
      readers([source('process.env', 'src/config.ts'), source('// process.env is not for here')]),
    ).toEqual([]);
  });

  test('is read by config.ts alone', () => {
    expect(readers(sources)).toEqual([]);
  });
});

describe('unfinished work', () => {
  // Written in two halves, so that this file does not accuse itself.
  const marks = ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'];
  const pattern = new RegExp(`\\b(${marks.join('|')})\\b`);
  const unfinished = (files: RepositoryFile[]): string[] =>
    files
      .filter((file) => file.path !== 'package-lock.json')
      .filter((file) => pattern.test(file.text))
      .map((file) => file.path);

  test.each(marks)('is seen when it is marked %s', (mark) => {
    expect(unfinished([source(`// ${mark}: later`)])).toEqual(['src/inbox/take.ts']);
  });

  test('is marked nowhere in the repository', () => {
    expect(unfinished(all)).toEqual([]);
  });
});

describe('outgoing HTTP', () => {
  const clients = /^src\/(fetch\/client\.ts|alert\/|connect\/|commands\/|demo\/|simulator\/)/;
  const globalFetch = /(?<![.\w$]|function )fetch\s*\(|\bglobalThis\.fetch\b/;
  const others =
    /\bhttps?\.(request|get)\s*\(|new (WebSocket|EventSource)\b|\{[^}]*\b(request|get)\b[^}]*\} from ['"](node:)?https?['"]/;
  // A file with a function of that name means its own.
  const hasItsOwn = (file: RepositoryFile): boolean => /\bfunction fetch\b/.test(file.text);

  function callers(files: RepositoryFile[]): string[] {
    const strangers = files.filter((file) => !clients.test(file.path));
    const meaningGlobal = strangers.filter((file) => !hasItsOwn(file));
    return [...linesWith(meaningGlobal, globalFetch), ...linesWith(strangers, others)];
  }

  test('is seen outside its owners, in each way to write it', () => {
    const ways = [
      'await fetch(url);',
      'globalThis.fetch(url);',
      "http.request('http://provider');",
      'https.get(url);',
      "import { type IncomingMessage, request } from 'node:http';",
      'new EventSource(url);',
    ];
    expect(callers(ways.map((text, index) => source(text, `src/inbox/${index}.ts`)))).toHaveLength(
      ways.length,
    );
  });

  test('is not mistaken for a door, a method or a comment', () => {
    const others = [
      'doors.fetch(task);',
      '// fetch(url) is for others',
      "import { createServer } from 'node:http';",
    ];
    expect(callers([source(others.join('\n')), source('fetch(url)', 'src/alert/slack.ts')])).toEqual([]);
  });

  test('is done by its owners alone', () => {
    expect(callers(sources)).toEqual([]);
  });
});

describe('a type imported inside a type', () => {
  // The one form of import that the tool behind the import rules does not see. A package that no rule speaks of may be
  // named so: its types say what a late `require` gives.
  const ruled = `['"](\\.|node:|express|helmet|kafkajs|pino|pg|undici)`;
  const inline = new RegExp(
    `\\btypeof import\\(${ruled}|\\bimport\\(${ruled}[^'"]*['"]\\)\\s*(\\.\\s*[A-Z]|\\[)`,
  );

  test('is seen, and a late import is not mistaken for it', () => {
    const bad = ["type A = import('../fetch/client').Client;", "let b: typeof import('../fetch/client');"];
    const good = [
      "const c = await import('../fetch/client');",
      "import('./x').then(run);",
      "const d = require('late') as typeof import('late');",
    ].join('\n');
    expect(linesWith([source(bad.join('\n')), source(good, 'src/good.ts')], inline)).toEqual([
      'src/inbox/take.ts:1',
      'src/inbox/take.ts:2',
    ]);
  });

  test('is written nowhere in the sources', () => {
    expect(linesWith(sources, inline)).toEqual([]);
  });
});
