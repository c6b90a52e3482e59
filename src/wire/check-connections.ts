/**
 * Whether the provider answers, through each connection that there is: what a check says of it, and who has to act.
 */

import { conditionRows } from '../alert/catalogue';
import type { ConnectionBook } from '../connect/connection-book';
import type { ProviderClient } from '../fetch/provider-client';
import type { Answer } from '../model/answer';
import { shellValue, shellWord } from '../model/shell-word';
import { CheckFailure, type Found } from '../operations/check';
import { endsWithin, systemClock } from '../tools/clock';
import type { Connecting } from './connecting';
import { storesAnswer } from './stores-answer';

type Client = Pick<ProviderClient, 'organizations' | 'equipmentTrouble'>;
type Book = Pick<ConnectionBook, 'connections' | 'sees' | 'refresh'>;

type Tokens = Pick<Connecting, 'issuerTrouble'>;

/** As `answersThrough`, of the connections that there are now. Throws `store.unavailable` where these cannot be read within 3 s. */
export async function checkConnections(client: Client, book: Book, tokens: Tokens): Promise<Found> {
  await storesAnswer(book.refresh(), systemClock);
  return answersThrough(client, book, tokens);
}

/**
 * Asks for the first page of organizations through every valid connection, the equipment API through one of them, and the issuer of
 * tokens. A refused consent is a caution while another connection is answered, and so is an equipment API, or an issuer, that does
 * not answer within 3 s. Rejects with a sentence where one is not answered otherwise, where every consent was refused or
 * where there is none: `CheckFailure` where a user has to act, or nobody but the provider. Throws `store.key-missing` where a stored token cannot be
 * opened any more, whatever was opened before.
 */
export async function answersThrough(client: Client, book: Book, tokens: Tokens): Promise<Found> {
  const looking = issuerTrouble(tokens);
  try {
    return besideIssuer(await answersWithout(client, book), await looking);
  } catch (error) {
    throw error instanceof CheckFailure ? failureBesideIssuer(error, await looking) : error;
  }
}

/** The issuer is not asked. */
async function answersWithout(client: Client, book: Book): Promise<Found> {
  const connections = book.connections();
  if (connections.length === 0) {
    const detail = 'there is no connection: no user has given consent, or each was revoked';
    throw new CheckFailure(detail, '`tramline connect` prints a link for the user who gives consent.');
  }
  const looking = equipmentTrouble(
    client,
    connections.find(({ status }) => status === 'valid'),
  );
  const [refused, answered]: [string[], string[]] = [[], []];
  let isOauth1 = false;
  for (const { connectionId, status, auth } of connections) {
    const isRefused = status === 'refused' || !(await isAnswered(client, connectionId));
    (isRefused ? refused : answered).push(connectionId);
    isOauth1 ||= isRefused && auth === 'oauth1';
  }
  return besideEquipment(consentsOf(book, refused, answered, isOauth1), await looking);
}

function consentsOf(book: Book, refused: string[], answered: string[], isOauth1: boolean): Found {
  const next = anew(refused, isOauth1);
  const { length } = answered;
  const answers = `answers for ${length === 1 ? '1 connection' : `${length} connections`}`;
  if (refused.length === 0) return { detail: answers, next: null };
  const refusal = `the provider refused the consent of ${refused.join(', ')}`;
  if (length === 0) throw new CheckFailure(refusal, `${next}.`);
  const lost = leftAlone(book, refused, answered);
  if (lost > 0) {
    const left = `${lost} organization${lost === 1 ? ' is' : 's are'} seen by nobody else`;
    return { detail: `${answers}; ${refusal}, and ${left}`, next: `${next}.` };
  }
  const revoke = `or where it is not needed: \`tramline connections revoke ${refused.length === 1 ? shellWord(refused[0]!) : 'ID'}\`.`;
  return {
    detail: `${answers}; ${refusal}, whose organizations are seen through others`,
    next: `${next}, ${revoke}`,
  };
}

/** Beside what is asked of the others; null where it answers, or nobody can ask. Never rejects. */
async function equipmentTrouble(
  client: Client,
  asker: { connectionId: string } | undefined,
): Promise<string | null> {
  if (asker === undefined) return null;
  const over = new AbortController();
  const asking = client.equipmentTrouble(asker.connectionId, over.signal);
  if (await endsWithin(asking, equipmentMsMax, systemClock)) return asking;
  over.abort();
  return `no answer within ${equipmentMsMax / 1000} s`;
}

