// What a client may say when it creates or changes a subscription, or the client's delivery settings.
// Promises every problem at once; nothing is changed here.
import { isObject, type Json, type JsonObject } from '../json';
import type { ClientDelivery, Filter, Subscription } from '../webhooks/subscriptions';
import type { Problem } from './refusal';
import { unknownNames } from './request-body';

/** Event type → the scope of the API behind it and the keys its filters may have. */
export const EVENT_TYPES: Readonly<Record<string, { scope: string; keys: readonly string[] }>> = {
  fieldOperation: { scope: 'ag2', keys: ['orgId', 'fieldOperationType', 'cropSeason', 'fieldId'] },
  field: { scope: 'ag1', keys: ['orgId', 'fieldId'] },
  boundary: { scope: 'ag1', keys: ['orgId', 'fieldId'] },
  equipment: { scope: 'eq1', keys: ['orgId'] },
  requiredCustomerAction: { scope: 'org1', keys: ['orgId'] },
};
const TOKEN = /^[A-Za-z0-9+/=]{0,256}$/;
const DISPLAY_NAME_MAX = 100;
const AUTHORIZATION_MAX = 4_096;
const CREATE_NAMES = ['eventTypeId', 'filters', 'targetEndpoint', 'status', 'displayName', 'token'];
const CHANGE_NAMES = [...CREATE_NAMES, 'id', 'clientKey', 'links', '@type'];

export type Editable = Pick<Subscription, 'uri' | 'displayName' | 'token'>;

/** What of a body is for a new subscription. `problems` is added to. */
export function readNew(
  body: JsonObject,
  problems: Problem[],
): Editable & Pick<Subscription, 'eventTypeId' | 'filters'> {
  problems.push(...unknownNames(body, CREATE_NAMES));
  const { eventTypeId, status } = body;
  const type = typeof eventTypeId === 'string' ? EVENT_TYPES[eventTypeId] : undefined;
  if (!type)
    problems.push({ message: 'eventTypeId is unknown', field: 'eventTypeId', value: eventTypeId ?? null });
  if (status !== undefined && status !== 'Active')
    problems.push({ message: 'status must be Active at creation', field: 'status', value: status });
  return {
    eventTypeId: String(eventTypeId),
    filters: readFilters(body.filters, type?.keys ?? [], eventTypeId === 'fieldOperation', problems),
    ...readEditable(body, problems),
  };
}

/** What of a body changes a subscription: the whole object is sent back, and only four names may differ. */
export function readChange(
  body: JsonObject,
  before: Subscription,
  problems: Problem[],
): Editable & Pick<Subscription, 'status'> {
  problems.push(...unknownNames(body, CHANGE_NAMES));
  for (const name of ['id', 'eventTypeId'] as const)
    if (body[name] !== before[name])
      problems.push({ message: `${name} cannot be changed`, field: name, value: body[name] ?? null });
  if (body.filters !== undefined && !sameFilters(body.filters, before.filters))
    problems.push({ message: 'filters cannot be changed', field: 'filters', value: body.filters });
  const { status } = body;
  if (status !== 'Active' && status !== 'Terminated')
    problems.push({ message: 'status must be Active or Terminated', field: 'status', value: status ?? null });
  if (before.status === 'Terminated')
    problems.push({ message: 'The subscription has ended', field: 'status', value: status ?? null });
  return { ...readEditable(body, problems), status: status === 'Terminated' ? 'Terminated' : 'Active' };
}

function readEditable({ targetEndpoint, displayName, token }: JsonObject, problems: Problem[]): Editable {
  const { targetType, uri } = isObject(targetEndpoint) ? targetEndpoint : {};
  if (targetType !== 'https')
    problems.push({
      message: 'targetType must be https',
      field: 'targetEndpoint.targetType',
      value: targetType ?? null,
    });
  if (typeof uri !== 'string' || !isTarget(uri))
    problems.push({
      message: 'uri must be an https address',
      field: 'targetEndpoint.uri',
      value: uri ?? null,
    });
  const named =
    displayName == null || (typeof displayName === 'string' && displayName.length <= DISPLAY_NAME_MAX);
  if (!named)
    problems.push({ message: 'displayName is too long', field: 'displayName', value: displayName! });
  const fits = token == null || (typeof token === 'string' && TOKEN.test(token));
  if (!fits)
    problems.push({ message: 'token has at most 256 characters of base64', field: 'token', value: null });
  return {
    uri: String(uri),
    displayName: typeof displayName === 'string' ? displayName : undefined,
    token: typeof token === 'string' && token !== '' ? token : undefined,
  };
}

