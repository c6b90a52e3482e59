// Faults on request: which request they meet, how often, and what they do. A fault with `lagMs` meets a change instead:
// the change is notified at once while clients go on seeing the old content for that time.
// Promises that what a test sends is checked, so that a misspelt fault is an error and not a fault that never strikes.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isObject, type Json } from '../json';
import { ISSUER_CALLS, ISSUER_PATH } from '../provider/addresses';
import { NEXT_PAGE_WORDS } from '../provider/next-page';

export interface Fault {
  method: string | undefined;
  path: string | undefined;
  /** How often it still strikes; undefined = every time. */
  times: number | undefined;
  status: number | undefined;
  /** Null takes a header away. */
  headers: Record<string, string | null> | undefined;
  /** Text as it is, base64 decoded, anything else as JSON. */
  body: Json | Buffer | undefined;
  delayMs: number | undefined;
  /** The request is kept until the faults are set anew. */
  held: boolean;
  lagMs: number | undefined;
  truncateAt: number | undefined;
  /** One byte each so many milliseconds. */
  drip: number | undefined;
  close: boolean;
  /** What happens to the link to the next page: a word of `NEXT_PAGE_WORDS` or an address. */
  nextPage: string | undefined;
}

const KEYS = new Set([
  'match',
  'times',
  'status',
  'headers',
  'body',
  'bodyBase64',
  'delayMs',
  'held',
  'lagMs',
  'truncateAt',
  'drip',
  'close',
  'nextPage',
]);
const DRIP_MS = 100;
const MS_MAX = 2_147_483_647;
const REGULAR_EXPRESSION = /[\^$*()[\]|\\]/;
/** Where no fault strikes: the controls, and the pages that people are shown. */
const PAGES = ['/_simulator', '/consent', '/portal'];
const ISSUERS = Object.values(ISSUER_CALLS);

export class Faults {
  #list: Fault[] = [];
  #held: (() => void)[] = [];

  get list(): readonly Fault[] {
    return this.#list;
  }

  set(faults: Fault[]): void {
    this.#list = faults;
    for (const go of this.#held.splice(0)) go();
  }

  /** Goes on with a request when the faults are set anew; no sooner. */
  hold(go: () => void): void {
    this.#held.push(go);
  }

  /** The first fault for a request, once counted. `paths`: the address as sent and the path below the API's base. */
  take(method: string, paths: readonly string[]): Fault | undefined {
    if (this.#list.length === 0) return undefined;
    return this.#strike((fault) => fault.lagMs === undefined && matches(fault, method, paths));
  }

  /** The same for a call of the authorization server, which is another site: a fault meets it only by its path. */
  takeNamed(method: string, path: string): Fault | undefined {
    return this.#strike(
      (fault) => fault.lagMs === undefined && fault.path !== undefined && matches(fault, method, [path]),
    );
  }

  /** The lag of a change to the resource at these paths, once counted; 0 without one. */
  takeLag(paths: readonly string[]): number {
    return this.#strike((fault) => fault.lagMs !== undefined && matches(fault, 'GET', paths))?.lagMs ?? 0;
  }

  #strike(meets: (fault: Fault) => boolean): Fault | undefined {
    const fault = this.#list.find((candidate) => candidate.times !== 0 && meets(candidate));
    if (fault?.times !== undefined) fault.times -= 1;
    return fault;
  }
}

/** A path that holds one of `^ $ * ( ) [ ] | \` is a regular expression, any other the beginning of the path. */
function matches(fault: Fault, method: string, paths: readonly string[]): boolean {
  if (fault.method !== undefined && fault.method !== method) return false;
  const { path } = fault;
  if (path === undefined) return true;
  if (!REGULAR_EXPRESSION.test(path)) return paths.some((candidate) => candidate.startsWith(path));
  const expression = new RegExp(path);
  return paths.some((candidate) => expression.test(candidate));
}

/** The faults of a control's body. Throws a TypeError that names what is wrong and where. */
export function readFaults(body: unknown): Fault[] {
  if (!Array.isArray(body)) throw new TypeError('faults must be an array');
  return body.map((entry, at) => readFault(entry, `faults[${at}]`));
}

