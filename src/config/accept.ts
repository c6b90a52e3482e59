/**
 * The kinds of value a setting can have: a zod schema from the variable's text to the typed value, and the words that
 * say what is accepted. Messages name what is accepted and never repeat what was given, since a secret may stand in
 * the wrong variable. No setting is named here.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../tools/secret';

export interface Kind<Value> {
  schema: z.ZodType<Value, string>;
  /** Completes the sentence "NAME must be …". */
  accepts: string;
  /** How the value is shown to people; the value itself when absent. */
  show?: (value: Value) => unknown;
  /** Of a list: what stands between its values; a comma when absent. */
  separator?: string;
}

const word = (pattern: RegExp) => z.string().trim().regex(pattern);

export const text: Kind<string> = {
  schema: z
    .string()
    .trim()
    .min(1)
    .regex(/^\P{Cc}*$/u),
  accepts: 'one line of text',
};

/** Only the words that are named, in any case, as OpenTelemetry reads its own. */
export const flag: Kind<boolean> = {
  schema: z
    .string()
    .trim()
    .pipe(z.stringbool({ truthy: ['true'], falsy: ['false'] })),
  accepts: '`true` or `false`',
};

export function wholeNumber(min: number, max: number): Kind<number> {
  return {
    schema: word(/^\d{1,16}$/)
      .transform(Number)
      .refine((value) => value >= min && value <= max),
    accepts: `a whole number from ${min} to ${max}`,
  };
}

export const share: Kind<number> = {
  schema: word(/^(0|1|0?\.\d{1,12}|[01]\.\d{1,12})$/)
    .transform(Number)
    .refine((value) => value <= 1),
  accepts: 'a number from 0 to 1',
};

export function choice<const Values extends readonly [string, ...string[]]>(
  values: Values,
): Kind<Values[number]> {
  return {
    // Read from text, as every setting; the narrower input type is of no use here.
    schema: z.enum(values) as z.ZodType<Values[number], string>,
    accepts: values.map((value) => `\`${value}\``).join(' or '),
  };
}

/** Several values in one variable; empty parts are left out, at least one remains, none twice. */
export function listOf<Value>(kind: Kind<Value>, separator: ',' | ' ' = ','): Kind<Value[]> {
  return {
    schema: z
      .string()
      .transform((given) => [...new Set(given.split(separator).map((part) => part.trim()))].filter(Boolean))
      .pipe(z.array(kind.schema).min(1).max(1000)),
    separator,
    accepts: `${separator === ',' ? 'comma-separated' : 'separated by spaces'}, each ${kind.accepts}`,
  };
}

/** Several secrets in one variable, one a line, so that a value may be rotated while both are in use. */
export function linesOf<Value>(kind: Kind<Value>): Kind<Value[]> {
  return {
    schema: z
      .string()
      .transform((given) => given.split(/\r?\n/).filter((line) => line.trim() !== ''))
      .pipe(z.array(kind.schema).min(1).max(1000)),
    accepts: `one value a line, each ${kind.accepts}`,
  };
}

/** A secret is taken as it is: spaces belong to it. */
export const secret: Kind<Secret> = {
  schema: z
    .string()
    .min(1)
    .transform((value) => new Secret(value)),
  accepts: 'any text',
};

export const hostname: Kind<string> = {
  schema: word(/^([A-Za-z0-9_.-]{1,253}|[0-9A-Fa-f:.]{2,45})$/),
  accepts: 'a host name or an address',
};

export const identifier: Kind<string> = {
  schema: word(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
  accepts: 'letters, digits, `.`, `_` and `-`, at most 100',
};

export const broker: Kind<string> = {
  schema: word(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]{1,253}):\d{1,5}$/).refine(
    (value) => Number(value.slice(value.lastIndexOf(':') + 1)) <= 65535,
  ),
  accepts: '`host:port`',
};

export const date: Kind<string> = {
  schema: z.string().trim().pipe(z.iso.date()),
  accepts: 'a date as YYYY-MM-DD',
};

/**
 * One or more; the first is read here, since OpenSSL takes a file without any for one that trusts nobody. Of a file that is
 * still being written it trusts whom it finds before the end.
 */
export const certificate: Kind<string> = {
  schema: z
    .string()
    .refine((value) => isReadBy((pem) => new X509Certificate(pem), value) && !isCutShort(value)),
  accepts: 'the path of a PEM file that holds a certificate, and none that is cut short',
};

export const certificateKey: Kind<Secret> = {
  schema: z
    .string()
    .refine((value) => isReadBy(createPrivateKey, value))
    .transform((value) => new Secret(value)),
  accepts: 'the path of a PEM file that holds a private key without a passphrase',
};

function isCutShort(pem: string): boolean {
  const begun = pem.match(/-----BEGIN /g) ?? [];
  const ended = pem.match(/-----END [A-Z0-9 ]+-----/g) ?? [];
  return begun.length > ended.length;
}

function isReadBy(read: (pem: string) => unknown, value: string): boolean {
  try {
    read(value);
    return true;
  } catch {
    return false;
  }
}
