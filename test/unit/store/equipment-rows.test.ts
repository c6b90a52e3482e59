/**
 * The embedded store's table of equipment: what was kept under its older form is kept, and adding to it writes few pages.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import { migrations } from '../../../src/store/sqlite/migrations';
import { settingsFor } from '../../contract/open-sqlite';

let folder: string;
let file: string;
let engine: Engine | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-equipment-'));
  file = join(folder, 'store.db');
});
afterEach(() => {
  engine?.close();
  rmSync(folder, { recursive: true });
});

const piece = (place: number): EquipmentNames => ({
  side: 'new',
  // Spread over all ids, as of many organizations in turn.
  id: String(100_000 + ((place * 7919) % 50_000)),
  organizationId: '4711',
  principalId: String(500_000 + ((place * 7919) % 50_000)),
  erid: `${(place * 7919) % 50_000}-0000-4000-8000-000000000000`,
  serialNumber: `S${place}`,
});
const name = (pieces: EquipmentNames[]) => {
  const results = engine!.execute([{ verb: 'nameEquipment', args: [pieces] }]);
  engine!.commit();
  return results;
};
const pieces = (from: number, count: number) => Array.from({ length: count }, (_, at) => piece(from + at));

test('what an older version has kept is kept, and known as it was', () => {
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE migrations (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT');
  const older = migrations.slice(0, migrations.findIndex(({ name }) => name === '0010-equipment') + 1);
  for (const { name, sql } of older) {
    database.exec(sql);
    database.prepare('INSERT INTO migrations (name, at) VALUES (?, 0)').run(name);
  }
  const { side, id, organizationId, principalId, erid, serialNumber } = piece(1);
  database
    .prepare('INSERT INTO equipment VALUES (?, ?, ?, ?, ?, ?, ?)')
    .run(side, id, organizationId, principalId, erid, serialNumber, 'as-before');
  database.close();
  engine = openEngine(settingsFor(file), () => 2000);
  expect(name([piece(1)])).toEqual([{ value: [{ id: 'as-before', principalId }] }]);
});

test('forty pieces of many organizations write fewer than 115 pages into a table of ten thousand', () => {
  engine = openEngine(settingsFor(file), () => 2000);
  name(pieces(0, 10_000));
  engine.checkpoint(true);
  engine.close();
  engine = openEngine(settingsFor(file), () => 2000);
  engine.checkpoint(true);
  const before = statSync(`${file}-wal`).size;
  name(pieces(10_000, 40));
  expect((statSync(`${file}-wal`).size - before) / 8216).toBeLessThan(115);
});
