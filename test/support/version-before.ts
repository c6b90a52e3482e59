// The version before the newest step of the scaled store's schema, as the repository's history has it: its sources in a
// folder of their own, beside this version's packages. It promises nothing about what that version depends on.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { migrations } from '../../src/store/postgres/migrations';
import type { Availability } from './neighbour';
import { repositoryRoot } from './repository';

const steps = 'src/store/postgres/migrations.ts';
const newest = migrations.at(-1)!.name;

const git = (...words: string[]) =>
  spawnSync('git', words, { cwd: repositoryRoot(), encoding: 'buffer', maxBuffer: 1e9 });

/** The commit that had all steps but the newest: the one before that step came, or the last one where it is not committed yet. */
function commitBefore(): string | null {
  const added = git('log', '--format=%H', `-S'${newest}'`, '--', steps);
  if (added.status !== 0) return null;
  const first = added.stdout.toString().trim().split('\n').at(-1);
  const commit = first === '' ? 'HEAD' : `${first}^`;
  return git('cat-file', '-e', `${commit}:${steps}`).status === 0 ? commit : null;
}

const commit = commitBefore();

export const versionBeforeAvailable: Availability =
  commit === null
    ? { available: false, reason: `no history here reaches back before ${newest}`, mayBeMissing: true }
    : { available: true };

/** Unpacks `src` of that version; the absolute path of the folder, and how to remove it. */
export function unpackVersionBefore(): { folder: string; remove(): void } {
  const cache = join(repositoryRoot(), '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'version-before-'));
  const { stdout } = git('archive', commit!, 'src');
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: stdout });
  if (unpacked.status !== 0) throw new Error(`The version before was not unpacked: ${unpacked.stderr}`);
  symlinkSync(join(repositoryRoot(), 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
