// What operators can ask of subscriptions, answered from memory: one subscription and one object of delivery settings.
import { Problem } from '../../src/model/problem';
import type { ListingFault } from '../../src/model/provider-data';
import type { SubscriptionsApi } from '../../src/model/subscription';

export interface ScriptedSubscriptions {
  api: SubscriptionsApi;
  /** What was wanted, in order. */
  wanted: unknown[];
  status: 'Active' | 'Expired' | 'Terminated';
  none: boolean;
  /** Nobody can ask the provider for its user. */
  unasked: boolean;
  /** No token of it is known here. */
  refusedHere: boolean;
  /** The last line of the list. */
  fault: ListingFault | null;
}

export function makeScriptedSubscriptions(): ScriptedSubscriptions {
  const view = () => ({
    id: '0a1b2c3d-1111-2222-3333-444455556666',
    eventTypeId: 'fieldOperation',
    filters: [{ key: 'orgId', values: ['4711', '4712'] }],
    targetEndpoint: { targetType: 'https', uri: 'https://tramline.example/webhooks' },
    status: scripted.status,
    token: '[secret]',
    links: [],
    ...(scripted.refusedHere && { refusedHere: true }),
  });
  const known = (id: string) => {
    if (id !== view().id) throw new Problem('command.not-found', 'no user has that subscription');
  };
  const delivery = { status: 'Active', authorizationHeaderValue: '[secret]', concurrentDeliveries: 1 };
  const scripted: ScriptedSubscriptions = {
    wanted: [],
    status: 'Active',
    none: false,
    unasked: false,
    refusedHere: false,
    fault: null,
    api: {
      async *list() {
        if (!scripted.none) yield { item: view() };
        if (scripted.fault !== null) yield { fault: scripted.fault };
      },
      async create(wanted) {
        scripted.wanted.push(wanted);
        return view();
      },
      async renew(id) {
        known(id);
        return { ...view(), status: 'Active' };
      },
      async end(id) {
        known(id);
        if (scripted.unasked) return { id, state: 'forgotten', atProvider: false, user: 'ann lee' };
        return { ...view(), status: 'Terminated' };
      },
      delivery: async () => delivery,
      async setDelivery(wanted) {
        scripted.wanted.push(wanted);
        return delivery;
      },
    },
  };
  return scripted;
}