function readFault(entry: unknown, where: string): Fault {
  if (!isObject(entry)) throw new TypeError(`${where} must be an object`);
  for (const key of Object.keys(entry))
    if (!KEYS.has(key)) throw new TypeError(`${where}.${key} is not known`);
  const match = entry.match ?? {};
  if (!isObject(match)) throw new TypeError(`${where}.match must be an object`);
  for (const key of Object.keys(match)) {
    if (key !== 'method' && key !== 'path') throw new TypeError(`${where}.match.${key} is not known`);
  }
  const number = (name: string): number | undefined => readNumber(entry[name], `${where}.${name}`);
  const ms = (name: string): number | undefined => readMs(entry[name], `${where}.${name}`);
  const bodyBase64 = text(entry.bodyBase64, `${where}.bodyBase64`);
  const fault = {
    method: text(match.method, `${where}.match.method`)?.toUpperCase(),
    path: readPath(match.path, `${where}.match.path`),
    times: number('times'),
    status: readStatus(number('status'), `${where}.status`),
    headers: readHeaders(entry.headers, `${where}.headers`),
    body: bodyBase64 === undefined ? entry.body : readBytes(bodyBase64, `${where}.bodyBase64`),
    delayMs: ms('delayMs'),
    held: readFlag(entry.held, `${where}.held`),
    lagMs: ms('lagMs'),
    truncateAt: number('truncateAt'),
    drip: entry.drip === true ? DRIP_MS : entry.drip === false ? undefined : ms('drip'),
    close: readFlag(entry.close, `${where}.close`),
    nextPage: readNextPage(entry.nextPage, `${where}.nextPage`),
  };
  checkStrikes(fault, where);
  return fault;
}

/** One that can be met. What a regular expression meets is not foretold. */
function readPath(value: Json | undefined, where: string): string | undefined {
  const path = text(value, where);
  if (path === undefined) return undefined;
  if (REGULAR_EXPRESSION.test(path)) {
    new RegExp(path);
    return path;
  }
  if (!path.startsWith('/')) throw new TypeError(`${where} must begin with / or be a regular expression`);
  if (PAGES.some((page) => below(path, page)))
    throw new TypeError(`${where} leads to a page or a control: no fault strikes there`);
  if (below(path, ISSUER_PATH) && !isIssuers(path))
    throw new TypeError(`${where} is none of the authorization server’s: ${ISSUERS.join(', ')}`);
  return path;
}

/** Where it strikes, it must be able to do what it says. */
function checkStrikes({ method, path, times: _times, lagMs, ...does }: Fault, where: string): void {
  const atIssuer = path !== undefined && path !== '/' && isIssuers(path);
  if (atIssuer && (lagMs !== undefined || does.nextPage !== undefined))
    throw new TypeError(`${where}: the authorization server has neither lagMs nor nextPage`);
  if (lagMs === undefined) return;
  const beside = Object.entries(does).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (beside !== undefined || (method ?? 'GET') !== 'GET')
    throw new TypeError(
      `${where}.lagMs meets a change of a resource, not a request: ${beside ?? method} cannot strike beside it`,
    );
}

/** True for the beginning of an address that programs call there. */
function isIssuers(path: string): boolean {
  return ISSUERS.some((address) => address.startsWith(path) || path.startsWith(`${address}?`));
}

function below(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`) || path.startsWith(`${base}?`);
}

function readNextPage(value: Json | undefined, where: string): string | undefined {
  const given = text(value, where);
  if (given === undefined || NEXT_PAGE_WORDS.includes(given as 'old') || URL.canParse(given)) return given;
  throw new TypeError(`${where} must be an address or one of ${NEXT_PAGE_WORDS.join(', ')}`);
}

function text(value: Json | undefined, where: string): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined;
  throw new TypeError(`${where} must be a string`);
}

function readNumber(value: Json | undefined, where: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new TypeError(`${where} must be a whole number`);
}

/** Of a longer timer Node makes none. */
function readMs(value: Json | undefined, where: string): number | undefined {
  const ms = readNumber(value, where);
  if (ms === undefined || ms <= MS_MAX) return ms;
  throw new TypeError(`${where} must be at most ${MS_MAX}`);
}

function readFlag(value: Json | undefined, where: string): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? false;
  throw new TypeError(`${where} must be true or false`);
}

function readBytes(text: string, where: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')) return bytes;
  throw new TypeError(`${where} must be base64`);
}

/** One that ends an exchange: another cannot be sent, or leaves the client waiting. */
function readStatus(status: number | undefined, where: string): number | undefined {
  if (status === undefined || (status >= 200 && status <= 599)) return status;
  throw new TypeError(`${where} must be a status from 200 to 599`);
}

function readHeaders(value: Json | undefined, where: string): Record<string, string | null> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new TypeError(`${where} must be an object`);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, readHeader(name, inner, where)]),
  );
}

/** One that cannot be written would end the answer, if not the process. */
function readHeader(name: string, value: Json, where: string): string | null {
  const text = value === null ? null : String(value);
  try {
    validateHeaderName(name);
    validateHeaderValue(name, text ?? '');
  } catch {
    throw new TypeError(`${where}: ${JSON.stringify(name)} cannot be written as a header`);
  }
  return text;
}
