// Whether a value fits its published schema, judged by ajv from the files in schemas/event: by no code of the product.
// Strict: a keyword that ajv does not know fails the test instead of being passed over.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { repositoryRoot } from './repository';

const validator = addFormats(new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }));

/** What is wrong with the value as one of `kind` (`equipment`, `field-operation`, `organization-access`); [] when it fits. */
export function schemaFaults(kind: string, value: unknown): string[] {
  const file = join(repositoryRoot(), 'schemas', 'event', `${kind}.v1.schema.json`);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as { $id: string };
  const validate = validator.getSchema(schema.$id) ?? validator.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
