// Where the repository is, seen from a test: the same answer from test/ (run through swc) and from dist/test/ (built).
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The absolute path of the folder that holds package.json. Throws when there is none above this file. */
export function repositoryRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('No package.json above the tests.');
    folder = parent;
  }
  return folder;
}
