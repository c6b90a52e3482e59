// The exported functions of a source as the house checks see them: name, comment, and the rest as text; the functions
// that help them; the comments of a type. Good enough for formatted sources, not a parser.
import { posix } from 'node:path';
import { withoutComments } from './repository-files';

export type ExportedFunction = {
  name: string;
  /** Empty where there is none. */
  comment: string;
  /** From behind the name to the closing brace, signature included. */
  rest: string;
};

const exported = /((?:^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?)^export (?:async )?function\*? (\w+)([\s\S]*?)^}$/gm;
const helper = /^(?:async )?function\*? (\w+)([\s\S]*?)^}$/gm;
const registered = /^src\/(commands\/\S+ register|simulator\/\S+ serve)[A-Z]/;

export function exportedFunctions(text: string): ExportedFunction[] {
  return [...text.matchAll(exported)].map(([, comment, name, rest]) => ({
    name: name!,
    comment: comment!,
    rest: rest!,
  }));
}

/** The functions that a file keeps for itself, by name, as code without comments. */
export function helpersOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(helper)].map(([, name, rest]) => [name!, withoutComments(rest!)]));
}

/** Whether it registers a command or a route: what that does is answered by whom it is registered with. */
export function isRegistered(path: string, name: string): boolean {
  return registered.test(`${path} ${name}`);
}

/** The name of the type that a function returns or promises. */
export function typeReturned(rest: string): string | undefined {
  return /^[\s\S]*?\): (?:Promise<)?(\w+)[\w<>[\], |]* \{\n/.exec(rest)?.[1];
}

/** The comments of a type, its members' among them, where the file declares it or imports it from. */
export function commentsOfType(files: Map<string, string>, path: string, name: string): string {
  const text = files.get(path) ?? '';
  const pattern = new RegExp(
    `((?:^/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?)^export (interface|class) ${name}\\b([\\s\\S]*?)^}$`,
    'm',
  );
  const [, own, , body] = pattern.exec(text) ?? [];
  if (body !== undefined) return [own, ...(body.match(/\/\*\*[\s\S]*?\*\//g) ?? [])].join(' ');
  const from = new RegExp(`import[^;]*\\b${name}\\b[^;]*from '(\\.[^']*)'`).exec(text)?.[1];
  if (from === undefined) return '';
  const at = posix.join(posix.dirname(path), from);
  const file = [`${at}.ts`, `${at}/index.ts`].find((each) => files.has(each));
  return file === undefined ? '' : commentsOfType(files, file, name);
}
