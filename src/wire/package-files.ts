/**
 * Files of this package that the service reads at run time, found from the sources and from what is built alike: the
 * package's own version and the declared topics.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TopicDeclaration } from '../publish/topics';

/** The version in package.json. Throws when the package is not whole. */
export function packageVersion(): string {
  return (readJson('package.json') as { version: string }).version;
}

/** The topics of deploy/topics.json. Throws when the package is not whole. */
export function declaredTopics(): TopicDeclaration[] {
  return (readJson(join('deploy', 'topics.json')) as { topics: TopicDeclaration[] }).topics;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(packageRoot(), path), 'utf8'));
}

/** The folder that holds package.json. Throws when there is none above this file. */
function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('there is no package.json above this file');
    folder = parent;
  }
  return folder;
}
