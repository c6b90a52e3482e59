/**
 * The kinds of setting that hold keys and tokens in a form of their own. What is wrong is named by its place, never by
 * its content.
 */
import { z } from 'zod';
import type { NamedToken } from '../model/connection';
import { type SealingKey, Secret } from '../tools/secret';
import type { Kind } from './accept';

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** `id:base64(32 bytes)`, comma-separated; the first encrypts, all of them decrypt. */
export const sealingKeys: Kind<SealingKey[]> = {
  schema: z.string().transform((value, context): SealingKey[] => {
    const keys: SealingKey[] = [];
    for (const part of value
      .split(',')
      .map((given) => given.trim())
      .filter(Boolean)) {
      const [, id, encoded] = /^([A-Za-z0-9_-]{1,40}):(.+)$/.exec(part) ?? [];
      const key = encoded !== undefined && base64.test(encoded) ? Buffer.from(encoded, 'base64') : null;
      if (id === undefined || key?.length !== 32 || keys.some((other) => other.id === id)) {
        context.addIssue({ code: 'custom', message: 'not a key' });
        return z.NEVER;
      }
      keys.push({ id, key });
    }
    if (keys.length === 0) context.addIssue({ code: 'custom', message: 'no key' });
    return keys;
  }),
  accepts: '`id:base64` of 32 bytes, comma-separated, each id once',
};

export interface WebhookToken {
  token: Secret;
  /** The user whose subscription carries it; null when the setting names none. */
  user: string | null;
}

/** A token, and after a space the user whose subscription carries it. The provider's tokens hold no space. */
export const webhookToken: Kind<WebhookToken> = {
  schema: z
    .string()
    .trim()
    .regex(/^\S{1,256}(\s+\S{1,256})?$/)
    .transform((line) => {
      const [token = '', user] = line.split(/\s+/);
      return { token: new Secret(token), user: user ?? null };
    }),
  accepts: 'a token of at most 256 characters, optionally followed by a space and its user',
};

/** The bytes of a Standard Webhooks secret: base64, with or without `whsec_`. */
export const webhookHmacSecret: Kind<Secret> = {
  schema: z
    .string()
    .trim()
    .refine((value) => base64.test(value.replace(/^whsec_/, '')) && value.replace(/^whsec_/, '') !== '')
    .transform((value) => new Secret(value)),
  accepts: 'base64, optionally after `whsec_`',
};

/** What stands behind `Bearer` in a header: a space would end it, and nothing else could be sent there. */
export const bearerToken: Kind<Secret> = {
  schema: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/)
    .transform((value) => new Secret(value)),
  accepts: 'at most 4096 printable characters without spaces',
};

/** A header value as the provider sends it, compared byte for byte. */
export const authorizationValue: Kind<Secret> = {
  schema: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/)
    .transform((value) => new Secret(value)),
  accepts: 'the whole header value of at most 4096 printable characters',
};

/**
 * Headers as the OpenTelemetry SDK reads them. What cannot be one it leaves out without a word, or it is refused when it
 * is sent, in words that repeat it, value and all.
 */
export const headers: Kind<Secret> = {
  schema: z
    .string()
    .refine((value) => value.split(',').every(isHeader))
    .transform((value) => new Secret(value)),
  accepts: 'comma-separated, each `name=value`, where the value is percent-encoded',
};

function isHeader(pair: string): boolean {
  const [, value = ''] = /^\s*[A-Za-z0-9_.-]+\s*=(.+)$/.exec(pair) ?? [];
  try {
    return /^[\x20-\x7e]*[\x21-\x7e]$/.test(decodeURIComponent(value.trim()));
  } catch {
    return false;
  }
}

const secretText = z
  .string()
  .min(1)
  .max(16384)
  .transform((value) => new Secret(value));

const providerToken = z
  .strictObject({
    connection: z.string().regex(/^[A-Za-z0-9._@-]{1,100}$/),
    user: z.string().min(1).max(200),
    auth: z.enum(['oauth1', 'oauth2']),
    token: secretText,
    secret: secretText.nullish(),
    refresh: secretText.nullish(),
    expiresAt: z.iso.datetime({ offset: true }).nullish(),
  })
  .refine((entry) => entry.auth !== 'oauth1' || entry.secret != null, { path: ['secret'] });

/** JSON; each connection once. A fault names its place in the array. */
export const providerTokens: Kind<NamedToken[]> = {
  schema: z.string().transform((value, context): NamedToken[] => {
    const parsed = z.array(providerToken).min(1).max(10000).safeParse(jsonOf(value));
    if (!parsed.success) {
      const place = parsed.error.issues[0]?.path ?? [];
      context.addIssue({ code: 'custom', message: 'see path', path: place });
      return z.NEVER;
    }
    const seen = new Set<string>();
    for (const [position, { connection }] of parsed.data.entries()) {
      if (seen.has(connection)) context.addIssue({ code: 'custom', message: 'twice', path: [position] });
      seen.add(connection);
    }
    return parsed.data.map((entry) => ({
      ...entry,
      secret: entry.secret ?? null,
      refresh: entry.refresh ?? null,
      expiresAt: entry.expiresAt ?? null,
    }));
  }),
  accepts:
    'a JSON array of {connection, user, auth: oauth1 or oauth2, token, secret (oauth1), refresh?, expiresAt?}',
};

function jsonOf(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    // The parser's message would repeat the text.
    return undefined;
  }
}
