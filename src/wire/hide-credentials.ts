/**
 * The provider's client without the credentials that a provider may repeat: its words about a refusal go to the store,
 * the log, pages and events, and some providers quote the token that they refuse. Only what was not read passes through
 * here; a document is the normalizer's.
 */
import type { ListingPage } from '../fetch/listing';
import type { OrganizationsPage, ProviderClient } from '../fetch/provider-client';
import type { Answer } from '../model/answer';
import type { Connection } from '../model/connection';
import type { ProviderData, RawFault, RawListed, RawRead } from '../model/provider-data';
import type { SubscriptionCalls } from '../model/subscription';
import type { Secret } from '../tools/secret';

export interface Credentials {
  clientSecret: Secret;
  connections(): readonly Connection[];
  /** What a connection held before it was renewed. */
  former(connectionId: string): readonly Secret[];
}

const hidden = '[secret]';
/** Shorter values are in every text. */
const charsMin = 8;

export function hideCredentials(client: ProviderClient, credentials: Credentials): ProviderClient {
  const clean = (answer: Answer) => cleanAnswer(answer, credentials);
  const cleanFault = ({ answer, detail, ...fault }: RawFault): RawFault => {
    const of = answer !== null && 'connectionId' in answer ? answer.connectionId : '';
    const cleaned = answer === null ? null : (clean(answer) as RawFault['answer']);
    return { ...fault, answer: cleaned, detail: hide(detail, secretsOf(of, credentials)) };
  };
  return {
    async read(request, signal) {
      const read = await client.read(request, signal);
      return read.answer.kind === 'ok' ? read : { answer: clean(read.answer), cost: read.cost };
    },
    probe: async (due, signal) => clean(await client.probe(due, signal)),
    showUnprobed: () => client.showUnprobed(),
    async readOrganization(organizationId, connectionId, signal) {
      const read = await client.readOrganization(organizationId, connectionId, signal);
      return 'answer' in read ? { answer: clean(read.answer) } : read;
    },
    async *organizations(connectionId, signal) {
      for await (const page of client.organizations(connectionId, signal)) {
        yield cleanPage(page, connectionId, credentials);
      }
    },
    async equipmentTrouble(connectionId, signal) {
      const trouble = await client.equipmentTrouble(connectionId, signal);
      return trouble === null ? null : hide(trouble, secretsOf(connectionId, credentials));
    },
    async *listing(request, signal) {
      for await (const page of client.listing(request, signal)) {
        yield cleanPage(page, request.connectionId, credentials);
      }
    },
    data: cleanData(client.data, cleanFault),
    subscriptions: cleanSubscriptions(client.subscriptions, cleanFault),
    close: () => client.close(),
  };
}

/** The same for what is told of a refused consent. */
export function hideInRefusal(
  refused: (connectionId: string, message: string | null, sealedToken: string) => void,
  credentials: Credentials,
): typeof refused {
  return (connectionId, message, sealedToken) =>
    refused(
      connectionId,
      message === null ? null : hide(message, secretsOf(connectionId, credentials)),
      sealedToken,
    );
}

type Clean = (fault: RawFault) => RawFault;

async function cleanRead<Value>(reading: Promise<RawRead<Value>>, clean: Clean): Promise<RawRead<Value>> {
  const result = await reading;
  return 'fault' in result ? { fault: clean(result.fault) } : result;
}

async function* cleanList<Item>(
  lines: AsyncIterable<{ item: Item } | { fault: RawFault }>,
  clean: Clean,
): AsyncGenerator<{ item: Item } | { fault: RawFault }> {
  for await (const line of lines) yield 'fault' in line ? { fault: clean(line.fault) } : line;
}

function cleanSubscriptions(calls: SubscriptionCalls, clean: Clean): SubscriptionCalls {
  return {
    list: (connectionId) => cleanList(calls.list(connectionId), clean),
    create: (...asked) => cleanRead(calls.create(...asked), clean),
    change: (...asked) => cleanRead(calls.change(...asked), clean),
    delivery: (connectionId) => cleanRead(calls.delivery(connectionId), clean),
    changeDelivery: (...asked) => cleanRead(calls.changeDelivery(...asked), clean),
  };
}

function cleanData(data: ProviderData, clean: Clean): ProviderData {
  const read = <Value>(reading: Promise<RawRead<Value>>) => cleanRead(reading, clean);
  const list = (lines: AsyncIterable<RawListed>) => cleanList(lines, clean);
  return {
    equipment: (filter) => list(data.equipment(filter)),
    equipmentRecord: (...asked) => read(data.equipmentRecord(...asked)),
    createEquipment: (...asked) => read(data.createEquipment(...asked)),
    updateEquipment: (...asked) => read(data.updateEquipment(...asked)),
    reference: (kind) => read(data.reference(kind)),
    fieldOperations: (filter) => list(data.fieldOperations(filter)),
    fieldOperation: (...asked) => read(data.fieldOperation(...asked)),
    measurements: (...asked) => read(data.measurements(...asked)),
    files: (organizationId) => list(data.files(organizationId)),
    file: (id) => read(data.file(id)),
    fileContent: (...asked) => read(data.fileContent(...asked)),
  };
}

function cleanPage<Page extends OrganizationsPage | ListingPage>(
  page: Page,
  connectionId: string,
  credentials: Credentials,
): Page {
  if (!page.partial) return page;
  const answer = page.answer === null ? null : cleanAnswer(page.answer, credentials);
  return { ...page, detail: hide(page.detail, secretsOf(connectionId, credentials)), answer };
}

/** Where the provider's words stand in an answer. */
const itsWords = new Set(['message', 'detail', 'actionUrl']);

function cleanAnswer(answer: Answer, credentials: Credentials): Answer {
  if (answer.kind === 'ok' || !('connectionId' in answer)) return answer;
  const secrets = secretsOf(answer.connectionId, credentials);
  const cleaned = Object.entries(answer).map(([name, value]: [string, unknown]) => [
    name,
    itsWords.has(name) && typeof value === 'string' ? hide(value, secrets) : value,
  ]);
  return Object.fromEntries(cleaned) as Answer;
}

function secretsOf(connectionId: string, credentials: Credentials): string[] {
  const { clientSecret, connections, former } = credentials;
  const connection = connections().find((known) => known.connectionId === connectionId);
  const secrets = [clientSecret, connection?.token, connection?.tokenSecret, connection?.refresh];
  secrets.push(...former(connectionId));
  const values = secrets.flatMap((secret) => (secret ? [secret.open()] : []));
  return [...new Set(values.flatMap((value) => [value, encodeURIComponent(value.toWellFormed())]))];
}

/** Also the beginning of a credential that was cut off with the end of the text. */
function hide(text: string, secrets: string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < charsMin) continue;
    clean = clean.replaceAll(secret, hidden);
    for (let chars = Math.min(secret.length - 1, clean.length); chars >= charsMin; chars -= 1) {
      if (!clean.endsWith(secret.slice(0, chars))) continue;
      clean = `${clean.slice(0, -chars)}${hidden}`;
      break;
    }
  }
  return clean;
}
