/**
 * Query parameters to typed values. Each route names the ones it takes; another name, a repeated one or a value that
 * does not fit is refused by name. Nothing is guessed.
 */
import { z } from 'zod';
import { decidedMax, pageRowsMax } from '../model/api';
import { keptBytesMax } from '../model/notification';
import { Problem } from '../model/problem';
import { replayedEventsMax } from '../model/replay';
import type { Asked } from './route';

const whole = (max: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(z.number().int().max(max));

/** Text without control characters. */
export const oneLine = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u);

/** Every parameter that any route takes, with what is accepted. */
export const parameters = {
  limit: {
    schema: whole(pageRowsMax).pipe(z.number().min(1)),
    accepts: `a whole number from 1 to ${pageRowsMax}`,
  },
  position: { schema: whole(Number.MAX_SAFE_INTEGER), accepts: 'a whole number' },
  text: { schema: oneLine(200), accepts: 'one line of at most 200 characters' },
  /** Also an address that is too long to be one of the provider's: what named it is kept. */
  reference: {
    schema: oneLine(keptBytesMax),
    accepts: `one line of at most ${keptBytesMax} characters`,
  },
  texts: {
    schema: z
      .string()
      .max(20_000)
      .transform((text) => text.split(','))
      .pipe(z.array(oneLine(256)).max(500)),
    accepts: 'values separated by commas, at most 500',
  },
  entries: {
    schema: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.string().regex(/^q\d{1,15}$/)).max(decidedMax)),
    accepts: `ids of entries (q12) separated by commas, at most ${decidedMax}`,
  },
  truth: {
    schema: z.enum(['true', 'false']).transform((text) => text === 'true'),
    accepts: 'true or false',
  },
  events: {
    schema: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.string().regex(/^[0-9a-f]{32}$/)).max(replayedEventsMax)),
    accepts: `ids of events separated by commas, at most ${replayedEventsMax}`,
  },
  kind: {
    schema: z.enum(['equipment', 'field-operation', 'organization-access']),
    accepts: 'equipment, field-operation or organization-access',
  },
  topic: {
    schema: z.string().regex(/^[a-zA-Z0-9._-]{1,249}$/),
    accepts: 'the name of a topic',
  },
  category: { schema: z.enum(['machine', 'implement']), accepts: 'machine or implement' },
  authMethod: { schema: z.enum(['oauth1', 'oauth2']), accepts: '`oauth1` or `oauth2`' },
  taskState: {
    schema: z.enum(['due', 'taken', 'postponed', 'settling', 'quarantined', 'done', 'parked']),
    accepts: 'a state: due, taken, postponed, settling, quarantined, done or parked',
  },
} as const;

type Kinds = typeof parameters;
type Names = Record<string, keyof Kinds>;
type Given<Wanted extends Names> = { [Name in keyof Wanted]: z.output<Kinds[Wanted[Name]]['schema']> | null };

/** The values by name, null where not given. Throws `command.usage`. `search` is the part of the address after `?`. */
export function readParameters<Wanted extends Names>(search: string, wanted: Wanted): Given<Wanted> {
  const values: Record<string, unknown> = Object.fromEntries(Object.keys(wanted).map((name) => [name, null]));
  const seen = new Set<string>();
  for (const [name, text] of new URLSearchParams(search)) {
    const kind = Object.hasOwn(wanted, name) ? wanted[name] : undefined;
    if (kind === undefined) throw new Problem('command.usage', `accepted parameters: ${listOf(wanted)}`);
    if (seen.has(name)) throw new Problem('command.usage', `${name} is given twice`);
    seen.add(name);
    const parsed = parameters[kind].schema.safeParse(text);
    if (!parsed.success) throw new Problem('command.usage', `${name} must be ${parameters[kind].accepts}`);
    values[name] = parsed.data;
  }
  return values as Given<Wanted>;
}

const idMax = 200;

/** The id in the path, of at most 200 characters, of a route without parameters. Throws `command.usage`, `command.not-found`. */
export function idOf({ id, search }: Asked): string {
  readParameters(search, {});
  if (id.length > idMax) throw new Problem('command.not-found', 'there is nothing with an id that long');
  return id;
}

/** Which rows of a list are asked for. Throws `command.usage`. */
export function pageOf({ search }: Asked): { limit: number; after: string | null } {
  const { limit, after } = readParameters(search, { limit: 'limit', after: 'text' });
  return { limit: limit ?? pageRowsMax, after };
}

function listOf(wanted: Names): string {
  return Object.keys(wanted).join(', ') || 'none';
}
