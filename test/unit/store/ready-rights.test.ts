// What a check of the scaled store asks for is what its statements need: read out of them, as they stand in the source.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writes } from '../../../src/store/postgres/ready';
import { repositoryRoot } from '../../support/repository';

const folders = ['src/store', 'src/store/postgres', 'src/store/postgres/server'].map((folder) =>
  join(repositoryRoot(), folder),
);
const isOfSchema = /migrat|schema/;
/** Whoever locks a row, in whatever way, needs the right to change it. */
const locksRows = /FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)(?: OF (\w+))?/g;

/** The table that a lock at `at` names by another name, or else the one that was read from last. */
function lockedTable(text: string, at: number, alias: string | undefined): string | undefined {
  const before = text.slice(0, at);
  const read = alias === undefined ? /FROM (\w+)/g : new RegExp(`(?:FROM|JOIN) (\\w+) ${alias}\\b`, 'g');
  return [...before.matchAll(read)].at(-1)?.[1];
}

test('a check asks for each right that a statement of the store needs', () => {
  const needed = new Map<string, Set<string>>();
  const need = (table: string, right: string) =>
    needed.set(table, (needed.get(table) ?? new Set()).add(right));
  for (const folder of folders) {
    for (const file of readdirSync(folder)) {
      if (!file.endsWith('.ts') || isOfSchema.test(file)) continue;
      const text = readFileSync(join(folder, file), 'utf8');
      for (const [, table] of text.matchAll(/DELETE FROM (\w+)/g)) need(table!, 'DELETE');
      for (const [, table] of text.matchAll(/UPDATE (\w+)(?: \w+)? SET/g)) need(table!, 'UPDATE');
      for (const [, table, rest] of text.matchAll(/INSERT INTO (\w+)((?:(?!INSERT INTO)[^;])*)/g)) {
        need(table!, 'INSERT');
        if (rest!.includes('DO UPDATE')) need(table!, 'UPDATE');
      }
      for (const { index, 1: alias } of text.matchAll(locksRows)) {
        const table = lockedTable(text, index, alias);
        // What a statement itself has put together is no table.
        if (table !== undefined && table in writes) need(table, 'UPDATE');
      }
    }
  }
  const asked = new Map(
    Object.entries(writes).map(([table, ofTable]) => [table, new Set(ofTable.split(' '))]),
  );
  expect([...needed].toSorted()).toEqual([...asked].toSorted());
});
