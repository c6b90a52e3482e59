// Goal: the schemas that readers get are those that the code checks with, and no version of one breaks a reader of an
// earlier one: such a change needs a new version beside the old.
// Method: written anew in memory and compared with the files (`UPDATE_SCHEMAS=1` rewrites them), then compared with each
// version of the file that the history of the repository holds, and with what was published first, which is kept in
// test/fixtures for clones without a history.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { dataschemaOf } from '../../src/model/event';
import type { EventKind } from '../../src/model/resource';
import { eventSchemas } from '../../src/normalize/normalize';
import { writeJsonSchema } from '../../src/tools/schema';
import { repositoryRoot } from '../support/repository';
import { breakingChanges, type JsonSchema } from './schema-compatibility';

const root = repositoryRoot();
const kinds = Object.keys(eventSchemas) as EventKind[];

/** Every schema that is written from the code: path → text. */
const written = new Map(
  kinds.map((kind) => [
    `schemas/event/${kind}.v1.schema.json`,
    writeJsonSchema(eventSchemas[kind], dataschemaOf(kind)),
  ]),
);

if (process.env.UPDATE_SCHEMAS === '1') {
  for (const [path, text] of written) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** The file's text in each commit that changed it, newest first; none where there is no history to read. */
function committedVersions(path: string): string[] {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  const commits = git('log', '--format=%H', '--', path);
  if (commits.status !== 0) return [];
  return commits.stdout
    .split('\n')
    .filter((commit) => commit !== '')
    .map((commit) => git('show', `${commit}:${path}`))
    .filter((shown) => shown.status === 0)
    .map((shown) => shown.stdout);
}

test.each([...written])('%s is what the code says', (path, text) => {
  expect(existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '').toBe(text);
});

test('schemas/event holds what is written from the code, and nothing else', () => {
  const files = readdirSync(join(root, 'schemas/event')).map((name) => `schemas/event/${name}`);
  expect(files.filter((path) => !/\.v\d+\.schema\.json$/.test(path))).toEqual([]);
  expect(files.filter((path) => /\.v1\./.test(path)).sort()).toEqual([...written.keys()].sort());
});

test.each([...written])('%s is a JSON Schema under its published address', (path, text) => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats(ajv);
  const schema = JSON.parse(text) as JsonSchema;
  expect(() => ajv.compile(schema)).not.toThrow();
  expect(String(schema.$id)).toBe(`https://schemas.tramline.io/${path.replace(/^schemas\//, '')}`);
});

test.each([...written])('%s breaks no reader of a version before', (path, text) => {
  const now = JSON.parse(text) as JsonSchema;
  const first = readFileSync(join(root, 'test/fixtures/first-schemas', basename(path)), 'utf8');
  const complaints = [first, ...committedVersions(path)].map((version) =>
    breakingChanges(JSON.parse(version), now),
  );
  expect(complaints.flat()).toEqual([]);
});

test('each schema lets fields be added, so that a later version does not break its readers', () => {
  for (const text of written.values()) expect(text).not.toContain('additionalProperties');
});
