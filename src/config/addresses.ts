/**
 * The kinds of setting that are addresses. Whatever the provider is reached by must be https, or name a loopback
 * address literally: a name such as `localhost` can be made to lead elsewhere. No address may carry credentials, for
 * addresses are shown. Nothing here connects to anything.
 */
import { z } from 'zod';
import { Secret } from '../tools/secret';
import type { Kind } from './accept';

/** True for 127.0.0.0/8 and ::1 as literals, in the form that `URL.hostname` gives them. */
function isLoopbackLiteral(hostname: string): boolean {
  return hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

function isPlain(url: URL): boolean {
  return url.username === '' && url.password === '' && url.hash === '' && url.hostname !== '';
}

function isWeb(url: URL): boolean {
  return (url.protocol === 'https:' || url.protocol === 'http:') && isPlain(url);
}

function isProviderAddress(url: URL): boolean {
  if (!isPlain(url)) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackLiteral(url.hostname));
}

const address = (accepted: (url: URL) => boolean) =>
  z
    .string()
    .trim()
    .max(2048)
    .refine((value) => URL.canParse(value) && accepted(new URL(value)));

export const webAddress: Kind<string> = {
  schema: address(isWeb),
  accepts: 'an http or https address without credentials and fragment',
};

/** An address that more is put behind: a query would take it. */
export const webFolder: Kind<string> = {
  schema: address((url) => isWeb(url) && url.search === ''),
  accepts: 'an http or https address without credentials, query and fragment',
};

/** An address that is itself a secret, such as an incoming webhook. */
export const secretAddress: Kind<Secret> = {
  schema: webAddress.schema.transform((value) => new Secret(value)),
  accepts: webAddress.accepts,
};

export const providerAddress: Kind<string> = {
  schema: address(isProviderAddress),
  accepts:
    'an https address without credentials and fragment (http only to a loopback literal such as 127.0.0.1)',
};

export const providerOrigin: Kind<string> = {
  schema: address((url) => isProviderAddress(url) && url.pathname === '/' && url.search === '').transform(
    (value) => new URL(value).origin,
  ),
  accepts: 'an https origin without a path (http only to a loopback literal such as 127.0.0.1)',
};

export type StoreAddress = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: Secret };

/** Nobody tries one host after the other: of several the client takes them all for one name, or the last. */
function isOneHost({ hostname, searchParams }: URL): boolean {
  const named = searchParams.getAll('host');
  return !/,|%2c/i.test(hostname) && named.length < 2 && !named.some((host) => host.includes(','));
}

/** The library takes what it does not know for `verify-full`. */
const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * `sqlite:path`, `sqlite:///absolute/path`, or `postgres://…`, whose credentials are kept as a secret. A URI of SQLite's
 * own is refused: its parameters can take away the disk and the lock.
 */
export const storeAddress: Kind<StoreAddress> = {
  schema: z
    .string()
    .trim()
    .transform((value, context): StoreAddress => {
      const sqlite = /^sqlite:(?:\/\/(?=\/))?(?!\/\/|:|[Ff][Ii][Ll][Ee]:)(.+)$/.exec(value);
      if (sqlite?.[1] !== undefined) return { kind: 'sqlite', path: sqlite[1] };
      // With an `@` behind the host it is a password that is not encoded, and what stands behind its slash would be shown.
      if (
        /^postgres(ql)?:\/\//.test(value) &&
        URL.canParse(value) &&
        !new URL(value).pathname.includes('@') &&
        isOneHost(new URL(value)) &&
        !new URL(value).searchParams.has('target_session_attrs') &&
        new URL(value).searchParams.getAll('sslmode').every((mode) => sslModes.includes(mode))
      ) {
        return { kind: 'postgres', url: new Secret(value) };
      }
      context.addIssue({ code: 'custom', message: 'neither form' });
      return z.NEVER;
    }),
  accepts:
    '`sqlite:` and a path (no `file:` URI), or a `postgres://` address of one host, whose parts are percent-encoded (no `target_session_attrs`; `sslmode`: `disable`, `no-verify`, or `verify-full`, as which those of libpq are taken)',
  show: (value) => {
    if (value.kind === 'sqlite') return `sqlite:${value.path}`;
    const { host, pathname } = new URL(value.url.open());
    return `postgres://${host}${pathname}`;
  },
};
