/**
 * Routes through which the provider's data is read and written on a person's behalf. Lists are lines of JSON, each
 * `{item}` or `{fault}`; what is written is said by parameters.
 */
import { Problem } from '../model/problem';
import type { EquipmentWish, ReferenceKind } from '../model/provider-data';
import { readParameters } from './parameters';
import type { Asked, Route } from './route';
import { Streamed, streamedLines } from './streamed';

const wishes = {
  category: 'category',
  name: 'text',
  serialNumber: 'text',
  make: 'text',
  type: 'text',
  model: 'text',
} as const;

const idMax = 256;

const equipmentRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/equipment',
    summary: 'equipment as the provider has it now',
    answer: async ({ provider }, { search }) => {
      const given = readParameters(search, {
        organization: 'texts',
        id: 'texts',
        serialNumber: 'texts',
        category: 'category',
        archived: 'truth',
      });
      const { category, archived } = given;
      const organizationIds = given.organization ?? [];
      const filter = { organizationIds, ids: given.id ?? [], serialNumbers: given.serialNumber ?? [] };
      return streamedLines(provider.equipment({ ...filter, category, archived }));
    },
  },
  {
    method: 'get',
    path: '/api/equipment/:id',
    summary: 'one piece of equipment as the provider has it now',
    answer: ({ provider }, asked) => {
      const { organization } = readParameters(asked.search, { organization: 'text' });
      return provider.equipmentRecord(idOf(asked), organization);
    },
  },
  {
    method: 'post',
    path: '/api/equipment/:id',
    summary: 'change a piece of equipment at the provider',
    answer: ({ provider }, asked) => {
      const { organization, ...wish } = readParameters(asked.search, { ...wishes, organization: 'text' });
      return provider.updateEquipment(idOf(asked), organization, wishOf(wish));
    },
  },
  {
    method: 'post',
    path: '/api/organizations/:id/equipment',
    summary: 'create a piece of equipment at the provider',
    answer: ({ provider }, asked) => {
      const wish = wishOf(readParameters(asked.search, wishes));
      if (wish.category === null || wish.name === null) {
        throw new Problem('command.usage', 'category and name are needed');
      }
      return provider.createEquipment(idOf(asked), wish);
    },
  },
  ...(['makes', 'types', 'models'] as const).map(referenceRoute),
];

function referenceRoute(kind: ReferenceKind): Route {
  return {
    method: 'get',
    path: `/api/equipment-${kind}`,
    summary: `${kind} of equipment`,
    answer: async ({ provider }, { search }) => {
      readParameters(search, {});
      return streamedLines(provider.reference(kind));
    },
  };
}

const fieldOperationRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/field-operations',
    summary: 'field operations as the provider has them now',
    answer: async ({ provider }, { search }) => {
      const { organization, field } = readParameters(search, { organization: 'text', field: 'text' });
      return streamedLines(provider.fieldOperations({ organizationId: organization, fieldId: field }));
    },
  },
  {
    method: 'get',
    path: '/api/field-operations/:id',
    summary: 'one field operation as the provider has it now',
    answer: ({ provider }, asked) => {
      const { organization } = readParameters(asked.search, { organization: 'text' });
      return provider.fieldOperation(idOf(asked), organization);
    },
  },
  {
    method: 'get',
    path: '/api/field-operations/:id/measurements',
    summary: 'its measurement types, from their own addresses',
    answer: ({ provider }, asked) => {
      const { organization, name } = readParameters(asked.search, { organization: 'text', name: 'text' });
      return provider.measurements(idOf(asked), organization, name);
    },
  },
];

const fileRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/files',
    summary: 'files as the provider lists them',
    answer: async ({ provider }, { search }) => {
      const { organization } = readParameters(search, { organization: 'text' });
      return streamedLines(provider.files(organization));
    },
  },
  {
    method: 'get',
    path: '/api/files/:id',
    summary: 'one file’s record',
    answer: ({ provider }, asked) => {
      readParameters(asked.search, {});
      return provider.file(idOf(asked));
    },
  },
  {
    method: 'get',
    path: '/api/files/:id/content',
    summary: 'its bytes, from a place on',
    answer: async ({ provider }, asked) => {
      const { from, version } = readParameters(asked.search, { from: 'position', version: 'text' });
      const content = await provider.fileContent(idOf(asked), from ?? 0, version);
      const headers: Record<string, string> = {
        'Tramline-File-From': String(content.from),
        'Tramline-File-Bytes': String(content.bytesTotal),
        'Tramline-File-Address': content.address,
      };
      if (content.bytesRecorded !== null)
        headers['Tramline-File-Bytes-Recorded'] = String(content.bytesRecorded);
      if (content.version !== null) headers['Tramline-File-Version'] = encodeURIComponent(content.version);
      if (content.sha256 !== null) headers['Tramline-File-Sha256'] = content.sha256;
      return new Streamed('application/octet-stream', headers, content.chunks);
    },
  },
];

export const providerRoutes: Route[] = [...equipmentRoutes, ...fieldOperationRoutes, ...fileRoutes];

function wishOf(given: {
  category: EquipmentWish['category'];
  name: string | null;
  serialNumber: string | null;
  make: string | null;
  type: string | null;
  model: string | null;
}): EquipmentWish {
  const { category, name, serialNumber, make, type, model } = given;
  return { category, name, serialNumber, makeId: make, typeId: type, modelId: model };
}

function idOf({ id }: Asked): string {
  if (id.length > idMax) throw new Problem('command.not-found', 'there is nothing with an id that long');
  return id;
}
