/**
 * The provider's data through the running service: lists line by line as they come, files as bytes. A list that breaks
 * off is an error, never taken as all there is.
 */
import { Problem } from '../model/problem';
import type { EquipmentWish, FileContent, Listed, ProviderApi } from '../model/provider-data';

type Query = Record<string, string | number | null>;

/** Resolves to an answer of 200; throws problems for others. */
export type Open = (
  method: 'GET' | 'POST',
  path: string,
  query: Query,
  idleMs: number,
) => Promise<{ response: Response; heard(): void }>;

/** One answer may take many calls to the provider. */
const idleMs = 120_000;
const lineCharactersMax = 64 * 1024 * 1024;

/** Bounds as `makeLineCalls` does. */
export function makeProviderCalls(open: Open): ProviderApi {
  const at = (id: string) => encodeURIComponent(id);
  const value = async <Value>(method: 'GET' | 'POST', path: string, query: Query = {}): Promise<Value> => {
    const { response } = await open(method, path, query, idleMs);
    return (await response.json()) as Value;
  };
  const list = makeLineCalls(open);
  return {
    equipment: ({ organizationIds, ids, serialNumbers, category, archived }) =>
      list('/api/equipment', {
        organization: joined(organizationIds),
        id: joined(ids),
        serialNumber: joined(serialNumbers),
        category,
        archived: archived === null ? null : String(archived),
      }),
    equipmentRecord: (id, organization) => value('GET', `/api/equipment/${at(id)}`, { organization }),
    createEquipment: (organizationId, wish) =>
      value('POST', `/api/organizations/${at(organizationId)}/equipment`, queryOf(wish)),
    updateEquipment: (id, organization, wish) =>
      value('POST', `/api/equipment/${at(id)}`, { ...queryOf(wish), organization }),
    reference: (kind) => list(`/api/equipment-${kind}`),
    fieldOperations: ({ organizationId, fieldId }) =>
      list('/api/field-operations', { organization: organizationId, field: fieldId }),
    fieldOperation: (id, organization) => value('GET', `/api/field-operations/${at(id)}`, { organization }),
    measurements: (id, organization, name) =>
      value('GET', `/api/field-operations/${at(id)}/measurements`, { organization, name }),
    files: (organization) => list('/api/files', { organization }),
    file: (id) => value('GET', `/api/files/${at(id)}`),
    fileContent: async (id, from, version) => {
      const opened = await open('GET', `/api/files/${at(id)}/content`, { from, version }, idleMs);
      return contentOf(opened);
    },
  };
}

/** Listings line by line as they come; one that breaks off, or has a line of more than 67,108,864 characters, throws. */
export function makeLineCalls(open: Open) {
  return <Item>(path: string, query: Query = {}) =>
    lines<Listed<Item>>(() => open('GET', path, query, idleMs));
}

function joined(values: string[]): string | null {
  return values.length === 0 ? null : values.join(',');
}

function queryOf({ category, name, serialNumber, makeId, typeId, modelId }: EquipmentWish): Query {
  return { category, name, serialNumber, make: makeId, type: typeId, model: modelId };
}

async function* lines<Line>(ask: () => ReturnType<Open>): AsyncGenerator<Line> {
  const { response, heard } = await ask();
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of piecesOf(response, heard)) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part) as Line;
    if (rest.length > lineCharactersMax) throw broken(new Error('a line of the answer is too long'));
  }
  if (rest !== '') throw broken(new Error('the last line is cut'));
}

function contentOf({ response, heard }: Awaited<ReturnType<Open>>): FileContent {
  const { headers } = response;
  const version = headers.get('tramline-file-version');
  return {
    address: headers.get('tramline-file-address') ?? 'the file',
    from: Number(headers.get('tramline-file-from')),
    bytesTotal: Number(headers.get('tramline-file-bytes')),
    version: version === null ? null : decodeURIComponent(version),
    sha256: headers.get('tramline-file-sha256'),
    chunks: piecesOf(response, heard),
  };
}

async function* piecesOf(response: Response, heard: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response.body ?? []) {
      heard();
      yield piece;
    }
  } catch (error) {
    throw broken(error);
  }
}

function broken(cause: unknown): Problem {
  return new Problem('provider.unavailable', 'the answer broke off before its end', cause);
}
