/**
 * Subscriptions on a person's behalf: listed, created with a token of their own, renewed and ended. A token is accepted
 * before the provider is told of it, since the provider asks the receiver before it answers.
 */
import { randomBytes } from 'node:crypto';
import type { Connection } from '../model/connection';
import { missingConsents } from '../model/missing-consents';
import { Problem } from '../model/problem';
import type { Listed, RawFault, RawItem } from '../model/provider-data';
import type {
  ForgottenSubscription,
  StoredWebhookSecret,
  SubscriptionsApi,
  SubscriptionView,
  SubscriptionWanted,
} from '../model/subscription';
import { typeNameOf } from '../model/type-name';
import { Secret } from '../tools/secret';
import { afterChange } from './after-change';
import { makeDelivery } from './delivery';
import {
  isRefusal,
  objectOf,
  type SeenSubscription,
  subscriptionOf,
  viewOf,
  withoutSecret,
} from './documents';
import type { SubscribeDoors } from './doors';
import { isRefusedHere } from './refused-here';

/**
 * What commands ask of subscriptions. Rejects with coded problems where the provider refuses or nobody could hear what
 * it would send, and as the store does. Of an id that nobody has 60 characters are repeated.
 */
export function makeSubscriptionsApi(doors: SubscribeDoors): SubscriptionsApi {
  const delivery = makeDelivery(doors);
  return {
    list: () => views(doors),
    create: async (wanted) => {
      await doors.ready();
      const connection = connectionFor(doors, wanted);
      await refuseUnheard(doors, () => delivery.authorization());
      return viewOf(await create(doors, wanted, connection));
    },
    async renew(id) {
      const found = await find(doors, id);
      if (found === null) throw unknown(id);
      if (found.status === 'Terminated')
        throw new Problem('command.refused', `${id} has ended for good: create another`);
      refuseLoss(doors, found);
      await changeStatus(doors, found, 'Active');
      return viewOf((await afterChange(findAgain(doors, found))) ?? found);
    },
    async end(id) {
      await doors.ready();
      // One that no key opens is not known any more, and is forgotten all the same.
      const stored = [...doors.book.held('token'), ...doors.book.unopened()];
      const own = stored.filter(({ kind, subscriptionId }) => kind === 'token' && subscriptionId === id);
      const found = await find(doors, id, own.length > 0);
      if (found === null && own.length === 0) throw unknown(id);
      if (found !== null && found.status !== 'Terminated') await changeStatus(doors, found, 'Terminated');
      for (const token of new Set(own.map((one) => one.id))) await doors.book.drop(token);
      for (const token of doors.book.inState('token', 'given')) {
        if (token.subscriptionId === id) await doors.book.bind(token.id, null, { connectionId: null });
      }
      if (found === null && !wasAsked(doors, own)) return forgottenOf(id, own);
      const body = { status: 'Terminated' };
      return viewOf((found === null ? null : await afterChange(findAgain(doors, found))) ?? { id, body });
    },
    delivery: () => delivery.view(),
    setDelivery: (wanted) => delivery.set(wanted),
  };
}

/** The whole object goes back, with another status. Throws what the provider says. */
async function changeStatus(
  doors: SubscribeDoors,
  subscription: SeenSubscription,
  status: 'Active' | 'Terminated',
): Promise<void> {
  const fault = await putStatus(doors, subscription, status);
  if (fault !== null) throw doors.problemOf(fault);
}

/** Throws where it cannot be sent back whole: what is active without its token delivers what nobody here accepts. */
function refuseLoss({ book }: SubscribeDoors, { id, token }: SeenSubscription): void {
  const lost = book.lost().find(({ kind, subscriptionId }) => kind === 'token' && subscriptionId === id);
  if (lost === undefined || token !== null) return;
  const why = `its token would be lost, since it cannot be opened: ${lost.why}`;
  throw new Problem('command.refused', `${id} is not renewed: ${why}`);
}

