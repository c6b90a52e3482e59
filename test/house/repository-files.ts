// The files of the repository as the house checks see them: path from the root with forward slashes, and text. What Git
// ignores is left out, what is not committed yet is not. A check is a pure function from such files to complaints.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

export type RepositoryFile = { path: string; text: string };

/** All text files, in the order of their paths. */
export function repositoryFiles(): RepositoryFile[] {
  const root = repositoryRoot();
  const ignored = new Set(['.git', ...ignoredFolders(root)]);
  const files: RepositoryFile[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (ignored.has(entry.name)) continue;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) files.push({ path, text: readFileSync(join(root, path), 'utf8') });
    }
  };
  walk('');
  return files
    .filter((file) => !file.text.includes('\u0000'))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** TypeScript files under a folder such as `src/`. */
export function under(files: RepositoryFile[], folder: string, ending = '.ts'): RepositoryFile[] {
  return files.filter((file) => file.path.startsWith(folder) && file.path.endsWith(ending));
}

/** The text without its comments, line numbers kept. Good enough for formatted sources, not a parser. */
export function withoutComments(text: string): string {
  const blank = (comment: string): string => comment.replace(/[^\n]/g, ' ');
  return text.replace(/\/\*[\s\S]*?\*\//g, blank).replace(/(^|\s)\/\/.*$/gm, blank);
}

function ignoredFolders(root: string): string[] {
  const lines = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
  return lines.filter((line) => line.endsWith('/')).map((line) => line.slice(0, -1));
}
