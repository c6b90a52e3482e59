/**
 * `tramline subscriptions` and `tramline delivery`: what the provider announces to us, and how. As the provider says it,
 * but for secrets: no token or Authorization value is printed, and none is taken as an argument.
 */

import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Api } from '../model/api';
import { Problem } from '../model/problem';
import { shellValue, shellWord } from '../model/shell-word';
import type {
  DeliveryView,
  DeliveryWanted,
  ForgottenSubscription,
  SubscriptionView,
} from '../model/subscription';
import { type Action, type CommandContext, withApiOrNewStore } from './context';
import { exitCodes } from './exit-code';
import { printListing } from './listing';
import { collect } from './option-values';
import type { Column } from './output';
import { textOf } from './show-document';

interface Wishes {
  eventType?: string;
  organization?: string[];
  filter?: { key: string; value: string }[];
  name?: string;
  user?: string;
}

interface Settings {
  status?: 'active' | 'paused';
  concurrency?: number;
  batchSize?: number;
  rotateAuthorization?: boolean;
  authorizationFile?: string;
}

const columns: Column<SubscriptionView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'EVENT TYPE', of: ({ eventTypeId }) => textOf(eventTypeId) },
  { title: 'STATUS', of: ({ status }) => textOf(status) },
  { title: 'HERE', of: ({ refusedHere }) => (refusedHere === true ? 'refused' : null) },
  { title: 'FILTERS', of: ({ filters }) => filtersOf(filters), gives: true },
];

export function registerSubscriptions(program: Command, action: Action<Wishes>): void {
  const subscriptions = program
    .command('subscriptions')
    .description('what the provider announces to this service');
  subscriptions
    .command('list', { isDefault: true })
    .description('all of them, ended ones too')
    .action(action((context) => list(context)));
  subscriptions
    .command('create')
    .description('be told of changes: deliveries go to PUBLIC_URL/webhooks')
    .requiredOption('--event-type <id>', 'what is announced, such as fieldOperation')
    .option('--organization <id>', 'of this organization; may be repeated', collect)
    .option('--filter <key=value>', 'a further filter; may be repeated', collectFilter)
    .option('--name <text>', 'how the provider shows it')
    .option('--user <name>', 'whose it is to be, when several users see the organizations')
    .action(action((context, _none, options) => create(context, options)));
  for (const [verb, description] of [
    ['renew', 'make an expired one active again'],
    ['end', 'end one for good, or a finding about one that is gone'],
  ] as const) {
    subscriptions
      .command(verb)
      .argument('<id>', 'the subscription')
      .description(description)
      .action(
        action((context, id) =>
          withApiOrNewStore(context, async (api) =>
            showEnd(context, await api.subscriptions[verb](id ?? '')),
          ),
        ),
      );
  }
}

export function registerDelivery(program: Command, action: Action<Settings>): void {
  const delivery = program.command('delivery').description('how the provider delivers to this service');
  delivery
    .command('get', { isDefault: true })
    .description('its settings')
    .action(
      action((context) =>
        withApiOrNewStore(context, async (api) => show(context, await api.subscriptions.delivery())),
      ),
    );
  delivery
    .command('set')
    .description('change them')
    .addOption(statusOption())
    .option('--concurrency <number>', 'deliveries at a time, 1 to 10', numberTo(10))
    .option('--batch-size <number>', 'notifications of one delivery at most, 1 to 256', numberTo(256))
    .option('--rotate-authorization', 'another Authorization value, which is made and not shown')
    .option('--authorization-file <path>', 'another Authorization value, from a file; - is standard input')
    .action(action((context, _none, options) => set(context, options)));
}

/** In any case of letters: it is shown as the provider writes it. */
function statusOption(): Option {
  const option = new Option('--status <status>', 'whether it delivers').choices(['active', 'paused']);
  const { parseArg: chosen } = option;
  return option.argParser((value, before) => chosen?.(value.toLowerCase(), before));
}

function list(context: CommandContext): Promise<number> {
  const { output } = context;
  return withApiOrNewStore(context, async ({ subscriptions }) => {
    let count = 0;
    let expired: string | null = null;
    let refused: string | null = null;
    async function* noticed() {
      for await (const line of subscriptions.list()) {
        count += 1;
        if ('item' in line && line.item.refusedHere === true) refused ??= line.item.id;
        else if ('item' in line && line.item.status === 'Expired') expired ??= line.item.id;
        yield line;
      }
    }
    const code = await printListing(output, noticed(), { columns, nothing: 'There is no subscription.' });
    if (count === 0 && !output.json)
      output.next('tramline subscriptions create --event-type fieldOperation --organization ID');
    if (expired !== null)
      output.next(`Make it active again: tramline subscriptions renew ${shellWord(expired)}`);
    if (refused !== null) {
      const why = 'No token of it is known here, so what it delivers is refused';
      output.next(`${why}: end it, and create another: tramline subscriptions end ${shellWord(refused)}`);
    }
    return code;
  });
}

