// Goal: what a reader may rely on in every source file is so: an opening comment, no unfinished work, and the outside
// world touched only where it is said to be.
// Method: pure checks over the text of the sources, each shown a bad example first.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';
import {
  commentsOfType,
  exportedFunctions,
  helpersOf,
  isRegistered,
  typeReturned,
} from './exported-functions';
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

describe('advisory locks', () => {
  const table = 'src/store/postgres/server/lock-numbers.ts';
  const numbers = (text: string): string[] => withoutComments(text).match(/\b7_?126_?\d{3}\b/g) ?? [];

  test('are numbered in one table, and no two have one number', () => {
    expect(numbers("const moveLock = 7_126_005;\n// 7_126_006\nsql('lock(7126007)')")).toEqual([
      '7_126_005',
      '7126007',
    ]);
    expect(sources.filter(({ text }) => numbers(text).length > 0).map(({ path }) => path)).toEqual([table]);
    const given = numbers(sources.find(({ path }) => path === table)!.text);
    expect(new Set(given).size).toBe(given.length);
  });
});

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

describe('what an exported function throws', () => {
  const says = /\bthrow(s|n)?\b|\brejects?\b/i;
  // Routes of the simulator answer by throwing: it is what the provider says, and no fault of theirs.
  const answers = /\bthrow new (Refusal|BadControl)\(/g;

  /** The functions of a file that throw for those that call them, and what a call of one of them looks like. */
  function callsThatThrow(text: string): RegExp {
    const helpers = [...helpersOf(text)].map(([name, code]) => [name, withoutAnswers(code)] as const);
    let throwing = /\bthrow\b/;
    for (let known = -1, names: string[] = []; names.length > known; ) {
      known = names.length;
      names = helpers.flatMap(([name, code]) =>
        throwing.test(code) && !/\bcatch\b/.test(code) ? [name] : [],
      );
      throwing = new RegExp(`\\bthrow\\b${names.map((name) => `|(?<![.\\w])${name}\\(`).join('')}`);
    }
    return throwing;
  }

  const withoutAnswers = (code: string): string => code.replace(answers, '');

  /** Those that throw and do not say so, neither themselves nor by the type that they return, as `path name`. */
  function silent(sources: RepositoryFile[]): string[] {
    const files = new Map(sources.map(({ path, text }) => [path, text]));
    return sources.flatMap(({ path, text }) => {
      if (!/\bthrow\b/.test(text)) return [];
      const throwing = callsThatThrow(text);
      return exportedFunctions(text).flatMap(({ name, comment, rest }) => {
        if (isRegistered(path, name)) return [];
        const code = withoutAnswers(withoutComments(rest));
        const caught = /\bcatch\b/.test(code) && !/\bthrow\b/.test(code);
        if (!throwing.test(code) || caught || says.test(comment)) return [];
        // Before it makes anything it throws by itself: what it makes can say nothing of that.
        const [first] = code.split(/=> |\bfunction\b|\breturn \{/);
        const returned = typeReturned(rest);
        const isMade = returned !== undefined && !throwing.test(first!);
        return isMade && says.test(commentsOfType(files, path, returned)) ? [] : [`${path} ${name}`];
      });
    });
  }

  test('is seen not to be said, in each way to throw, and may be said by the type that is returned', () => {
    const bad = [
      'export function take(): void {\n  throw new Error();\n}\n',
      '/** Takes the next. */\nexport async function take(): Promise<void> {\n  throw new Error();\n}\n',
      'function refuse(): never {\n  throw new Error();\n}\n\nfunction ask(): void {\n  refuse();\n}\n\nexport function take(): void {\n  ask();\n}\n',
      "import type { Taker } from './loud';\nexport function make(): Taker {\n  if (closed) throw new Error();\n  return { take() {} };\n}\n",
      "import type { Taker } from './quiet';\nexport function make(): Taker {\n  return () => { throw new Error(); };\n}\n",
    ].map((text, index) => source(text, `src/inbox/bad-${index}.ts`));
    const good = [
      '/** Throws `store.closed`. */\nexport function take(): void {\n  throw new Error();\n}\n',
      '/** Takes. */\nexport function take(): void {\n  // It may throw.\n  give();\n}\n',
      "import type { Taker } from './loud';\nexport function make(): Taker {\n  return { take() { throw new Error(); } };\n}\n",
      'export function answer(): void {\n  throw new Refusal(404);\n}\n',
    ].map((text, index) => source(text, `src/inbox/good-${index}.ts`));
    good.push(
      source('export function registerTake(): void {\n  throw new Error();\n}\n', 'src/commands/take.ts'),
    );
    const types = [
      source('export interface Taker {\n  /** One at a time. */\n  take(): void;\n}\n', 'src/inbox/quiet.ts'),
      source(
        'export interface Taker {\n  /** Throws `closed`. */\n  take(): void;\n}\n',
        'src/inbox/loud.ts',
      ),
    ];
    expect(silent([...bad, ...good, ...types])).toEqual([
      'src/inbox/bad-0.ts take',
      'src/inbox/bad-1.ts take',
      'src/inbox/bad-2.ts take',
      'src/inbox/bad-3.ts make',
      'src/inbox/bad-4.ts make',
    ]);
  });

  test('is said by each of them, or by the type that it returns', () => {
    expect(silent(sources)).toEqual([]);
  });
});

test('what git leaves out of the repository is not linted: what a trial run wrote, with its tokens, is no source', () => {
  const read = (path: string) => readFileSync(join(repositoryRoot(), path), 'utf8');
  const folders = [...read('.gitignore').matchAll(/^(.+)\/$/gm)].map(([, folder]) => folder!);
  expect(folders).toContain('data');
  const { includes } = (JSON.parse(read('.ci/lint.json')) as { files: { includes: string[] } }).files;
  expect(
    folders.filter((folder) => !includes.some((glob) => [`!${folder}`, `!**/${folder}`].includes(glob))),
  ).toEqual([]);
});
