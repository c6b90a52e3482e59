// What is written about the settings is generated from the table, so that it cannot differ from what is accepted.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { settingsSchema, settingsTable } from '../../../src/config';
import { rows } from '../../../src/config/describe';

const root = join(__dirname, '../../..');
const readme = join(root, 'README.md');

test('schemas/config.schema.json is what the table says', () => {
  expect(JSON.parse(readFileSync(join(root, 'schemas/config.schema.json'), 'utf8'))).toEqual(
    settingsSchema(),
  );
});

test('the schema takes every default and refuses what is refused', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(settingsSchema());
  const defaults = Object.fromEntries(
    rows.flatMap(([name, row]) => (row.fallback === null ? [] : [[name, row.fallback]])),
  );
  expect([validate(defaults), validate.errors]).toEqual([true, null]);
  for (const wrong of [{ ROLE: 'boss' }, { PORT: 'x' }, { LOG_LEVEL: 'loud' }, { PROVIDER_VENDOR: '' }]) {
    expect([wrong, validate(wrong)]).toEqual([wrong, false]);
  }
});

test('the table names every setting once, with its default', () => {
  const lines = settingsTable().trim().split('\n').slice(2);
  expect(lines).toHaveLength(rows.length);
  expect(lines.find((line) => line.includes('`LEASE_SECONDS`'))).toContain('| `60` |');
  expect(lines.find((line) => line.includes('`ENCRYPTION_KEYS`'))).toContain('(secret) | –');
});

test('the README holds the table as generated', () => {
  // Until there is a README there is nothing that could differ.
  const text = existsSync(readme) ? readFileSync(readme, 'utf8') : settingsTable();
  expect(text).toContain(settingsTable());
});