/** `http` is for this machine only: the simulator's receivers have no certificates. */
function isTarget(uri: string): boolean {
  const parsed = URL.parse(uri);
  if (parsed?.username !== '' || parsed.hash !== '') return false;
  if (parsed.protocol === 'https:') return true;
  return parsed.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(parsed.hostname);
}

function readFilters(
  given: Json | undefined,
  keys: readonly string[],
  needsOrganization: boolean,
  problems: Problem[],
): Filter[] {
  const filters: Filter[] = [];
  for (const [at, filter] of (Array.isArray(given) ? given : []).entries()) {
    const read = readFilter(filter, `filters[${at}]`, keys);
    if ('problem' in read) problems.push(read.problem);
    else filters.push(read);
  }
  if (given !== undefined && !Array.isArray(given))
    problems.push({ message: 'filters must be a list', field: 'filters', value: given });
  else if (needsOrganization && !filters.some(({ key }) => key === 'orgId'))
    problems.push({ message: 'A filter by orgId is required', field: 'filters', value: given ?? null });
  return filters;
}

function readFilter(given: Json, field: string, keys: readonly string[]): Filter | { problem: Problem } {
  const { key, values } = isObject(given) ? given : {};
  if (typeof key !== 'string' || !keys.includes(key)) {
    const message = `key must be one of ${keys.join(', ')}`;
    return { problem: { message, field: `${field}.key`, value: key ?? null } };
  }
  if (!isTextList(values)) {
    const message = 'values must be a list of strings';
    return { problem: { message, field: `${field}.values`, value: values ?? null } };
  }
  return { key, values };
}

/** At least one. */
function isTextList(given: Json | undefined): given is string[] {
  return Array.isArray(given) && given.length > 0 && given.every((value) => typeof value === 'string');
}

function sameFilters(given: Json, before: readonly Filter[]): boolean {
  const canonical = (filters: unknown): string =>
    JSON.stringify(
      (Array.isArray(filters) ? filters : []).map((filter) =>
        isObject(filter) ? [filter.key, [filter.values].flat()] : filter,
      ),
    );
  return canonical(given) === canonical(before);
}

/** The changed delivery settings. `problems` is added to. */
export function readDelivery(body: JsonObject, before: ClientDelivery, problems: Problem[]): ClientDelivery {
  problems.push(
    ...unknownNames(body, ['status', 'authorizationHeaderValue', 'concurrentDeliveries', 'maxBatchSize']),
  );
  const { status = before.status, authorizationHeaderValue = before.authorizationHeaderValue } = body;
  if (status !== 'Active' && status !== 'Paused')
    problems.push({ message: 'status must be Active or Paused', field: 'status', value: status });
  if (
    authorizationHeaderValue !== null &&
    !(typeof authorizationHeaderValue === 'string' && isHeaderValue(authorizationHeaderValue))
  )
    problems.push({
      message: 'authorizationHeaderValue must be a header value',
      field: 'authorizationHeaderValue',
    });
  const number = (name: 'concurrentDeliveries' | 'maxBatchSize', most: number): number => {
    const value = body[name] ?? before[name];
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
    problems.push({ message: `${name} must be from 1 to ${most}`, field: name, value });
    return before[name];
  };
  return {
    status: status === 'Paused' ? 'Paused' : 'Active',
    authorizationHeaderValue: authorizationHeaderValue as string | null,
    concurrentDeliveries: number('concurrentDeliveries', 10),
    maxBatchSize: number('maxBatchSize', 256),
  };
}

function isHeaderValue(text: string): boolean {
  return text.length <= AUTHORIZATION_MAX && /^[\x20-\x7e]*$/.test(text);
}
