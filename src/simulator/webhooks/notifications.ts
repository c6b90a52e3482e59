// What the provider says when something happened: thin notifications without id, time, order or action.
// Promises the provider's shape and nothing more. Sending is not done here.
import { isObject, type Json, type JsonObject } from '../json';
import type { Addresses } from '../provider/addresses';
import type { Organization } from '../world/organizations';
import type { Seen, World } from '../world/world';

export interface Sender {
  clientKey: string;
  addresses: Addresses;
  world: World;
  /** The token of the subscription, echoed in each event; undefined = none was given. */
  token: () => string | undefined;
}

/** The address that clients read the resource at. */
export function resourceAddress(addresses: Addresses, kind: Seen['kind'], id: string): string {
  return kind === 'equipment'
    ? addresses.equipment(`/equipment/${id}`)
    : addresses.platform(`/fieldOperations/${id}`);
}

/** The notification of a change of a resource; the keys of the metadata are the filters of its event type. */
export function changeNotification(sender: Sender, seen: Seen): JsonObject {
  const { addresses, world } = sender;
  const metadata: JsonObject[] = [{ key: 'orgId', value: seen.organizationId }];
  if (seen.kind === 'fieldOperations') {
    const content = seen.content();
    metadata.push(
      { key: 'fieldOperationType', value: content.fieldOperationType ?? '' },
      { key: 'cropSeason', value: content.cropSeason ?? '' },
      { key: 'fieldId', value: world.fieldOfOperation(seen.id).id },
    );
  }
  return notification(sender, {
    eventTypeId: seen.kind === 'equipment' ? 'equipment' : 'fieldOperation',
    targetResource: resourceAddress(addresses, seen.kind, seen.id),
    metadata,
  });
}

/** That a customer has to act, as an installation may receive it besides the 403. */
export function requiredActionNotification(sender: Sender, organization: Organization): JsonObject {
  return notification(sender, {
    eventTypeId: 'requiredCustomerAction',
    targetResource: sender.addresses.platform(`/organizations/${organization.id}`),
    metadata: [{ key: 'orgId', value: organization.id }],
  });
}

/** `subscriptionVerification` and `heartbeat`: about the subscription, not about data. */
export function subscriptionNotification(
  sender: Sender,
  eventTypeId: string,
  subscriptionId: string,
): JsonObject {
  const uri = sender.addresses.platform(`/eventSubscriptions/${subscriptionId}`);
  return notification(sender, {
    eventTypeId,
    targetResource: uri,
    metadata: [],
    links: [{ rel: 'subscription', uri }],
  });
}

/** Fills in what a hand-made notification leaves out; anything that is not an object goes out as it is. */
export function completed(sender: Sender, given: Json): Json {
  if (!isObject(given)) return given;
  return notification(sender, { metadata: [], ...given });
}

function notification(sender: Sender, given: JsonObject): JsonObject {
  const token = sender.token();
  return { clientKey: sender.clientKey, ...(token === undefined ? {} : { token }), links: [], ...given };
}
