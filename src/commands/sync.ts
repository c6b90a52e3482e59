/**
 * `tramline sync`: reads the provider's listings and publishes what no notification announced, through the running
 * service or on the store itself. On a terminal it shows how far it has come; an interrupt leaves the rest to the next.
 */

import type { Command } from 'commander';
import type { Api } from '../model/api';
import { Problem } from '../model/problem';
import { shellWord } from '../model/shell-word';
import type { SyncView, SyncWanted } from '../model/sync';
import { mayComeBack } from './client';
import { type Action, type CommandContext, withEquipment } from './context';
import { exitCodes } from './exit-code';

interface Options {
  organization?: string;
  full?: boolean;
}

const lookMs = 250;
/** Looks in a row that a service does not answer, each after twice as long. */
const awayMax = 6;
const barWidthMax = 24;
/** A shorter one shows nothing. */
const barWidthMin = 8;
/** Before so many are read, nothing is said about the time that is left. */
const knownMin = 3;

export function registerSync(program: Command, action: Action<Options>): void {
  program
    .command('sync')
    .description('read the listings and publish what no notification announced')
    .option('--organization <id>', 'this organization only')
    .option('--full', 'without change tokens, and judging every document anew')
    .action(action((context, _argument, options) => run(context, options)));
}

async function run(context: CommandContext, { organization, full }: Options): Promise<number> {
  const wanted = { organizationId: organization ?? null, full: full === true };
  const interrupted = context.interrupted();
  const view = await withEquipment(context, (api, via) =>
    follow(context, api, wanted, interrupted, via === 'store').catch((error: unknown) => {
      // What is said of it stands in a line of its own.
      context.output.progress(null);
      throw error;
    }),
  );
  tell(context, view, interrupted.aborted);
  return exitCodeOf(view, interrupted);
}

/** A service that was started anew while it is followed goes on with what it left, and is followed on. */
async function follow(
  { output, clock }: CommandContext,
  api: Api,
  wanted: SyncWanted,
  interrupted: AbortSignal,
  alone: boolean,
): Promise<SyncView> {
  let begun = await api.startSync(wanted);
  let [view, told, away] = [begun, false, 0];
  while (view.state === 'running') {
    if (view.waitsUntil !== null && !told) {
      told = true;
      output.progress(null);
      output.warn(`the provider asks for a pause until ${view.waitsUntil}: the sync waits for its end`);
    }
    output.progress((columns) => progressOf(view, columns));
    // A service goes on without whoever watches; a sync of this process ends with it.
    if (interrupted.aborted) break;
    await clock.wait(lookMs * 2 ** away, interrupted);
    if (away > 0 && interrupted.aborted) break;
    try {
      if (away > 0) begun = await goneOnWith(api, view, wanted);
      // Of one that is begun as soon as this one has ended nothing is told here.
      view = await api.sync(begun.startedAt);
      away = 0;
    } catch (error) {
      away += 1;
      if (away === awayMax || !mayComeBack(error)) throw error;
    }
  }
  output.progress(null);
  if (interrupted.aborted && view.state === 'running')
    output.note(
      alone ? 'interrupted before its end; the next sync goes on from here' : 'the service goes on with it',
    );
  return view;
}

/** What a service that was away goes on with, or has ended by now; another run is begun only where it knows of neither. */
async function goneOnWith(api: Api, left: SyncView, wanted: SyncWanted): Promise<SyncView> {
  const view = await api.sync(null);
  return left.run !== null && view.run === left.run ? view : api.startSync(wanted);
}

/**
 * `[=====   ] 12 of 40 listings · 3204 resources · 812/s · about 9 s left`: in so many columns what is done, the total, the
 * rate and the time left come before the bar, and the bar before the rest. Where the total is not known yet it is said to
 * be at least what was met, the bar is that of the organizations, and nothing is said of the time that is left. The bar has
 * at most 24 columns.
 */
