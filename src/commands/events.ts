/**
 * `tramline events`: what was published, one CloudEvent a line, as it was or as it goes on, also after the service was
 * away. Memory holds one page.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { Api, EventFilter, StructuredEvent } from '../model/api';
import { mayComeBack } from './client';
import { type Action, type CommandContext, serviceOf, withApi } from './context';
import { exitCodes } from './exit-code';
import { wholeNumber } from './option-values';
import { shortTime, widthMax } from './output';

interface Options {
  follow?: boolean;
  after?: number;
  type?: string;
  organization?: string;
}

/** What every type has around it. */
const typeAround = /^io\.tramline\.|\.v1$/g;
const eventTypes = [
  ...['equipment', 'field-operation'].flatMap((kind) =>
    ['created', 'updated', 'archived', 'restored', 'deleted'].map((change) => `${kind}.${change}`),
  ),
  ...['blocked', 'unblocked'].map((change) => `organization-access.${change}`),
];

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
    .option('--after <position>', 'only those after this position', wholeNumber)
    .option('--type <type>', 'only those of this CloudEvents type, whole or as listed here', eventType)
    .option('--organization <id>', 'only those of this organization')
    .action(action((context, _argument, options) => run(context, options)));
}

async function run(context: CommandContext, options: Options): Promise<number> {
  const filter: EventFilter = {
    limit: pageRows,
    after: options.after ?? null,
    type: options.type ?? null,
    organizationId: options.organization ?? null,
    kept: options.after === undefined,
  };
  if (options.follow === true) return follow(context, filter);
  return withApi(context, async ({ events }) => {
    const begunAfter = filter.after;
    await printKept(context, events, filter, null);
    if (filter.after === begunAfter) {
      const { after, type, organization } = options;
      const isChosen = [after, type, organization].some((choice) => choice !== undefined);
      context.output.note(isChosen ? 'There is no such event.' : 'No event is kept.');
    }
    return exitCodes.done;
  });
}

/**
 * An embedded store has one process at a time: it is read to its end and let go, so that a service can start, which is
 * then waited for and asked. It is not opened again: that moment could be the one in which a service starts.
 */
async function follow(context: CommandContext, filter: EventFilter): Promise<number> {
  const signal = context.interrupted();
  const awaited = await withApi(context, async (api, via, loaded) => {
    if (via === 'store' && loaded.settings.databaseUrl.kind === 'sqlite') {
      await printKept(context, api.events, filter, signal);
      return serviceOf(loaded);
    }
    await printComing(context, patiently(context, api, signal), filter, signal);
    return null;
  });
  if (awaited !== null) await printComing(context, patiently(context, awaited, signal, true), filter, signal);
  return exitCodes.interrupted;
}

async function printComing(
  context: CommandContext,
  ask: Api['events'],
  filter: EventFilter,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await printKept(context, ask, filter, signal);
    if (!signal.aborted) await context.clock.wait(followPauseMs, signal);
  }
}

/**
 * Moves the filter on behind what is printed. Who has come to the end expects from there on every event, but for who follows
 * some: while none of those came, the log may have gone on far beyond the last.
 */
async function printKept(
  { output }: CommandContext,
  ask: Api['events'],
  filter: EventFilter,
  signal: AbortSignal | null,
): Promise<void> {
  // A page of large events is shorter than asked for: only one of none is the end.
  for (let isEnd = false; !isEnd && signal?.aborted !== true; ) {
    const page = await ask(filter);
    for (const event of page) print(output, event);
    filter.after = page.at(-1)?.position ?? filter.after;
    isEnd = page.length === 0;
  }
  filter.kept = filter.type !== null || filter.organizationId !== null;
}

/**
 * Asks again, ever less often, where a service that has answered before, or is `awaited`, does not answer: it may be
 * starting, and the position is kept here. An interrupt ends it with an empty page. Throws what else the API throws.
 */
function patiently(
  { output, clock }: CommandContext,
  api: Api,
  signal: AbortSignal,
  awaited = false,
): Api['events'] {
  let heard = awaited;
  return async (filter) => {
    for (let tries = 0; ; tries += 1) {
      try {
        const page = await api.events(filter);
        if (tries > 0) output.note('it answers');
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

function print(output: CommandContext['output'], event: StructuredEvent): void {
  if (output.json) {
    output.item(event);
    return;
  }
  if (event.damaged !== undefined) {
    output.line(`${String(event.position).padStart(8)}  ${event.subject}: ${event.damaged}`);
    return;
  }
  const change = event.type.replace(typeAround, '');
  const head = `${String(event.position).padStart(8)}  ${shortTime(event.time)}  ${change.padEnd(23)}  `;
  if (head.length + event.subject.length <= widthMax) output.line(head + event.subject);
  else {
    output.line(head.trimEnd());
    output.line(' '.repeat(10) + event.subject);
  }
}

/** `equipment.created`, as it is listed, or the whole type. One that no event has would wait for it without a word. */
function eventType(text: string): string {
  const short = text.replace(typeAround, '');
  if (!eventTypes.includes(short))
    throw new InvalidArgumentError(`one of ${eventTypes.join(', ')} is needed.`);
  return `io.tramline.${short}.v1`;
}
