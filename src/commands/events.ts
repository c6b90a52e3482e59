/**
 * `tramline events`: what was published, one CloudEvent a line, as it was or as it goes on, also after the service was
 * away. Memory holds one page.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { Api, EventFilter, StructuredEvent } from '../model/api';
import { isProblem } from '../model/problem';
import { NobodyListens } from './client';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { shortTime, widthMax } from './output';

interface Options {
  follow?: boolean;
  after?: number;
  type?: string;
  organization?: string;
}

/** Records have up to a megabyte: a page of this many fits into an answer. */
const pageRows = 200;
const followPauseMs = 500;
/** A service that is away is asked ever less often, and never less often than this. */
const awayPauseMsMax = 10_000;

export function registerEvents(program: Command, action: Action<Options>): void {
  program
    .command('events')
    .description('published events, in order')
    .option('--follow', 'go on with those to come, until interrupted')
    .option('--after <position>', 'only those after this position', position)
    .option('--type <type>', 'only those of this CloudEvents type')
    .option('--organization <id>', 'only those of this organization')
    .action(action((context, _argument, options) => withApi(context, (api) => run(context, api, options))));
}

async function run(context: CommandContext, api: Api, options: Options): Promise<number> {
  const { output, clock } = context;
  const signal = options.follow === true ? context.interrupted() : null;
  const filter: EventFilter = {
    limit: pageRows,
    after: options.after ?? null,
    type: options.type ?? null,
    organizationId: options.organization ?? null,
  };
  const ask = signal === null ? api.events : patiently(context, api, signal);
  for (;;) {
    const page = await ask(filter);
    for (const event of page) print(output, event);
    filter.after = page.at(-1)?.position ?? filter.after;
    if (signal?.aborted) return exitCodes.interrupted;
    // A page of large events is shorter than asked for: only one of none is the end.
    if (page.length > 0) continue;
    if (signal === null) return exitCodes.done;
    await clock.wait(followPauseMs, signal);
    if (signal.aborted) return exitCodes.interrupted;
  }
}

/**
 * Asks again, ever less often, where a service that has answered before does not answer: it may be starting anew, and the
 * position is kept here. An interrupt ends it with an empty page. Throws what else the API throws.
 */
function patiently({ output, clock }: CommandContext, api: Api, signal: AbortSignal): Api['events'] {
  let heard = false;
  return async (filter) => {
    for (let tries = 0; ; tries += 1) {
      try {
        const page = await api.events(filter);
        if (tries > 0) output.note('it answers again');
        heard = true;
        return page;
      } catch (error) {
        if (!heard || !mayComeBack(error)) throw error;
        if (tries === 0)
          output.warn(`${error.message}; going on after position ${filter.after ?? 0} when it answers`);
        await clock.wait(Math.min(awayPauseMsMax, followPauseMs * 2 ** tries), signal);
        if (signal.aborted) return [];
      }
    }
  };
}

function mayComeBack(error: unknown): error is Error {
  return error instanceof NobodyListens || isProblem(error, 'store.unavailable');
}

function print(output: CommandContext['output'], event: StructuredEvent): void {
  if (output.json) {
    output.item(event);
    return;
  }
  if (event.damaged !== undefined) {
    output.line(`${String(event.position).padStart(8)}  ${event.subject}: ${event.damaged}`);
    return;
  }
  const change = event.type.replace(/^io\.tramline\.|\.v1$/g, '');
  const head = `${String(event.position).padStart(8)}  ${shortTime(event.time)}  ${change.padEnd(23)}  `;
  if (head.length + event.subject.length <= widthMax) output.line(head + event.subject);
  else {
    output.line(head.trimEnd());
    output.line(' '.repeat(10) + event.subject);
  }
}

function position(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number is needed.');
  return Number(text);
}
