/**
 * `tramline replay`: sends published events again, or has their resources read again, through the running service or on
 * the store itself. `--dry-run` only counts. An interrupt leaves a service at it; the same command, soon
 * enough, goes on with history and reads that were stopped.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Api } from '../model/api';
import { counted } from '../model/counted';
import { isProblem, Problem } from '../model/problem';
import { type ReplayRefusal, type ReplayView, type ReplayWanted, replayedEventsMax } from '../model/replay';
import type { EventKind } from '../model/resource';
import { asCopied } from './as-copied';
import { NobodyListens } from './client';
import { type Action, type CommandContext, type Via, withApi } from './context';
import { exitCodes } from './exit-code';

interface Options {
  event?: string[];
  organization?: string;
  kind?: EventKind;
  refetch?: boolean;
  toTopic?: string;
  dryRun?: boolean;
}

const lookMs = 250;

export function registerReplay(program: Command, action: Action<Options>): void {
  program
    .command('replay')
    .description('send published events again: the newest of each key, or history to another topic')
    .option('--event <id...>', 'these events', gatherIds)
    .option('--organization <id>', 'the events of this organization')
    .addOption(
      new Option('--kind <kind>', 'the events of this kind').choices([
        'equipment',
        'field-operation',
        'organization-access',
      ]),
    )
    .option('--refetch', 'read their resources again instead')
    .option('--to-topic <topic>', 'all that were sent, in order, to this topic')
    .option('--dry-run', 'only count')
    .action(action((context, _argument, options) => run(context, options)));
}

function gatherIds(given: string, before: string[] | undefined): string[] {
  const id = asCopied(given);
  if (!/^[0-9a-f]{32}$/.test(id))
    throw new InvalidArgumentError('An id of an event is 32 hexadecimal digits.');
  const ids = [...(before ?? []), id];
  if (ids.length > replayedEventsMax)
    throw new InvalidArgumentError(`At most ${replayedEventsMax} at a time.`);
  return ids;
}

async function run(context: CommandContext, options: Options): Promise<number> {
  const wanted = wantedOf(options);
  const interrupted = context.interrupted();
  let begun = false;
  const noteBegun = () => {
    begun = !wanted.dryRun;
  };
  let known = true;
  let ending: Api | null = null;
  const last = await withApi(context, async (api, via) => {
    const last = await follow(context, api, wanted, interrupted, noteBegun);
    if (last.state === 'running') {
      context.output.note(leftBy(via, wanted));
      if (via === 'store') ending = api;
    }
    // A name that was mistyped must not look like one of which nothing is kept.
    else if (last.selected === 0) known = await isKnown(api, wanted.organizationId);
    return last;
  }).catch((error: unknown) => {
    throw begun ? cutOff(error, wanted) : error;
  });
  const view = ending === null ? last : await ended(ending, last);
  tell(context, view, ending !== null);
  if (!known)
    throw new Problem('command.not-found', `nobody knows the organization ${wanted.organizationId}`);
  if (interrupted.aborted) return exitCodes.interrupted;
  if (view.state === 'ended' && wanted.events?.every((id) => view.unknown.includes(id)))
    throw new Problem('command.not-found', 'none of these events is kept');
  return view.state === 'ended' && view.refused.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** What its last step did is known once the store is closed. */
function ended(api: Api, last: ReplayView): Promise<ReplayView> {
  return api.replay(last.startedAt).catch(() => last);
}

/** What becomes of one that is interrupted: a service goes on with it, and what is only counted is not kept. */
function leftBy(via: Via, { how, dryRun }: ReplayWanted): string {
  if (dryRun) return 'interrupted before all was counted';
  return via === 'service' ? 'the service goes on with it' : `interrupted: ${nextOf(how)}`;
}

/** Also where that cannot be asked any more: the replay has ended, and is not to be begun anew. */
function isKnown(api: Api, organizationId: string | null): Promise<boolean> {
  if (organizationId === null) return Promise.resolve(true);
  return api.organization(organizationId).then(
    () => true,
    (error: unknown) => !isProblem(error, 'command.not-found'),
  );
}

function wantedOf({ event, organization, kind, refetch, toTopic, dryRun }: Options): ReplayWanted {
  const how = refetch === true ? 'reads' : toTopic === undefined ? 'newest' : 'history';
  return {
    events: event ?? null,
    organizationId: organization ?? null,
    kind: kind ?? null,
    how,
    toTopic: toTopic ?? null,
    dryRun: dryRun === true,
  };
}

async function follow(
  { output, clock }: CommandContext,
  api: Api,
  wanted: ReplayWanted,
  interrupted: AbortSignal,
  noteBegun: () => void,
): Promise<ReplayView> {
  let view = await api.startReplay(wanted);
  noteBegun();
  try {
    while (view.state === 'running' && !interrupted.aborted) {
      const { selected, replayed, tookMs } = view;
      const rate = tookMs === 0 ? 0 : Math.round((replayed * 1000) / tookMs);
      output.progress(`${selected} selected · ${replayed} replayed · ${rate}/s`);
      await clock.wait(lookMs, interrupted);
      // Of one that is begun as soon as this one has ended nothing is told here.
      const next = await api.replay(view.startedAt).catch((error: unknown) => {
        throw wanted.dryRun || !(error instanceof NobodyListens)
          ? error
          : goneWith(view, `${error.message} any more`);
      });
      if (next.startedAt !== view.startedAt)
        throw goneWith(view, 'another process answers now, which does not make this replay');
      view = next;
    }
  } finally {
    output.progress(null);
  }
  return view;
}

