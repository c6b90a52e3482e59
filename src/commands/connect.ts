/**
 * `tramline connect`: asks a user for consent. By a one-time link that the user opens in a browser; or, with `--oob` or a
 * callback of one's own, by the provider's address and what the user carries back from it.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Api } from '../model/api';
import type { ConnectionAuth } from '../model/connection';
import type { ConnectionView, ConsentFailure, ConsentView, ConsentWanted } from '../model/consent';
import { Problem } from '../model/problem';
import { type Carried, carriedAnswer } from './carried-answer';
import { type Action, type CommandContext, type Via, withApiOrNewStore } from './context';
import { exitCodes } from './exit-code';
import { firstNamed } from './first-named';
import { shortTime } from './output';

interface ConnectOptions {
  oob?: boolean;
  callback?: string;
  user?: string;
  auth?: ConnectionAuth;
}

const pollMs = 500;
const namedMax = 20;

export function registerConnect(program: Command, action: Action): void {
  program
    .command('connect')
    .description('let a user consent; a consent of the same user is replaced')
    .option('--oob', 'print the provider’s address, and ask for what it shows')
    .option(
      '--callback <uri>',
      'the same with a callback of your own scheme, such as farm-app:done',
      ownScheme,
    )
    .option(
      '--user <name>',
      'who is to consent, or whose connection by its id; needed where the provider does not say who did',
    )
    .addOption(new Option('--auth <method>', 'instead of PROVIDER_AUTH').choices(['oauth1', 'oauth2']))
    .action(action((context, _argument, options: ConnectOptions) => connect(context, options)));
}

async function connect(
  context: CommandContext,
  { oob, callback, user, auth }: ConnectOptions,
): Promise<number> {
  const own = callback ?? (oob ? 'oob' : null);
  const wanted: ConsentWanted = { auth: auth ?? null, user: user ?? null, callback: own };
  if (own === null) return withApiOrNewStore(context, (api, via) => byLink(context, api, via, wanted));
  const consent = await withApiOrNewStore(context, ({ connections }) => connections.ask(wanted));
  showAddress(context, 'Let the user open this address and give consent:', consent);
  // A person takes minutes, in which no store is held: a service may start, and is the one to be answered then.
  const carried = await carry(context, consent);
  if ('error' in carried) return tell(context, { ...consent, step: 'failed', ...carried.error });
  return tell(
    context,
    await withApiOrNewStore(context, ({ connections }) => connections.answer(consent.id, carried)),
  );
}

async function byLink(context: CommandContext, api: Api, via: Via, wanted: ConsentWanted): Promise<number> {
  const consent = await api.connections.ask(wanted);
  showAddress(context, 'Let the user open this link once, in a browser:', consent);
  const { output } = context;
  if (!output.json) output.note(`It is good until ${shortTime(consent.expiresAt)}.`);
  if (via === 'service') return follow(context, api, consent);
  output.next('No service runs that could take the link. Start it, then open the link: npm start');
  return exitCodes.customerMustAct;
}

function showAddress({ output }: CommandContext, sentence: string, consent: ConsentView): void {
  if (output.json) {
    output.item(consent);
    return;
  }
  output.line(sentence);
  output.line(consent.address ?? '');
}

/** Waits until the user came back, or the time is over. */
async function follow(context: CommandContext, api: Api, { id }: ConsentView): Promise<number> {
  const { clock } = context;
  const interrupted = context.interrupted();
  let noted: ConsentFailure | null = null;
  for (;;) {
    const consent = await api.connections.consent(id);
    if (consent.step === 'done' || consent.step === 'failed') return tell(context, consent);
    if (consent.code !== null && consent.code !== noted) warn(context, consent.code, null);
    noted = consent.code;
    await clock.wait(pollMs, interrupted);
    if (interrupted.aborted) return exitCodes.interrupted;
  }
}

async function carry({ ask }: CommandContext, { auth }: ConsentView): Promise<Carried> {
  const shown = auth === 'oauth1' ? 'the token and the verifier' : 'the code';
  const line = await ask(`Paste ${shown}, or the address that the browser was sent to: `);
  const carried = carriedAnswer(line);
  if (carried === null) throw new Problem('command.usage', `${shown} or the whole address is accepted`);
  return carried;
}

const endings: Record<ConsentFailure, [exitCode: number, sentence: string]> = {
  'consent-declined': [exitCodes.customerMustAct, 'The user declined; nothing was changed.'],
  'consent-expired': [exitCodes.customerMustAct, 'Nobody answered in time.'],
  'consent-other-user': [exitCodes.customerMustAct, 'Another user consented than the one who was asked.'],
  'consent-other-browser': [
    exitCodes.customerMustAct,
    'It came back in another browser than the one where the link was opened; it has to be finished there.',
  ],
  'consent-refused': [exitCodes.refusedByProvider, 'The provider does not accept the request or its answer.'],
  'provider-unavailable': [exitCodes.failed, 'The provider does not answer now.'],
  'provider-answer-unusable': [exitCodes.failed, 'The provider’s answer cannot be used.'],
};

function tell({ output }: CommandContext, consent: ConsentView): number {
  if (output.json) output.item(consent.connection ?? consent);
  if (consent.code !== null) {
    return warn({ output }, consent.code, consent.detail);
  }
  if (consent.connection === null) return exitCodes.done;
  if (!output.json) show(output, consent.connection);
  if (consent.unseen.length > 0) output.warn(unseenSentence(consent.connection.user, consent.unseen));
  return exitCodes.done;
}

/** The provider need not say who consented; what the new token is shown may tell. */
function unseenSentence(user: string, unseen: string[]): string {
  return (
    `tramline: The new token is not shown ${firstNamed(unseen, namedMax)}, which this connection ` +
    `saw before. If somebody else than ${user} consented, let ${user} sign in at the provider and connect again.`
  );
}

function warn(
  { output }: Pick<CommandContext, 'output'>,
  code: ConsentFailure,
  detail: string | null,
): number {
  const [exitCode, sentence] = endings[code];
  output.warn(`tramline: ${code}: ${sentence}${detail === null ? '' : ` (${detail})`}`);
  return exitCode;
}

function show(output: CommandContext['output'], connection: ConnectionView): void {
  const { id, user, auth, expiresAt, renews, organizations } = connection;
  const end = expiresAt === null ? 'not named' : shortTime(expiresAt);
  output.line(`Connected: ${id}`);
  output.line(`user           ${user}`);
  output.line(`method         ${auth}`);
  output.line(`ends           ${renews ? `${end}, and is renewed before` : end}`);
  output.prose('organizations  ', organizations.length === 0 ? 'none seen yet' : organizations.join(', '));
  output.next('See whether each may be read: tramline organizations list');
}

function ownScheme(text: string): string {
  if (text.toLowerCase() === 'oob') return 'oob';
  const protocol = URL.parse(text)?.protocol;
  if (protocol !== undefined && protocol !== 'http:' && protocol !== 'https:') return text;
  throw new InvalidArgumentError('an address of a scheme of your own is needed, or oob, as by --oob.');
}
