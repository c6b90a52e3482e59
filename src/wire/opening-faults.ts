/**
 * What is said of an address, a store or a stored token that cannot be had, as a line for whoever starts the process: it
 * begins with the setting to change. Pure; what no setting is to blame for passes unchanged.
 */
import type { StoreAddress } from '../config/addresses';
import { isProblem, Problem } from '../model/problem';

/** Where a listener was to be, and what the two settings are called. */
export interface ListenPlace {
  portName: 'PORT' | 'OPERATIONS_PORT';
  port: number;
  hostName: 'HOST' | 'OPERATIONS_HOST';
  host: string;
}

/** The system has nothing left to give: that is no setting's fault. */
const exhaustion = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** `settings.invalid` naming the port that is taken or not ours to have, else the host that is not of this machine. */
export function listenFault(error: unknown, { portName, port, hostName, host }: ListenPlace): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined || exhaustion.has(code)) return error;
  const line =
    code === 'EADDRINUSE'
      ? `${portName} must be a free port: ${port} of ${host} is in use`
      : code === 'EACCES'
        ? `${portName} must be a port that this process may listen at: ${port} of ${host} is not (EACCES)`
        : `${hostName} must be an address of this machine: ${host} cannot be listened at (${code})`;
  return new Problem('settings.invalid', line, error);
}

/** What names a store: the setting, or the option of a move. */
export type StoreName = 'DATABASE_URL' | '--from' | '--to';

/** The same code as before, with what names the store. A store that was moved or is newer says itself what to do. */
export function storeFault(error: unknown, address: StoreAddress, name: StoreName = 'DATABASE_URL'): unknown {
  if (isProblem(error, 'settings.invalid'))
    return new Problem(error.code, `${name} must name a store that can be used: ${error.message}`, error);
  if (isProblem(error, 'store.locked'))
    return new Problem(
      error.code,
      `${name} must name a store that no other process serves: ${error.message}${name === 'DATABASE_URL' ? askInstead : ''}`,
      error,
    );
  if (isProblem(error, 'store.older')) {
    const step = '`tramline migrate` brings it to this one, as `tramline serve` does';
    return new Problem(error.code, `the store of ${name} is not of this version: ${error.message}; ${step}`);
  }
  // Read before anybody is asked: a certificate or key that the address names.
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (address.kind === 'postgres' && !isProblem(error) && (syscall === 'open' || syscall === 'read'))
    return new Problem('settings.invalid', `${name} must name files that can be read: ${message}`, error);
  return storeAway(error, address, name);
}

const askInstead = '; TRAMLINE_URL is where commands ask that process';

/**
 * What a server says that is there: it has no connection left, or starts or ends; it has run out of something else, or is a standby.
 * What it shows, by the codes of OpenSSL and Node. Whatever else has an SQLSTATE came from a server, too.
 */
const refusals: [RegExp, string][] = [
  [/^(53300|57P0\d)$/, 'refuses connections now'],
  [/^53\d{3}$/, 'has nothing left to work with now'],
  [/^25006$/, 'can only be read now'],
  [
    /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_)/,
    'shows a certificate that is not trusted here',
  ],
  [/^(?=.*\d)[0-9A-Z]{5}$/, 'cannot be used now'],
];

/** The driver's own words, which have no code, for a server that answered and speaks in the clear alone. */
const noTls = 'The server does not support SSL connections';

/** Names what names it, and the server's host and port, of a store that cannot be had now; all else passes unchanged. */
function storeAway(error: unknown, address: StoreAddress, name: StoreName = 'DATABASE_URL'): unknown {
  if (!isProblem(error, 'store.unavailable')) return error;
  const host = address.kind === 'sqlite' ? '' : new URL(address.url.open()).host;
  // A name with several addresses, none of which answers, is an error without a message.
  const { code = '' } = (error.cause ?? {}) as NodeJS.ErrnoException;
  const said = error.message || code || 'no answer';
  // A file is made where there is none: what keeps it from being used is its disk or the system.
  const usual = address.kind === 'sqlite' || said === noTls ? 'cannot be used now' : 'is not there';
  const what = refusals.find(([codes]) => codes.test(code))?.[1] ?? usual;
  return new Problem(error.code, `the store of ${name}${host && ` at ${host}`} ${what}: ${said}`, error);
}

/** What ends a start beside that: a stored token that no key opens names the setting, and how to go on where a key is lost. */
export function startFault(error: unknown, address: StoreAddress): unknown {
  if (!isProblem(error, 'store.key-missing')) return storeAway(error, address);
  const lost = 'where a key is lost: `tramline connections revoke ID`, and a new consent';
  const line = `ENCRYPTION_KEYS must hold each key that a stored token was sealed with: ${error.message}; ${lost}`;
  return new Problem(error.code, line, error);
}
