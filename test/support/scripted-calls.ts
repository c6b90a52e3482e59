// The provider's side of subscriptions, in memory: what it has, what it was asked, and what it answers instead.
import type { RawFault } from '../../src/model/provider-data';
import type { SubscriptionCalls } from '../../src/model/subscription';

export interface ScriptedCalls extends SubscriptionCalls {
  /** By connection; one with `links` of null has no link of its own. */
  listed: Map<string, Record<string, unknown>[]>;
  settings: Record<string, unknown>;
  /** Every write, in order. */
  written: { what: 'create' | 'change' | 'delivery'; connectionId: string; body: Record<string, unknown> }[];
  /** What is answered instead, by what is asked; `taken`: it was acted upon all the same. */
  faults: Partial<Record<'list' | 'create' | 'change' | 'delivery' | 'changeDelivery', RawFault>>;
  taken: boolean;
  /** A creation is answered without the subscription. */
  mute: boolean;
}

export function faultOf(kind: string, detail: string = kind): RawFault {
  const answer = { kind, detail, connectionId: 'c1' } as unknown as RawFault['answer'];
  return { answer, detail, address: null, organizationId: null };
}

export function makeScriptedCalls(): ScriptedCalls {
  const listOf = (connectionId: string) => calls.listed.get(connectionId) ?? [];
  const itemOf = (connectionId: string, body: Record<string, unknown>) => ({
    item: {
      body,
      address: 'https://provider.example/',
      self: body.links === null ? null : `https://provider.example/${String(body.id)}`,
      mediaType: 'm',
      connectionId,
    },
  });
  const calls: ScriptedCalls = {
    listed: new Map(),
    settings: { status: 'Active', authorizationHeaderValue: 'Bearer set' },
    written: [],
    faults: {},
    taken: false,
    mute: false,
    async *list(connectionId) {
      for (const body of listOf(connectionId)) yield itemOf(connectionId, body);
      if (calls.faults.list !== undefined) yield { fault: calls.faults.list };
    },
    async create(connectionId, given) {
      const body = given as Record<string, unknown>;
      calls.written.push({ what: 'create', connectionId, body });
      const { create: fault } = calls.faults;
      const created = { ...body, id: `s${calls.written.length}` };
      if (fault === undefined || calls.taken)
        calls.listed.set(connectionId, [...listOf(connectionId), created]);
      if (fault !== undefined) return { fault };
      return { value: { body: calls.mute ? null : created, address: 'https://provider.example/' } };
    },
    async change(connectionId, address, given) {
      const body = given as Record<string, unknown>;
      calls.written.push({ what: 'change', connectionId, body });
      if (calls.faults.change !== undefined) return { fault: calls.faults.change };
      const kept = listOf(connectionId).filter(({ id }) => !address.endsWith(`/${String(id)}`));
      calls.listed.set(connectionId, [...kept, body]);
      return { value: null };
    },
    async delivery(connectionId) {
      if (calls.faults.delivery !== undefined) return { fault: calls.faults.delivery };
      return { value: { body: calls.settings, address: 'a', mediaType: 'm', connectionId } };
    },
    async changeDelivery(connectionId, given) {
      const body = given as Record<string, unknown>;
      calls.written.push({ what: 'delivery', connectionId, body });
      if (calls.faults.changeDelivery !== undefined) return { fault: calls.faults.changeDelivery };
      Object.assign(calls.settings, body);
      return { value: null };
    },
  };
  return calls;
}
