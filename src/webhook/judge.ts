/**
 * What one notification means, judged on its own: a hint that a resource changed, something dealt with by receiving it,
 * something unknown that is kept and counted, or something that waits for an operator with its reason and the place of
 * the fault. Never throws; pure but for the current secrets that it hides. Whether its sender may say it is settled before.
 */
import type { ActedElement, Element, QuarantineReason, RefusedElement } from '../model/notification';
import { withoutUserInfo } from '../model/without-user-info';
import type { Secret } from '../tools/secret';
import { digitsOf } from './exact-number';
import {
  addressSchema,
  anyNotificationSchema,
  type Metadata,
  notificationSchema,
  organizationIdSchema,
  requiredActionSchema,
} from './notification-schema';
import { redactElement, redactElementText } from './redact';
import type { RepeatedMember } from './repeated-members';
import type { EventTypes } from './settings';

type Meaning = 'resource' | 'required-action' | 'received';

export interface Judge {
  /** `user` is the one whose subscription's token the element carried; null when unknown. */
  judge(element: unknown, user: string | null): Element;
  /**
   * The element set aside with its reason; `path` is a JSON pointer into it, '' for the whole. `repeated`: it was written with
   * more members than were built, and is kept as it was written.
   */
  setAside(
    element: unknown,
    reason: QuarantineReason,
    path: string,
    repeated?: RepeatedMember,
  ): RefusedElement;
}

/** `secrets` gives the current secret values, to be hidden in what is kept for an operator. */
export function makeJudge(eventTypes: EventTypes, secrets: () => readonly Secret[]): Judge {
  const meanings = new Map<string, Meaning>();
  for (const type of [...eventTypes.equipment, ...eventTypes.fieldOperation]) meanings.set(type, 'resource');
  for (const type of eventTypes.requiredAction) meanings.set(type, 'required-action');
  for (const type of ['subscriptionVerification', 'heartbeat']) meanings.set(type, 'received');

  const setAside: Judge['setAside'] = (element, reason, path, repeated) => ({
    line: 'quarantined',
    reason,
    path,
    raw:
      repeated === undefined
        ? redactElement(element, secrets())
        : redactElementText(repeated.text, secrets()),
  });
  return {
    setAside,
    judge(element, user) {
      const meaning = meanings.get(typeOf(element));
      const judged =
        meaning === 'resource'
          ? judgeResource(element, user)
          : meaning === 'required-action'
            ? judgeRequiredAction(element)
            : judgeOther(element, meaning === 'received');
      return 'fault' in judged ? setAside(element, 'malformed-notification', judged.fault) : judged;
    },
  };
}

/** A JSON pointer to what is missing or of the wrong type. */
interface Fault {
  fault: string;
}

function typeOf(element: unknown): string {
  if (typeof element !== 'object' || element === null || !Object.hasOwn(element, 'eventTypeId')) return '';
  const { eventTypeId } = element as { eventTypeId: unknown };
  return typeof eventTypeId === 'string' ? eventTypeId : '';
}

function judgeResource(element: unknown, user: string | null): Element | Fault {
  const parsed = notificationSchema.safeParse(element);
  if (!parsed.success) return faultOf(parsed.error);
  const { eventTypeId, targetResource, metadata } = parsed.data;
  const organizationId = organizationIn(metadata);
  if (typeof organizationId === 'object' && organizationId !== null) return organizationId;
  return { line: 'hint', eventTypeId, address: withoutUserInfo(targetResource), organizationId, user };
}

function judgeRequiredAction(element: unknown): Element | Fault {
  const parsed = requiredActionSchema.safeParse(element);
  if (!parsed.success) return faultOf(parsed.error);
  const { eventTypeId, targetResource, metadata = [] } = parsed.data;
  const named = organizationIn(metadata);
  if (typeof named === 'object' && named !== null) return named;
  const probeOrganizationId = named ?? organizationAt(targetResource ?? '');
  // Without an organization there is nothing to ask the provider about, and silence would lose it.
  if (probeOrganizationId === null) return { fault: '/metadata' };
  return { line: 'acted', eventTypeId, probeOrganizationId, ...dueTimeIn(metadata) };
}

function judgeOther(element: unknown, received: boolean): Element | Fault {
  const parsed = anyNotificationSchema.safeParse(element);
  if (!parsed.success) return faultOf(parsed.error);
  const { eventTypeId } = parsed.data;
  if (received) return { line: 'acted', eventTypeId, probeOrganizationId: null, dueAt: null };
  const address = addressSchema.safeParse((element as { targetResource?: unknown }).targetResource);
  return { line: 'ignored', eventTypeId, address: address.success ? withoutUserInfo(address.data) : null };
}

function faultOf(error: { issues: { path: PropertyKey[] }[] }): Fault {
  return { fault: pointerOf(error.issues[0]?.path ?? []) };
}

/** RFC 6901, section 3. */
function pointerOf(path: PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** `orgId`, which the provider types as a string and shows as a number; null when absent. */
function organizationIn(metadata: Metadata): string | null | Fault {
  const at = metadata.findIndex((entry) => entry.key === 'orgId');
  if (at < 0) return null;
  const value = metadata[at]?.value;
  const id = organizationIdSchema.safeParse(typeof value === 'string' ? value : digitsOf(value));
  return id.success ? id.data : { fault: `/metadata/${at}/value` };
}

/** The organization that an address names: what follows the last `organizations` in its path. Each character is read once. */
function organizationAt(address: string): string | null {
  const segments = (address.split(/[?#]/, 1)[0] ?? '').split('/');
  // Only what stands between two slashes names what follows.
  const at = segments.slice(1, -1).findLastIndex((segment) => segment.toLowerCase() === 'organizations');
  const encoded = at < 0 ? '' : (segments[at + 2] as string);
  try {
    const id = organizationIdSchema.safeParse(decodeURIComponent(encoded));
    return id.success ? id.data : null;
  } catch {
    return null;
  }
}

const dueKeys = ['dueTime', 'dueDate', 'dueAt'];
const isoTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
/** Seconds, or milliseconds, since 1970: of the years from 2001 to 2286 they have ten and thirteen digits. */
const epochTime = /^[1-9]\d{9}(?:\d{3})?$/;

/** A due time that cannot be read is no reason to lose the hint: it counts as none, and is told as unread. */
function dueTimeIn(metadata: Metadata): Pick<ActedElement, 'dueAt' | 'dueUnread'> {
  const value = metadata.find((entry) => dueKeys.includes(entry.key))?.value ?? null;
  if (value === null) return { dueAt: null };
  const text = typeof value === 'string' ? value : (digitsOf(value) ?? '');
  const time = timeOf(text);
  return time === null ? { dueAt: null, dueUnread: true } : { dueAt: time.toISOString() };
}

/** null where it is none. Without a zone it is UTC. */
function timeOf(text: string): Date | null {
  if (epochTime.test(text)) return new Date(Number(text.padEnd(13, '0')));
  if (!isoTime.test(text)) return null;
  const zoned = /T/.test(text) && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? `${text}Z` : text;
  const time = new Date(zoned);
  return Number.isNaN(time.getTime()) ? null : time;
}
