/**
 * Documents as the provider sends them, and the few moves that tests make with them. The values are invented.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NormalizedDocument } from '../../../src/model/event';
import { normalizeDocument } from '../../../src/normalize/normalize';
import { repositoryRoot } from '../../support/repository';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

const folder = join(repositoryRoot(), 'test/fixtures/provider');

export const documentNames = readdirSync(folder).map((name) => name.replace(/\.json$/, ''));

/** A fresh copy of the document of that name. */
export function providerDocument(name: string): JsonObject {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as JsonObject;
}

/** A copy with another value at a JSON pointer; undefined takes the member away. */
export function withValue<Body extends Json>(body: Body, pointer: string, value: Json | undefined): Body {
  const copy = structuredClone(body);
  const steps = pointer.split('/').slice(1);
  const last = steps.pop() ?? '';
  const parent = steps.reduce<JsonObject>((at, step) => at[step] as JsonObject, copy as JsonObject);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** The normalized document; fails the test where there is none. */
export function normalized(body: unknown, includeOperatorNames = false): NormalizedDocument {
  const result = normalizeDocument(body, { includeOperatorNames });
  if (!result.ok) throw new Error(`refused at ${result.path}: ${result.code}: ${result.detail}`);
  return result.document;
}

/** The refusal as `code path`; fails the test where there is none. */
export function refused(body: unknown): string {
  const result = normalizeDocument(body, { includeOperatorNames: false });
  if (result.ok) throw new Error('the document was taken');
  return `${result.code} ${result.path}`;
}

/** What stands at a JSON pointer; undefined when nothing does. */
export function at(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((from, step) => (from as Record<string, unknown> | undefined)?.[step], value);
}