export function progressOf(view: SyncView, columns: number): string {
  const { organizations, listings, listed, tookMs } = view;
  const { done, known, total } = listings;
  const rate = `${tookMs === 0 ? 0 : Math.round((listed * 1000) / tookMs)}/s`;
  const left = leftOf(view);
  const most = total === null ? `at least ${known}` : total > known ? `about ${total}` : `${total}`;
  const whole = total ?? organizations.known;
  const share = (total === null ? organizations.done : done) / Math.max(whole, 1);
  const parts = [`${done} of ${most} listings`];
  if (total === null) parts.push(`${organizations.done} of ${organizations.known} organizations`);
  const texts = [
    [...parts, `${listed} resources`, rate, ...left],
    [...parts, rate, ...left],
  ].map((some) => some.join(' · '));
  const shortMost = total === null ? `${known}+` : `${total}`;
  const shortest = [`${done}/${shortMost}`, rate, ...left].join(' · ').replace('about ', '');
  const roomOf = (text: string) => columns - text.length - '[] '.length;
  const text = texts.find((each) => roomOf(each) >= barWidthMin);
  if (text === undefined) return texts.find(({ length }) => length <= columns) ?? shortest;
  const barWidth = Math.min(roomOf(text), barWidthMax);
  const filled = Math.round(Math.min(share, 1) * barWidth);
  return `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${text}`;
}

/** By what this life of the process has read; nothing while that says too little, or the provider asked for a pause. */
function leftOf({ listings: { done, read, total }, tookMs, waitsUntil }: SyncView): string[] {
  if (waitsUntil !== null) return ['paused'];
  if (total === null || read < knownMin) return [];
  return [`about ${Math.ceil((tookMs * Math.max(total - done, 0)) / read / 1000)} s left`];
}

function tell({ output }: CommandContext, view: SyncView, interrupted: boolean): void {
  const { listed, changed, unchanged, published, left, pages, calls, tookMs } = view;
  // Of a run that another process is at nothing was stopped, and these counts are not its.
  const isBegun = view.state !== 'stopped' || view.run !== null;
  if (output.json) {
    const { state, run, resumed, skipped, partial, trouble, reason } = view;
    output.value({
      listed,
      changed,
      unchanged,
      published,
      left,
      pages,
      calls,
      tookMs,
      state,
      run,
      resumed,
      skipped,
      partial,
      trouble,
      reason,
    });
  } else if (isBegun) {
    output.prose(
      '',
      `${listed} listed${interrupted && view.state === 'running' ? ' so far' : ''}: ${changed} changed, ` +
        `${unchanged} unchanged, ${published} published, ${left} left to a read; ` +
        `${pages} pages, ${calls} calls, ${(tookMs / 1000).toFixed(1)} s`,
    );
  }
  for (const { id, access } of view.skipped) {
    if (access === 'forgotten')
      output.note(`organization ${id} was forgotten: skipped; a probe asks whether it has connected again`);
    else
      output.warn(
        `organization ${id} is ${access}: skipped; what it waits for: tramline organizations get ${shellWord(id)}`,
      );
  }
  for (const { scope, detail } of view.partial) output.warn(`${scope} was not read to its end: ${detail}`);
  if (!isBegun) output.warn(`not begun: ${view.reason}`);
  else if (view.state === 'stopped') output.warn(`stopped: ${view.reason}; the next sync goes on from here`);
  const step = view.state === 'ended' && view.partial.length > 0 ? stepAfter[view.trouble] : null;
  if (step !== null) output.next(step);
}

/** What is left has one reason for most of it: one step for all. */
const stepAfter: Record<SyncView['trouble'], string | null> = {
  none: null,
  later: 'The next one reads what is left: tramline sync',
  failed: 'What is known to stand in the way: tramline check',
  'customer-must-act': 'Who must act, and where: tramline organizations list',
};

const codeOfTrouble: Record<SyncView['trouble'], number> = {
  none: exitCodes.done,
  later: exitCodes.failed,
  failed: exitCodes.failed,
  'customer-must-act': exitCodes.customerMustAct,
};

function exitCodeOf(view: SyncView, interrupted: AbortSignal): number {
  if (interrupted.aborted) return exitCodes.interrupted;
  if (view.state !== 'ended') return exitCodes.failed;
  // Where not everything could be asked, that nobody sees it is not known.
  if (view.reason !== null && view.trouble === 'none') throw new Problem('command.not-found', view.reason);
  return codeOfTrouble[view.trouble];
}
