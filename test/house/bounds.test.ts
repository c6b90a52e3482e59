// Goal: who calls an exported function learns from its comment what is bounded there, by how much and in which unit, and
// the comment cannot fall behind the code.
// Method: pure checks over the text of the sources, shown bad examples first. A bound is a constant of the file, named
// `…Max`; the function works within it where it, or a function of its file that it comes to, names the constant. A bound
// that stands in the code as a bare number would be found by nobody, and is refused.
import {
  commentsOfType,
  exportedFunctions,
  helpersOf,
  isRegistered,
  typeReturned,
} from './exported-functions';
import { type RepositoryFile, repositoryFiles, under, withoutComments } from './repository-files';

const sources = under(repositoryFiles(), 'src/');

const constant = /^(?:export )?const (\w+Max) = ([\d_*. +()-]+);$/gm;

/** What is divided by for each unit, by the ending of a constant's name before `Max`. */
const unitsOf: Record<string, Record<string, number>> = {
  Ms: { ms: 1, s: 1000, minutes: 60_000, h: 3_600_000, days: 86_400_000 },
  Bytes: { bytes: 1, KiB: 1024, MiB: 1024 ** 2 },
  Seconds: { s: 1, days: 86_400, years: 365 * 86_400 },
};

const words = 'none one two three four five six seven eight nine ten eleven twelve'.split(' ');

/** Every way in which a comment may give the bound: a whole number of some unit, or the number alone. */
function waysToSay(name: string, value: number): RegExp {
  const units = Object.entries(unitsOf).find(([ending]) =>
    new RegExp(`(${ending}|^${ending.toLowerCase()})Max$`).test(name),
  )?.[1];
  const figures = Object.entries(units ?? { '': 1 }).flatMap(([unit, each]) => {
    const count = value / each;
    if (!Number.isInteger(count)) return [];
    const written = [String(count), count.toLocaleString('en-US')];
    if (words[count] !== undefined) written.push(words[count]);
    if (count === 1) written.push('one', 'an?', 'once');
    if (count === 2) written.push('twice');
    if (count === 1_000_000 && unit === '') written.push('a million');
    const unitWritten =
      { h: '(h|hours?)', s: '(s|seconds?)', minutes: 'minutes?', days: 'days?' }[unit] ?? unit;
    return written.map((number) => (unit === '' ? number : `${number} ${unitWritten}`));
  });
  return new RegExp(`(?<![\\d.,])(${figures.join('|')})(?![\\w]|[.,]\\d)`);
}

/** The bounds that functions work within and do not say, as `path function constant`. */
function unsaid(files: RepositoryFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  return files.flatMap(({ path, text }) => {
    const values = new Map([...text.matchAll(constant)].map(([, name, value]) => [name!, productOf(value!)]));
    if (values.size === 0) return [];
    const offered = exportedFunctions(text);
    const helpers = new Map([
      ...helpersOf(text),
      ...offered.map(({ name, rest }) => [name, withoutComments(rest)] as const),
    ]);
    return offered.flatMap(({ name, comment, rest }) => {
      if (isRegistered(path, name)) return [];
      const code = reached(withoutComments(rest), helpers);
      const returned = typeReturned(rest);
      const own = onOneLine(comment);
      const type = returned === undefined ? '' : onOneLine(commentsOfType(texts, path, returned));
      const said = `${own} ${boundsElsewhere(text, own)} ${type}`;
      return [...values]
        .filter(([bound, value]) => named(bound).test(code) && !waysToSay(bound, value).test(said))
        .map(([bound]) => `${path} ${name} ${bound}`);
    });
  });
}

const onOneLine = (comment: string): string => comment.replace(/\n \* /g, ' ');

/** The comments of the functions that this one refers to. */
function boundsElsewhere(text: string, comment: string): string {
  const others = [...comment.matchAll(/\bbounds as (`\w+`(?: and `\w+`)*) do(?:es)?\b/gi)].map(
    ([, names]) => names!,
  );
  return exportedFunctions(text)
    .filter(({ name }) => others.some((names) => names.includes(`\`${name}\``)))
    .map(({ comment: other }) => onOneLine(other))
    .join(' ');
}

/** The code of a function and of all those of its file that it comes to. */
function reached(code: string, helpers: Map<string, string>): string {
  const all = [code];
  const left = new Map(helpers);
  for (const each of all) {
    for (const [name, helper] of left) {
      if (!named(name).test(each)) continue;
      left.delete(name);
      all.push(helper);
    }
  }
  return all.join('\n');
}