/** Its address is a setting, to which nothing that was answered leads. */
function besideEquipment({ detail, next }: Found, trouble: string | null): Found {
  if (trouble === null) return { detail, next };
  return { detail: `${detail}; the equipment API: ${trouble}`, next: next ?? equipmentStep };
}

/** Until a token ends nothing else shows it. Never rejects. */
async function issuerTrouble(tokens: Tokens): Promise<string | null> {
  const asking = tokens.issuerTrouble();
  if (await endsWithin(asking, issuerMsMax, systemClock)) return asking;
  return `the issuer gives no answer within ${issuerMsMax / 1000} s`;
}

/** What else is to be done may take a new consent, which takes the issuer first. */
function besideIssuer({ detail, next }: Found, trouble: string | null): Found {
  if (trouble === null) return { detail, next };
  if (detail.includes(trouble)) return { detail, next: issuerStep };
  const step = next === null ? issuerStep : `${issuerStep} ${next}`;
  return { detail: `${detail}; no token can be had: ${trouble}`, next: step };
}

function failureBesideIssuer(failure: CheckFailure, trouble: string | null): CheckFailure {
  if (trouble === null) return failure;
  const { detail, next } = besideIssuer({ detail: failure.message, next: failure.next }, trouble);
  return new CheckFailure(detail, next ?? issuerStep);
}

const issuerMsMax = 3000;
const issuerStep =
  'Compare PROVIDER_ISSUER with the provider’s documentation, and where it is right, look at the way out and at the provider’s status page.';
const equipmentMsMax = 3000;
const equipmentStep =
  'Compare PROVIDER_EQUIPMENT_URL with the provider’s documentation, and where it is right, look at the provider’s status page.';

/** A consent by OAuth 1 may be one that the provider ended for good: then only the switch-over helps. */
function anew(refused: string[], isOauth1: boolean): string {
  const user = refused.length === 1 ? refused[0]! : 'NAME';
  const same = `\`tramline connect --user ${shellValue(user)}\``;
  const switchOver = isOauth1
    ? `, or, where the provider has ended OAuth 1, \`tramline connect --auth oauth2 --user ${shellValue(user)}\``
    : '';
  return refused.length === 1
    ? `Its user consents anew: ${same}${switchOver}`
    : `Their users consent anew: \`tramline connections list\` names them, for ${same}${switchOver}`;
}

/** How many organizations only refused connections saw. */
function leftAlone({ sees }: Book, refused: string[], answered: string[]): number {
  const isSeen = (organizationId: string) => answered.some((id) => sees(id).has(organizationId));
  const seen = new Set(refused.flatMap((id) => [...sees(id)]));
  return [...seen].filter((organizationId) => !isSeen(organizationId)).length;
}

/** False where its consent is refused. Rejects with a sentence where there is no answer otherwise. */
async function isAnswered(client: Client, connectionId: string): Promise<boolean> {
  for await (const page of client.organizations(connectionId)) {
    if (!page.partial) return true;
    if (page.answer?.kind === 'reauthorize') return false;
    const detail = `connection ${connectionId}: ${page.detail}`;
    const next = stepFor(page.answer);
    throw next === null ? new Error(detail) : new CheckFailure(detail, next);
  }
  return true;
}

/** What is left to do where it was answered why; null where any setting may be to blame. */
function stepFor(answer: Answer | null): string | null {
  if (answer?.kind === 'client-refused') return conditionRows['client-refused'].firstStep;
  if (answer?.kind === 'rate-limited') return 'Wait: reading goes on by itself after the pause.';
  if (answer?.kind !== 'transient') return null;
  if (answer.code === 'token-unavailable') return unrenewedStep;
  if (!answer.code.startsWith('status-5')) return null;
  return 'Look at the provider’s status page and wait: it answered, so no setting here is to blame, and reading goes on by itself.';
}

/** Within the pause after a failed renewal only the words of it are known. */
const unrenewedStep =
  'Where it names the store, look there first; where the issuer refused the client, compare PROVIDER_CLIENT_SECRET with the provider’s developer console; where it ' +
  'answered something else, look at the provider’s status page and wait; where it did not answer, at PROVIDER_ISSUER and ' +
  'the way out.';