/** null: the provider has taken it. */
export async function putStatus(
  { book, calls }: Pick<SubscribeDoors, 'book' | 'calls'>,
  { id, connectionId, self, body, token }: SeenSubscription,
  status: 'Active' | 'Terminated',
): Promise<RawFault | null> {
  if (self === null) {
    const detail = `subscription ${id}: expected a link \`self\` to change it at, got none (malformed-entry)`;
    return { answer: null, detail, address: null, organizationId: null };
  }
  const own = book.held('token').find(({ subscriptionId }) => subscriptionId === id);
  // A provider that does not show the token must not lose it.
  const kept = token ?? own?.secret.open();
  const whole = { ...body, status, ...(kept !== undefined && { token: kept }) };
  const changed = await calls().change(connectionId, self, whole);
  if (!('fault' in changed)) return null;
  return kept === undefined ? changed.fault : withoutSecret(changed.fault, { secret: new Secret(kept) });
}

interface Listing {
  seen: SeenSubscription[];
  /** When not all of them could be read. */
  fault: RawFault | null;
}

/** Those of one connection. With a fault, what is missing among them proves nothing. */
export async function listOne(
  { calls }: Pick<SubscribeDoors, 'calls'>,
  connectionId: string,
): Promise<Listing> {
  const seen: SeenSubscription[] = [];
  let place = 0;
  let unread: RawFault | null = null;
  for await (const line of calls().list(connectionId)) {
    if ('fault' in line) return { seen, fault: line.fault };
    place += 1;
    const subscription = subscriptionOf(line.item);
    if (subscription !== null) seen.push(subscription);
    else unread ??= unreadEntry(line.item, place);
  }
  return { seen, fault: unread };
}

/** The rest of the list was read; which one this was is not known. */
function unreadEntry({ body, address }: RawItem, place: number): RawFault {
  const got = typeNameOf(body, 'an object without it');
  const detail = `entry ${place} of the list: expected a subscription with an id, got ${got} (malformed-entry)`;
  return { answer: null, detail, address, organizationId: null };
}

async function* views(doors: SubscribeDoors): AsyncGenerator<Listed<SubscriptionView>> {
  await doors.ready();
  const shown = new Set<string>();
  for await (const { seen, fault } of listings(doors)) {
    for (const subscription of seen) {
      if (shown.has(subscription.id)) continue;
      shown.add(subscription.id);
      const isRefused = isRefusedHere(doors, subscription);
      yield { item: { ...viewOf(subscription), ...(isRefused && { refusedHere: true }) } };
    }
    if (fault !== null) yield { fault: doors.listingFaultOf(fault) };
  }
  // Whose subscriptions nobody can list: a subscription is its user's alone.
  for (const fault of missingConsents(doors.connections())) yield { fault: doors.listingFaultOf(fault) };
}

/** Of each valid connection, one after the other: what one cannot show hides nothing of another. */
async function* listings(doors: SubscribeDoors): AsyncGenerator<Listing> {
  for (const { connectionId, status } of doors.connections()) {
    if (status === 'valid') yield await listOne(doors, connectionId);
  }
}

/**
 * null: nobody has it. `known`: its token is held here, so that it may be forgotten with a consent that was refused.
 * Throws when it is not found and not all could be read.
 */
async function find(doors: SubscribeDoors, id: string, known = false): Promise<SeenSubscription | null> {
  await doors.ready();
  const faults: RawFault[] = [];
  for await (const { seen, fault } of listings(doors)) {
    const found = seen.find((subscription) => subscription.id === id);
    if (found !== undefined) return found;
    if (fault !== null) faults.push(fault);
  }
  const [fault] = known ? faults : [...faults, ...missingConsents(doors.connections())];
  if (fault !== undefined) throw doors.problemOf(fault);
  return null;
}

/** Whether its own user's consent holds, by which what is not listed is not there: a subscription is its user's alone. */
function wasAsked({ connections }: SubscribeDoors, own: StoredWebhookSecret[]): boolean {
  const valid = connections().filter(({ status }) => status === 'valid');
  return own.some((token) =>
    valid.some(({ connectionId, user }) => connectionId === token.connectionId || user === token.user),
  );
}

function forgottenOf(id: string, own: StoredWebhookSecret[]): ForgottenSubscription {
  const user = own.find((token) => token.user !== null)?.user ?? null;
  return { id, state: 'forgotten', atProvider: false, user };
}

/** After a change, as its own user sees it now. */
async function findAgain(
  doors: SubscribeDoors,
  { id, connectionId }: SeenSubscription,
): Promise<SeenSubscription | null> {
  const { seen, fault } = await listOne(doors, connectionId);
  const found = seen.find((subscription) => subscription.id === id);
  if (found === undefined && fault !== null) throw doors.problemOf(fault);
  return found ?? null;
}

