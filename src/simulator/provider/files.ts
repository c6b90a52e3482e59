// Files: the lists of a user and of an organization, the record, and the bytes by ranges with ETag and digest.
// The same address answers the record or the bytes by Accept. At most 50 MB go out in one call.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import type { WorldFile } from '../world/files';
import type { Organization } from '../world/organizations';
import { askedRange } from './byte-range';
import { route } from './entry';
import { type Answer, type Exchange, header } from './exchange';
import { link } from './links';
import { answerList } from './listing';
import { admit, admittedOrganization, type Provider, userWith } from './provider';
import { Refusal } from './refusal';

const FILE_CALL_BYTES_MAX = 50_000_000;

export function serveFiles(router: Router, provider: Provider): void {
  const { accounts, addresses, coverage, world } = provider;
  router.get(
    '/files',
    route((exchange) => {
      const user = userWith(provider, exchange, 'files');
      coverage.count('files-list');
      const open = world.organizations.list.filter(
        (one) => accounts.sees(user, one.index) && one.connected && one.termsAccepted,
      );
      const form = open.map(({ id }) => id).join();
      return filesAnswer(provider, exchange, addresses.platform('/files'), open, form);
    }),
  );
  router.get(
    '/organizations/:organizationId/files',
    route((exchange, { organizationId }) => {
      userWith(provider, exchange, 'files');
      const organization = admittedOrganization(provider, exchange, organizationId!);
      coverage.count('files-of-organization');
      const address = addresses.platform(`/organizations/${organization.id}/files`);
      return filesAnswer(provider, exchange, address, [organization], '');
    }),
  );
  router.get(
    '/files/:id',
    route((exchange, { id }) => {
      userWith(provider, exchange, 'files');
      const file = world.files.find(id!);
      if (!file) throw new Refusal(404, 'The requested resource was not found');
      admit(provider, exchange, file.organization);
      if (file.removed) throw new Refusal(404, 'The requested resource was not found');
      if (wantsBytes(exchange)) return bytesAnswer(provider, exchange, file);
      coverage.count('file-get');
      return { json: fileRecord(provider, file) };
    }),
  );
}

/** True where Accept names bytes before the record's media type. */
function wantsBytes(exchange: Exchange): boolean {
  return /^\s*application\/octet-stream\s*([;,]|$)/i.test(header(exchange, 'accept') ?? '');
}

function filesAnswer(
  provider: Provider,
  exchange: Exchange,
  address: string,
  organizations: readonly Organization[],
  form: string,
): Answer {
  const { addresses, world } = provider;
  const query = new URLSearchParams(exchange.query);
  const wanted = fileFilter(query);
  const all = organizations.flatMap((organization) => world.files.ofOrganization(organization));
  const shown = all.filter((file) => !file.removed && wanted(file));
  return answerList(provider, exchange, query, {
    address,
    form,
    entries: (from, to) => shown.slice(from, to),
    total: shown.length,
    record: (file) => fileRecord(provider, file),
    changedSince: ({ sequence }) =>
      all
        .filter(({ changed }) => changed > sequence)
        .map((file) =>
          !file.removed && wanted(file)
            ? { entry: file }
            : { gone: { type: 'File', id: file.id, address: addresses.platform(`/files/${file.id}`) } },
        ),
  });
}

function fileFilter(query: URLSearchParams): (file: WorldFile) => boolean {
  const [type, status, archived, start, end] = ['fileType', 'status', 'archived', 'startDate', 'endDate'].map(
    (name) => query.get(name),
  );
  return (file) =>
    (type == null || file.type === type.toUpperCase()) &&
    (status == null || file.status === status.toUpperCase()) &&
    (archived == null || String(file.archived) === archived) &&
    (start == null || Date.parse(file.modifiedTime) >= Date.parse(start)) &&
    (end == null || Date.parse(file.modifiedTime) <= Date.parse(end));
}

/** Sizes and flags are text, as in the provider's samples. */
function fileRecord({ addresses }: Provider, file: WorldFile): JsonObject {
  const self = addresses.platform(`/files/${file.id}`);
  const organization = addresses.platform(`/organizations/${file.organization.id}`);
  return {
    '@type': 'File',
    id: file.id,
    name: file.name,
    type: file.type,
    createdTime: file.createdTime,
    modifiedTime: file.modifiedTime,
    nativeSize: String(file.bytes),
    source: 'user',
    transferPending: 'false',
    visibleViaShare: 'owned',
    shared: 'false',
    status: file.status,
    archived: String(file.archived),
    assigned: 'false',
    new: 'false',
    links: [link('self', self), link('owningOrganization', organization)],
  };
}

function bytesAnswer(provider: Provider, exchange: Exchange, file: WorldFile): Answer {
  const { coverage, world } = provider;
  if (file.status !== 'READY') throw new Refusal(404, 'The file has not been uploaded yet.');
  const etag = `"${file.id}-${file.version}"`;
  const headers: Record<string, string> = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Repr-Digest': `sha-256=:${world.files.digest(file)}:`,
    'Last-Modified': new Date(file.modifiedTime).toUTCString(),
  };
  if (header(exchange, 'if-none-match') === etag) {
    coverage.count('file-unchanged');
    return { status: 304, headers };
  }
  const condition = header(exchange, 'if-range');
  const rangeHeader = condition === undefined || condition === etag ? header(exchange, 'range') : undefined;
  const asked = askedRange(rangeHeader, new URLSearchParams(exchange.query), file.bytes);
  if ('unsatisfiable' in asked) {
    coverage.count('file-range-refused');
    const unsatisfied = { ...headers, 'Content-Range': `bytes */${file.bytes}` };
    throw new Refusal(416, 'The range lies behind the end of the file.', { headers: unsatisfied });
  }
  const { from, to } = 'range' in asked ? asked.range : { from: 0, to: file.bytes };
  if (to - from > FILE_CALL_BYTES_MAX)
    throw new Refusal(400, `At most ${FILE_CALL_BYTES_MAX} bytes are sent in one call: ask for ranges.`);
  const partial = 'range' in asked;
  coverage.count(partial ? 'file-range' : 'file-download');
  if (partial) headers['Content-Range'] = `bytes ${from}-${to - 1}/${file.bytes}`;
  return {
    status: partial ? 206 : 200,
    bytes: { parts: world.files.bytes(file, from, to), length: to - from },
    contentType: 'application/octet-stream',
    headers,
  };
}