function create(context: CommandContext, options: Wishes): Promise<number> {
  const filters = new Map<string, string[]>();
  const given = (options.organization ?? []).map((value) => ({ key: 'orgId', value }));
  for (const { key, value } of [...given, ...(options.filter ?? [])]) {
    filters.set(key, [...(filters.get(key) ?? []), value]);
  }
  return withApiOrNewStore(context, async (api) => {
    const wanted = {
      eventTypeId: options.eventType ?? '',
      filters: [...filters].map(([key, values]) => ({ key, values })),
      displayName: options.name ?? null,
      user: options.user ?? null,
    };
    show(context, await api.subscriptions.create(wanted));
    for (const id of new Set(filters.get('orgId'))) await tellBlocked(context, api, id);
    return exitCodes.done;
  });
}

/** The subscription is made, whatever is known of its organizations. */
async function tellBlocked({ output }: CommandContext, api: Api, id: string): Promise<void> {
  const found = await api.organization(id).catch(() => null);
  if (found === null || found.access === 'active') return;
  output.warn(
    `organization ${id} is ${found.access}: what changes there is read and published once it may be read; ` +
      `what it waits for: tramline organizations get ${shellWord(id)}`,
  );
}

/** Not done where nobody could ask the provider: its user has to consent again before that. */
function showEnd(context: CommandContext, ended: SubscriptionView | ForgottenSubscription): number {
  if (!isForgotten(ended)) return show(context, ended);
  const { output } = context;
  const { id, user } = ended;
  const left =
    'The provider could not be asked: unless it has ended there, ' +
    'it goes on until its user consents again and it is ended once more.';
  const connect = `tramline connect${user === null ? '' : ` --user ${shellValue(user)}`}`;
  const end = `tramline subscriptions end ${shellWord(id)}`;
  if (output.json) {
    output.value(ended);
    output.warn(`tramline: ${id} is forgotten here. ${left} Next: \`${connect}\`, then \`${end}\``);
  } else {
    output.prose('', `${id} is forgotten here, and looked after no more.`);
    output.prose('', left);
    output.next(`Let its user consent again: ${connect}`);
    output.next(`Then end it there: ${end}`);
  }
  return exitCodes.customerMustAct;
}

function isForgotten(ended: SubscriptionView | ForgottenSubscription): ended is ForgottenSubscription {
  return 'atProvider' in ended && ended.atProvider === false;
}

function set(context: CommandContext, options: Settings): Promise<number> {
  const { status, concurrency, batchSize, rotateAuthorization, authorizationFile } = options;
  if (rotateAuthorization === true && authorizationFile !== undefined) {
    throw new Problem('command.usage', 'one of --rotate-authorization and --authorization-file');
  }
  const wanted: DeliveryWanted = {
    ...(status !== undefined && { status: status === 'active' ? 'Active' : 'Paused' }),
    ...(concurrency !== undefined && { concurrentDeliveries: concurrency }),
    ...(batchSize !== undefined && { maxBatchSize: batchSize }),
    ...(rotateAuthorization === true && { authorization: { generate: true } }),
    ...(authorizationFile !== undefined && { authorization: { value: valueIn(authorizationFile) } }),
  };
  if (Object.keys(wanted).length === 0) {
    throw new Problem('command.usage', 'nothing is to be changed: name what');
  }
  return withApiOrNewStore(context, async ({ subscriptions }) => {
    const changed = await subscriptions.setDelivery(wanted);
    show(context, changed);
    if (wanted.authorization !== undefined && !context.output.json) {
      context.output.next('The former value is accepted until the provider uses the new one.');
    }
    return exitCodes.done;
  });
}

function valueIn(path: string): string {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8').trim();
  } catch (error) {
    const { code } = error as { code?: string };
    throw new Problem('command.usage', `${path} cannot be read: ${code ?? 'unknown'}`, error);
  }
  if (/^[\x20-\x7e]{8,4096}$/.test(text)) return text;
  throw new Problem('command.usage', 'the value must be one line of 8 to 4096 printable characters');
}

function show({ output }: CommandContext, document: SubscriptionView | DeliveryView): number {
  if (output.json) output.value(document);
  else {
    const facts = Object.entries(document).filter(([name]) => name !== 'links');
    const width = Math.max(...facts.map(([name]) => name.length));
    for (const [name, value] of facts) output.line(`${name.padEnd(width)}  ${shown(name, value)}`);
  }
  return exitCodes.done;
}

function shown(name: string, value: unknown): string {
  if (name === 'filters') return filtersOf(value) ?? '–';
  if (name === 'targetEndpoint') return textOf((value as { uri?: unknown } | null)?.uri) ?? '–';
  return value === null ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function filtersOf(filters: unknown): string | null {
  if (!Array.isArray(filters)) return null;
  const texts = filters.map((filter: { key?: unknown; values?: unknown } | null) => {
    const values = Array.isArray(filter?.values) ? filter.values.map(String).join(',') : '';
    return `${String(filter?.key)}=${values}`;
  });
  return texts.length === 0 ? null : texts.join(' ');
}

function collectFilter(text: string, earlier: { key: string; value: string }[] = []) {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It is written key=value.');
  return [...earlier, { key: text.slice(0, at), value: text.slice(at + 1) }];
}

function numberTo(most: number) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= most) return number;
    throw new InvalidArgumentError(`It is a whole number from 1 to ${most}.`);
  };
}