/** Throws where no user's consent that would do is valid, and where several would. */
function connectionFor(
  { connections, sees, problemOf }: SubscribeDoors,
  { user, filters }: SubscriptionWanted,
): Connection {
  const wanted = filters.flatMap(({ key, values }) => (key === 'orgId' ? values : []));
  const all = connections();
  const able = all
    .filter((connection) => user === null || connection.user === user)
    .filter(({ connectionId }) => wanted.every((id) => sees(connectionId).has(id)));
  const fitting = able.filter(({ status }) => status === 'valid');
  const [first] = fitting;
  if (first === undefined) {
    const [missing] = able.length > 0 || all.length === 0 ? missingConsents(able) : [];
    if (missing !== undefined) throw problemOf(missing);
    const which = wanted.length === 0 ? '' : ` that sees ${wanted.join(', ')}`;
    const whose = user === null ? '' : ` of user ${user}`;
    throw new Problem('command.not-found', `there is no valid connection${whose}${which}`);
  }
  if (wanted.length === 0 && user === null && fitting.length > 1)
    throw new Problem('command.usage', 'name the user whose subscription it is to be, or an organization');
  return first;
}

/** The provider's verification would be refused here, and its answer would not say why. */
async function refuseUnheard(
  { needsAuthorization, book }: SubscribeDoors,
  authorization: () => Promise<string | null>,
): Promise<void> {
  if (!needsAuthorization) return;
  const sent = await authorization();
  if (book.authorizationValues().some((value) => value.open() === sent)) return;
  const what = sent === null ? 'no Authorization value' : 'an Authorization value that is not accepted here';
  throw new Problem('command.refused', `the provider sends ${what}: set one by \`tramline delivery set\``);
}

async function create(
  doors: SubscribeDoors,
  { eventTypeId, filters, displayName }: SubscriptionWanted,
  { connectionId, user }: Connection,
): Promise<SeenSubscription> {
  const { book, target } = doors;
  if (target === null) throw new Problem('settings.invalid', 'PUBLIC_URL is needed: deliveries go there');
  const token = randomBytes(32).toString('base64');
  const offered = await book.offer(new Secret(token), { kind: 'token', user, connectionId });
  await doors.spread();
  const created = await doors.calls().create(connectionId, {
    eventTypeId,
    ...(filters.length > 0 && { filters }),
    targetEndpoint: { targetType: 'https', uri: target },
    status: 'Active',
    ...(displayName !== null && { displayName }),
    token,
  });
  if ('fault' in created) {
    // Without an answer it may exist: who looks at subscriptions later finds it by its token.
    if (isRefusal(created.fault)) await book.drop(offered.id);
    throw doors.problemOf(withoutSecret(created.fault, offered));
  }
  const body = objectOf(created.value.body);
  const said = subscriptionOf({ body, self: null, connectionId });
  const listed = said === null ? await listOne(doors, connectionId) : null;
  const seen = said ?? listed?.seen.find((one) => one.token === token);
  // Its token stays accepted: where it was made, who looks at subscriptions later finds it by that.
  if (seen === undefined) throw doors.problemOf(unsaid(created.value, listed?.fault ?? null));
  await book.bind(offered.id, seen.id);
  return seen;
}

/** Neither what came nor the list says that there is one, nor that there is none: a list may be late, or hide tokens. */
function unsaid({ body, address }: { body: unknown; address: string }, unread: RawFault | null): RawFault {
  const got = body === null ? 'an empty answer' : typeNameOf(body, 'an object without it');
  const unknown = 'whether it was made is not known: look with `tramline subscriptions list`';
  const list = unread === null ? 'none is listed with its token' : 'the list could not be read';
  const detail = `expected the subscription with its id, got ${got}, and ${list}; ${unknown}`;
  return { answer: null, detail, address, organizationId: null };
}

const shownCharsMax = 60;

function unknown(id: string): Problem {
  const shown = id.length > shownCharsMax ? `${id.slice(0, shownCharsMax)}…` : id;
  return new Problem('command.not-found', `no user has a subscription ${shown}`);
}
