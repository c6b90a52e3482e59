/**
 * One row of the table of settings, and how the rows become the type of all settings: `PROVIDER_TIMEOUT_MS` is
 * `providerTimeoutMs`, and `KAFKA_CA_FILE`, whose value is the file's content, is `kafkaCa`. Types and constructors
 * only.
 */
import type { Kind } from './accept';

export interface Row<Value> {
  // biome-ignore lint/suspicious/noExplicitAny: rows of all kinds stand in one table; the row's own type tells them.
  kind: Kind<any>;
  /** The variable's text when it is not set; null when the setting is then absent. */
  fallback: string | null;
  meaning: string;
  secret: boolean;
  /** The variable holds a path, and the setting is what the file holds. */
  file: boolean;
  /** Only for the type. */
  value?: Value;
}

/** A setting that always has a value. */
export function withDefault<Value>(kind: Kind<Value>, fallback: string, meaning: string): Row<Value> {
  return { kind, fallback, meaning, secret: false, file: false };
}

/** A setting that may be absent: null then. */
export function optional<Value>(kind: Kind<Value>, meaning: string): Row<Value | null> {
  return { kind, fallback: null, meaning, secret: false, file: false };
}

/** A setting that is never shown. */
export function hidden<Value>(kind: Kind<Value>, meaning: string): Row<Value | null> {
  return { kind, fallback: null, meaning, secret: true, file: false };
}

/** A setting whose variable names a file. */
export function fromFile<Value>(kind: Kind<Value>, meaning: string): Row<Value | null> {
  return { kind, fallback: null, meaning, secret: false, file: true };
}

type Capital<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Capitalize<Lowercase<Head>>}${Capital<Tail>}`
  : Capitalize<Lowercase<Name>>;

/** `PROVIDER_TIMEOUT_MS` → `providerTimeoutMs`; a closing `_FILE` is left out. */
export type FieldName<Name extends string> = Name extends `${infer Stem}_FILE`
  ? Uncapitalize<Capital<Stem>>
  : Uncapitalize<Capital<Name>>;

/**
 * The field that a setting becomes: `KAFKA_TOPIC_PREFIX` is `kafkaTopicPrefix`, and a `_FILE` names the same field as
 * what it holds.
 */
export function fieldName(name: string): string {
  return name
    .replace(/_FILE$/, '')
    .toLowerCase()
    .replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

export type ValuesOf<Table> = {
  readonly [Name in keyof Table & string as FieldName<Name>]: Table[Name] extends Row<infer Value>
    ? Value
    : never;
};