/** `left`: it was interrupted, and that has been said. */
function tell({ output }: CommandContext, view: ReplayView, left: boolean): void {
  const { selected, keys, replayed, callsLeft, how, toTopic, dryRun, tookMs } = view;
  const waits = waitsOf(view);
  const events = `${counted(selected, 'event')} selected`;
  const isCutShort = view.state === 'running' || (left && view.state === 'stopped');
  const soFar = isCutShort ? ' so far' : '';
  const brought = view.state === 'ended' ? doneOf(replayed, how) : countedOf(replayed, how);
  // Of history all of a key's records go; how many of them are its newest says nothing.
  const ofKeys = how === 'history' ? '' : `, ${counted(keys, 'key')}`;
  if (output.json) output.value(view);
  else if (dryRun) {
    const count = how === 'history' ? `to ${toTopic}` : counted(keys, 'key');
    const budget = callsLeft === null ? '' : `; ${callsLeft} calls left in the sandbox`;
    output.line(`${events}${soFar}: ${count}; ${callsOf(view)}${budget}${waits}`);
  } else {
    if (view.resumed)
      output.line(
        `goes on with the one that was left at ${view.leftAt}: ${doneOf(view.replayedBefore, how)} then`,
      );
    output.line(`${events}${ofKeys}${soFar}: ${brought}, ${(tookMs / 1000).toFixed(1)} s${waits}`);
  }
  if (view.unknown.length > 0) output.warn(`not among the events that are kept: ${view.unknown.join(', ')}`);
  if (view.earlierUnsent > 0)
    output.warn(`still to be sent: ${counted(view.earlierUnsent, 'record')} of an earlier replay`);
  for (const refusal of view.refused) output.warn(refusedText(refusal, view));
  if (view.state !== 'stopped' || left) return;
  output.warn(`stopped: ${view.reason}; ${nextOf(how)}`);
}

/** Sent alone, what a history lacks would stand behind newer ones of its keys, and compaction would keep it. */
function refusedText({ reason, records, events }: ReplayRefusal, { how, toTopic }: ReplayView): string {
  const more = records > events.length ? ` and ${records - events.length} more` : '';
  const named = events.length === 0 ? '' : ` (${events.join(', ')}${more})`;
  const refused = `${records} ${refusedAs(reason)}${named}`;
  return how === 'history'
    ? `${refused}; ${toTopic} has all others. To have all in order, create another topic whose max.message.bytes is that of the live ones, and replay the same to it`
    : `${refused}; they stand on their topics as they were sent before`;
}

/** What the store was found behind of is listed and published by the sync that follows. */
function refusedAs(reason: ReplayRefusal['reason']): string {
  return reason === 'store-behind'
    ? 'not sent: the store was found behind their topics, and a sync publishes what is newer'
    : `refused: ${reason}`;
}

/** What is gone is asked for twice, what has moved is looked for, and what fails is tried again: of that nothing is known yet. */
function callsOf({ calls }: ReplayView): string {
  return calls === 0
    ? 'no calls to the provider'
    : `about ${calls} calls to the provider, any settling reads among them, more for what is gone, has moved or fails`;
}

/** Of resources to be read again, what is not read now; of events, what waits to be sent and so is not sent again. */
function waitsOf({ parked, forgotten, waiting, how }: ReplayView): string {
  const goesOut =
    how === 'history'
      ? 'left out: they, or one of their key before them, are not sent yet'
      : 'wait to be sent, and go out anyway';
  return [
    parked === 0 ? '' : `; ${parked} parked until a customer acts (\`tramline parked\`)`,
    forgotten === 0 ? '' : `; ${forgotten} of forgotten organizations left out`,
    waiting === 0 ? '' : `; ${waiting} ${goesOut}`,
  ].join('');
}

function nextOf(how: ReplayWanted['how']): string {
  return `the same command ${how === 'newest' ? 'begins anew' : 'goes on from there, for ten minutes and until another replay begins'}`;
}

/** What it had done stands: begun anew on the store itself, it would be counted as nothing. */
function goneWith({ how, replayed, dryRun }: ReplayView, why: string): Problem {
  if (dryRun) return new Problem('store.unavailable', why);
  const goesOut = how === 'newest' ? '; those that have not gone out go as soon as a worker runs' : '';
  return new Problem('store.unavailable', `${why}: it had counted ${countedOf(replayed, how)}${goesOut}`);
}

function doneOf(count: number, how: ReplayWanted['how']): string {
  return how === 'reads'
    ? `${counted(count, 'resource')} to be read again`
    : `${counted(count, 'record')} sent again`;
}

/** Of one that has not come to its end: what is marked goes out, and nobody knows yet how much of it has. */
function countedOf(count: number, how: ReplayWanted['how']): string {
  return how === 'newest' ? `${counted(count, 'record')} on their way` : doneOf(count, how);
}

/** Whoever was at it does not answer any more, and may have ended in the middle. */
function cutOff(error: unknown, { how }: ReplayWanted): unknown {
  if (!isProblem(error, 'store.unavailable')) return error;
  return new Problem(error.code, `${error.message}; if the replay ended with it, ${nextOf(how)}`, error);
}
