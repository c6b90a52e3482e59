// `GET state`: the truth as it stands, every resource with its content, whatever clients are still shown.
// Streams record by record, so that memory does not grow with the world. Removed resources are left out.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { ALL_EMBEDS, equipmentRecord } from '../provider/equipment';
import { operationRecord } from '../provider/field-operations';
import type { Provider } from '../provider/provider';
import { resourceAddress } from '../webhooks/notifications';
import type { Organization } from '../world/organizations';
import type { Seen } from '../world/world';

const METRIC = { english: false, yieldByVolume: false };
const CHUNK_CHARACTERS = 65_536;

export interface StateRequest {
  /** Only what belongs to this organization; undefined = everything. */
  organizationId: string | undefined;
  /** False leaves `content` out of every record. */
  content: boolean;
}

/** Writes the whole state as one JSON object and ends the stream. */
export async function writeState(provider: Provider, out: Writable, request: StateRequest): Promise<void> {
  let text = '';
  const write = async (part: string): Promise<void> => {
    text += part;
    if (text.length < CHUNK_CHARACTERS) return;
    const full = !out.write(text);
    text = '';
    if (full && !out.destroyed) await drainedOrClosed(out);
  };
  const writeList = async (name: string, records: Iterable<object>): Promise<void> => {
    await write(`${JSON.stringify(name)}:[`);
    let first = true;
    for (const record of records) {
      if (out.destroyed) return;
      await write(`${first ? '' : ','}${JSON.stringify(record)}`);
      first = false;
    }
    await write(']');
  };
  const organizations = provider.world.organizations.list.filter(
    ({ id }) => request.organizationId === undefined || id === request.organizationId,
  );
  await write('{');
  await writeList('organizations', organizations.map(organizationState));
  await write(',');
  await writeList('equipment', equipmentStates(provider, organizations, request.content));
  await write(',');
  await writeList('fieldOperations', fieldOperationStates(provider, organizations, request.content));
  out.end(`${text}}`);
}

/** Leaves no listener behind: a long answer waits for each of its chunks. */
async function drainedOrClosed(out: Writable): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(out, 'drain', { signal }), once(out, 'close', { signal })]);
  } finally {
    over.abort();
  }
}

export function organizationState(organization: Organization): object {
  const { id, name, termsAccepted, connected, requiredAction } = organization;
  return { id, name, termsAccepted, connected, ...(requiredAction ? { requiredAction } : {}) };
}

/** One resource as `state` shows it: the full content in the form of the day, metric, every embed included. */
export function resourceState(provider: Provider, seen: Seen, content: boolean): object {
  const { id, organizationId, kind } = seen;
  const uri = resourceAddress(provider.addresses, kind, id);
  if (kind === 'equipment')
    return {
      id,
      organizationId,
      uri,
      ...(content ? { content: equipmentRecord(seen.content(), ALL_EMBEDS) } : {}),
    };
  const fieldId = provider.world.fieldOfOperation(id).id;
  return {
    id,
    organizationId,
    fieldId,
    uri,
    ...(content ? { content: operationRecord(provider, seen, { embed: true, units: METRIC }) } : {}),
  };
}

function* equipmentStates(
  provider: Provider,
  organizations: readonly Organization[],
  content: boolean,
): Generator<object> {
  const { world } = provider;
  for (const organization of organizations) {
    for (const seen of world.equipmentOf(organization, (id) => world.truth('equipment', id)))
      yield resourceState(provider, seen, content);
  }
}

function* fieldOperationStates(
  provider: Provider,
  organizations: readonly Organization[],
  content: boolean,
): Generator<object> {
  const { world } = provider;
  for (const organization of organizations) {
    for (let position = 0; position < world.fieldsPerOrganization; position += 1) {
      for (const id of world.operationIdsOf(world.fieldAt(organization, position))) {
        const seen = world.truth('fieldOperations', id)!;
        if (!seen.removed) yield resourceState(provider, seen, content);
      }
    }
  }
}
