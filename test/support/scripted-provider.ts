// The provider's data as it would come from the fetch room, scripted: what each question was, and what it is answered.

import { Problem } from '../../src/model/problem';
import type {
  ProviderApi,
  ProviderData,
  RawFault,
  RawItem,
  RawListed,
  RawRead,
} from '../../src/model/provider-data';
import { makeProviderApi } from '../../src/operations/provider-api';

export interface ScriptedProvider {
  api: ProviderApi;
  /** Verb and arguments, in order. */
  asked: unknown[][];
  /** What listings answer. */
  lines: RawListed[];
  /** What everything else answers. */
  read: RawRead<never>;
  /** Successive answers for a file's bytes. */
  contents: (() => Awaited<ReturnType<ProviderData['fileContent']>>)[];
  /** No hint can be given. */
  storeIsAway: boolean;
}

export const itemOf = (body: unknown, address = 'https://provider.test/thing'): RawItem => ({
  body,
  address,
  mediaType: 'application/json',
  connectionId: 'c1',
});

export const faultOf = (answer: RawFault['answer'], more: Partial<RawFault> = {}): RawFault => ({
  answer,
  detail: 'the detail',
  address: 'https://provider.test/page',
  organizationId: '4711',
  ...more,
});

/** A document is good when its body has an id; its facts are its body's. */
export function makeScriptedProvider(): ScriptedProvider {
  const script: Omit<ScriptedProvider, 'api'> = {
    asked: [],
    lines: [],
    read: { fault: faultOf(null) },
    contents: [],
    storeIsAway: false,
  };
  const list = (verb: string) =>
    async function* (...given: unknown[]) {
      script.asked.push([verb, ...given]);
      yield* script.lines;
    };
  const read =
    (verb: string) =>
    async (...given: unknown[]) => {
      script.asked.push([verb, ...given]);
      return script.read;
    };
  const data: ProviderData = {
    equipment: list('equipment'),
    equipmentRecord: read('equipmentRecord'),
    createEquipment: read('createEquipment'),
    updateEquipment: read('updateEquipment'),
    reference: read('reference'),
    fieldOperations: list('fieldOperations'),
    fieldOperation: read('fieldOperation'),
    measurements: read('measurements'),
    files: list('files'),
    file: read('file'),
    async fileContent(...given) {
      script.asked.push(['fileContent', ...given]);
      const next = script.contents.shift();
      if (next === undefined) throw new Error('nothing more is scripted');
      return next();
    },
  };
  const api = makeProviderApi({
    data: () => data,
    ready: async () => {},
    async hintRefusal(...given) {
      if (script.storeIsAway) throw new Problem('store.unavailable', 'the store is away');
      script.asked.push(['hintRefusal', ...given]);
    },
    async document({ body, address, mediaType }) {
      const { id, ...facts } = body as { id?: string };
      if (id === undefined) return { ok: false, path: '/id', detail: 'an id is required' };
      const view = { id, organizationId: '4711', observedAt: '2026-03-01T12:00:00.000Z', ...facts };
      return { ok: true, view: { ...view, source: { address, mediaType } } };
    },
    file({ body, address, mediaType }) {
      const { id, nativeSize } = body as { id: string; nativeSize: number };
      const unsaid = {
        name: null,
        type: null,
        status: null,
        createdTime: null,
        modifiedTime: null,
        archived: null,
      };
      return { ok: true, view: { id, bytes: nativeSize, ...unsaid, source: { address, mediaType } } };
    },
    reference(body) {
      const { id, name } = body as { id?: string; name: string };
      return id === undefined ? { ok: false, path: '/id', detail: '' } : { ok: true, view: { id, name } };
    },
  });
  return Object.assign(script, { api });
}