/**
 * Bounds without a name, as `path code`: nobody finds them. Of texts and lists, what is shorter is a format of ours, such as
 * a date or a part of a digest.
 */
function unnamed(files: RepositoryFile[]): string[] {
  const number = String.raw`(?:[5-9]\d|\d[\d_]{2,})`;
  const bare = [
    String.raw`\.(?:slice|subarray|substring)\(0, ${number}\)`,
    String.raw`\.length (?:[<>]=?) ${number}\b`,
    String.raw`Math\.min\((?:${number}, |[^()]*, ${number}\))`,
  ];
  const pattern = new RegExp(bare.join('|'), 'g');
  return files.flatMap(({ path, text }) =>
    [...withoutComments(text).matchAll(pattern)].map(([found]) => `${path} ${found}`),
  );
}

const named = (name: string): RegExp => new RegExp(`(?<![.\\w])${name}\\b`);

/** Of products of whole numbers, which is what the sources have. */
function productOf(written: string): number {
  const factors = written.replaceAll('_', '').split('*').map(Number);
  return factors.reduce((product, factor) => product * factor, 1);
}

describe('what an exported function bounds', () => {
  const file = (lines: string, index: number): RepositoryFile => ({
    path: `src/fetch/${index}.ts`,
    text: lines,
  });

  test('is seen not to be said, or said with another figure or unit, also where a helper does it', () => {
    const body = 'export function list(ids: string[]): string[] {\n  return ids.slice(0, idsMax);\n}\n';
    const wait =
      'export function wait(ms: number): number {\n  return cut(ms);\n}\n\nfunction cut(ms: number): number {\n  return Math.min(ms, waitMsMax);\n}\n';
    const bad = [
      `const idsMax = 1000;\n\n${body}`,
      `const idsMax = 1000;\n\n/** Lists at most 10,000. */\n${body}`,
      `const idsMax = 10;\n\n/** Lists at most 100, or 10.5. */\n${body}`,
      `const waitMsMax = 3_600_000;\n\n/** At most 2 h. */\n${wait}`,
      `const waitMsMax = 60 * 1000;\n\n/** At most 60. */\n${wait}`,
      `const idsMax = 1000;\n\n/** Lists at most 1,000. */\n${body}\nexport function all(): string[] {\n  return list(every);\n}\n`,
    ];
    expect(unsaid(bad.map(file))).toEqual([
      'src/fetch/0.ts list idsMax',
      'src/fetch/1.ts list idsMax',
      'src/fetch/2.ts list idsMax',
      'src/fetch/3.ts wait waitMsMax',
      'src/fetch/4.ts wait waitMsMax',
      'src/fetch/5.ts all idsMax',
    ]);
    const good = [
      `const idsMax = 1000;\n\n/** Lists at most 1,000. */\n${body}`,
      `const idsMax = 1000;\n\n/** Lists at most 1000. */\n${body}`,
      `const waitMsMax = 3_600_000;\n\n/** At most 1 h. */\n${wait}`,
      `const waitMsMax = 60 * 1000;\n\n/** At most a minute. */\n${wait}`,
      `const idsMax = 1000;\n\n/** Lists none. */\nexport function list(): string[] {\n  return [];\n}\n`,
      `const idsMax = 1000;\n\n/** Bounds as \`all\` does. */\n${body}\n/** At most 1,000. */\nexport function all(): string[] {\n  return [];\n}\n`,
      'const idsMax = 7;\n\n/** Holds at most 7 ids. */\nexport interface List {\n  add(): void;\n}\n\nexport function list(): List {\n  return make(idsMax);\n}\n',
    ];
    expect(unsaid(good.map(file))).toEqual([]);
  });

  test('is seen to have no name', () => {
    const bad = [
      'return text.slice(0, 200);',
      'if (text.length > 2_000) return null;',
      'return Math.min(75_000, ms);',
      'return Math.min(rows, 500);',
    ];
    expect(unnamed(bad.map(file))).toHaveLength(bad.length);
    const good = [
      'return at.slice(0, 10);',
      'return text.slice(0, textCharsMax);',
      'return Math.min(Math.max(ms, 1000), msMax);',
      'return Math.min(attempts, 30);',
      '// As text.slice(0, 200) does.\nreturn text;',
    ];
    expect(unnamed(good.map(file))).toEqual([]);
  });

  test('has a name everywhere', () => {
    expect(unnamed(sources)).toEqual([]);
  });

  test('is said by each of them, with its figure and unit, or by the type that it returns', () => {
    expect(unsaid(sources)).toEqual([]);
  });
});
