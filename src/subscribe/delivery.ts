/**
 * The client's delivery settings: read and changed through any valid connection, since there is one object for all. A new
 * Authorization value is accepted before the provider is told of it, and the one before until the provider uses the new.
 */
import { randomBytes } from 'node:crypto';
import { missingConsents } from '../model/missing-consents';
import { Problem } from '../model/problem';
import type { RawRead } from '../model/provider-data';
import type { DeliveryView, DeliveryWanted } from '../model/subscription';
import { typeNameOf } from '../model/type-name';
import { Secret } from '../tools/secret';
import { afterChange } from './after-change';
import { deliveryViewOf, isRefusal, objectOf, withoutSecret } from './documents';
import type { SubscribeDoors } from './doors';

/**
 * So long after a change the provider may still send the former value, whatever its settings say: what it shows counts
 * only then. A delivery with the new value counts at once.
 */
const overlapMs = 60_000;
/** A value that the provider neither uses nor shows was never taken. */
const forgottenMs = 86_400_000;

/** Each throws as the API does. */
export interface Delivery {
  view(): Promise<DeliveryView>;
  set(wanted: DeliveryWanted): Promise<DeliveryView>;
  /** The value that the provider sends; null for none. */
  authorization(): Promise<string | null>;
}

export function makeDelivery(doors: SubscribeDoors): Delivery {
  const { book, clock, problemOf } = doors;

  /** The first connection that is not itself the obstacle decides. */
  async function through<Value>(
    ask: (connectionId: string) => Promise<RawRead<Value>>,
  ): Promise<RawRead<Value>> {
    await doors.ready();
    const connections = doors.connections();
    // Without a valid connection one is missing.
    let last: RawRead<Value> = { fault: missingConsents(connections)[0]! };
    for (const { connectionId, status } of connections) {
      if (status !== 'valid') continue;
      last = await ask(connectionId);
      if (!('fault' in last) || !personal.has(last.fault.answer?.kind ?? '')) return last;
    }
    return last;
  }

  async function read(): Promise<Record<string, unknown>> {
    const result = await through((connectionId) => doors.calls().delivery(connectionId));
    if ('fault' in result) throw problemOf(result.fault);
    const { body: shown, address } = result.value;
    const body = objectOf(shown);
    // Nothing follows from what cannot be read: a value that it does not show may be in use.
    if (typeof body.status !== 'string') {
      const got = typeNameOf(shown, 'an object without it');
      const detail = `the delivery settings: expected an object with a status, got ${got} (malformed-document)`;
      throw problemOf({ answer: null, detail, address, organizationId: null });
    }
    await notice(body.authorizationHeaderValue);
    return body;
  }

  async function notice(shown: unknown): Promise<void> {
    for (const { id, state, madeAtMs, secret } of book.held('authorization')) {
      const ageMs = clock.nowMs() - madeAtMs;
      if (state !== 'offered' || ageMs < overlapMs) continue;
      if (secret.open() === shown) await book.confirm(id);
      else if (ageMs >= forgottenMs) await book.drop(id);
    }
  }

  async function set({ authorization, ...wanted }: DeliveryWanted): Promise<DeliveryView> {
    const change: Record<string, unknown> = Object.fromEntries(
      Object.entries(wanted).filter(([, value]) => value !== undefined),
    );
    if (authorization === undefined) {
      if (Object.keys(change).length === 0)
        throw new Problem('command.usage', 'nothing is to be changed: name what');
      const result = await through((id) => doors.calls().changeDelivery(id, change));
      if ('fault' in result) throw problemOf(result.fault);
      return deliveryViewOf(await afterChange(read()));
    }
    const text =
      'value' in authorization ? authorization.value : `Bearer ${randomBytes(32).toString('base64url')}`;
    const offered = await book.offer(new Secret(text), {
      kind: 'authorization',
      user: null,
      connectionId: null,
    });
    await doors.spread();
    await withdrawWhereLater(book, offered.id);
    const body = { ...change, authorizationHeaderValue: text };
    const result = await through((id) => doors.calls().changeDelivery(id, body));
    if ('fault' in result) {
      // Without an answer it may be in use already.
      if (isRefusal(result.fault)) await book.drop(offered.id);
      throw problemOf(withoutSecret(result.fault, offered));
    }
    return deliveryViewOf(await afterChange(read()));
  }

  return {
    view: async () => deliveryViewOf(await read()),
    set,
    async authorization() {
      const { authorizationHeaderValue: value } = await read();
      return typeof value === 'string' && value !== '' ? value : null;
    },
  };
}

/**
 * Throws where another one was made since: which of two changes comes last at the provider nobody can know, and the later
 * value ends the one before it wherever it is heard.
 */
async function withdrawWhereLater(book: SubscribeDoors['book'], id: string): Promise<void> {
  await book.refresh();
  if (book.held('authorization').at(-1)?.id === id) return;
  await book.drop(id);
  // Whether the provider took that one only its own command learns.
  const todo = 'where the command of that one failed, nothing is changed: repeat this one';
  const detail = `another Authorization value was made meanwhile, so this one is not set; ${todo}`;
  throw new Problem('command.refused', detail);
}

/** What another user's connection need not meet. */
const personal = new Set<string>([
  'reauthorize',
  'no-access',
  'no-connection',
  'action-required',
  'not-connected',
  'refused-unattributed',
]);
