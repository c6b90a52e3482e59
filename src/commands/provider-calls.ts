/**
 * The provider's data through the running service: lists line by line as they come, files as bytes. A list that breaks
 * off is an error, never taken as all there is.
 */
import { Problem } from '../model/problem';
import type { EquipmentWish, FileContent, ProviderApi } from '../model/provider-data';
import { listed, type Shape, shapes } from './answer-shapes';
import type { Call, Open, Query } from './call';
import type { HttpAnswer } from './http-answer';
import { mediaTypeOf, readAnswer, readValue, strange, textOf } from './read-answer';

/** One answer may take many calls to the provider. */
const idleMs = 120_000;
const lineCharactersMax = 64 * 1024 * 1024;

/** Bounds as `makeLineCalls` does. */
export function makeProviderCalls(open: Open): ProviderApi {
  const at = (id: string) => encodeURIComponent(id);
  const ask = async <Value>(shape: Shape<Value>, call: Call): Promise<Value> => {
    const answer = await open(call, idleMs);
    return readAnswer(answer, await textOf(piecesOf(answer)), shape, call.method !== 'GET');
  };
  const get = <Value>(shape: Shape<Value>, path: string, query: Query = {}) =>
    ask(shape, { method: 'GET', path, query });
  const post = <Value>(shape: Shape<Value>, path: string, query: Query) =>
    ask(shape, { method: 'POST', path, query });
  const list = makeLineCalls(open);
  return {
    equipment: ({ organizationIds, ids, serialNumbers, category, archived }) =>
      list(shapes.document, '/api/equipment', {
        organization: joined(organizationIds),
        id: joined(ids),
        serialNumber: joined(serialNumbers),
        category,
        archived: archived === null ? null : String(archived),
      }),
    equipmentRecord: (id, organization) => get(shapes.document, `/api/equipment/${at(id)}`, { organization }),
    createEquipment: (organizationId, wish) =>
      post(shapes.written, `/api/organizations/${at(organizationId)}/equipment`, queryOf(wish)),
    updateEquipment: (id, organization, wish) =>
      post(shapes.document, `/api/equipment/${at(id)}`, { ...queryOf(wish), organization }),
    reference: (kind) => list(shapes.reference, `/api/equipment-${kind}`),
    fieldOperations: ({ organizationId, fieldId }) =>
      list(shapes.document, '/api/field-operations', { organization: organizationId, field: fieldId }),
    fieldOperation: (id, organization) =>
      get(shapes.document, `/api/field-operations/${at(id)}`, { organization }),
    measurements: (id, organization, name) =>
      get(shapes.measurements, `/api/field-operations/${at(id)}/measurements`, {
        organization,
        name,
      }),
    files: (organization) => list(shapes.file, '/api/files', { organization }),
    file: (id) => get(shapes.file, `/api/files/${at(id)}`),
    fileContent: async (id, from, version) =>
      contentOf(
        await open({ method: 'GET', path: `/api/files/${at(id)}/content`, query: { from, version } }, idleMs),
      ),
  };
}

/** Listings line by line as they come; one that breaks off, or has a line of more than 67,108,864 characters, throws. */
export function makeLineCalls(open: Open) {
  return <Item>(item: Shape<Item>, path: string, query: Query = {}) =>
    lines(listed(item), () => open({ method: 'GET', path, query }, idleMs));
}

function joined(values: string[]): string | null {
  return values.length === 0 ? null : values.join(',');
}

function queryOf({ category, name, serialNumber, makeId, typeId, modelId }: EquipmentWish): Query {
  return { category, name, serialNumber, make: makeId, type: typeId, model: modelId };
}

async function* lines<Line>(shape: Shape<Line>, ask: () => ReturnType<Open>): AsyncGenerator<Line> {
  const answer = await ask();
  const type = mediaTypeOf(answer.headers);
  // An empty page of another program would be taken for a list of nothing.
  if (!type.startsWith('application/x-ndjson')) {
    answer.leave();
    throw strange(answer.url, `no lines of JSON (${type})`);
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of piecesOf(answer)) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield readValue(answer, part, shape);
    if (rest.length > lineCharactersMax) throw broken(new Error('a line of the answer is too long'));
  }
  if (rest !== '') throw broken(new Error('the last line is cut'));
}

const wholeNumber = /^\d{1,15}$/;

/** Of another program any page would be taken for the file. */
async function contentOf(answer: HttpAnswer): Promise<FileContent> {
  const { headers, url } = answer;
  const from = headers.get('tramline-file-from') ?? '';
  const bytesTotal = headers.get('tramline-file-bytes') ?? '';
  if (!wholeNumber.test(from) || !wholeNumber.test(bytesTotal)) {
    answer.leave();
    throw strange(url, `no part of a file (${mediaTypeOf(headers)})`);
  }
  const recorded = headers.get('tramline-file-bytes-recorded') ?? '';
  const version = headers.get('tramline-file-version');
  return {
    address: headers.get('tramline-file-address') ?? 'the file',
    from: Number(from),
    bytesTotal: Number(bytesTotal),
    bytesRecorded: wholeNumber.test(recorded) ? Number(recorded) : null,
    version: version === null ? null : decodeURIComponent(version),
    sha256: headers.get('tramline-file-sha256'),
    chunks: piecesOf(answer),
  };
}

async function* piecesOf({ body, heard }: HttpAnswer): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of body) {
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
