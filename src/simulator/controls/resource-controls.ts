// The controls that change what the provider holds: organizations, field operations and equipment.
// A change is notified at once unless told not to; a fault with `lagMs` keeps the old content in sight for a while.
import { validateHeaderValue } from 'node:http';
import type { Request, Router } from 'express';
import { isObject, type Json } from '../json';
import { requiredActionNotification, resourceAddress } from '../webhooks/notifications';
import { FILE_BYTES_MAX, type WorldFile } from '../world/files';
import type { Organization, RequiredAction } from '../world/organizations';
import type { Change } from '../world/revisions';
import type { Kind, Seen } from '../world/world';
import { BadControl, type Controls, control, objectBody } from './control';
import { organizationState, resourceState } from './state';

const KINDS: readonly Kind[] = ['fieldOperations', 'equipment'];

export function serveResourceControls(router: Router, controls: Controls): void {
  router.get(
    '/organizations/:id',
    control((request) => organizationState(organizationOf(controls, request))),
  );
  router.patch(
    '/organizations/:id',
    control((request) => patchOrganization(controls, request)),
  );
  serveFileControls(router, controls);
  for (const kind of KINDS) {
    router.get(
      `/${kind}/:id`,
      control((request) => resourceState(controls.provider, seenOf(controls, kind, request), true)),
    );
    router.patch(
      `/${kind}/:id`,
      control((request) => {
        const { notify, remove, ...patch } = objectBody(request);
        if (
          remove !== undefined &&
          !(Array.isArray(remove) && remove.every((path) => typeof path === 'string'))
        ) {
          throw new BadControl('remove must be a list of dotted paths');
        }
        // The record would stand at the address of another, or of none.
        if (Object.hasOwn(patch, 'id') || (Array.isArray(remove) && remove.includes('id')))
          throw new BadControl('the id of a record stays as it is');
        return change(controls, kind, request, { patch, take: (remove ?? []) as string[] }, notify !== false);
      }),
    );
    router.delete(
      `/${kind}/:id`,
      control((request) =>
        change(
          controls,
          kind,
          request,
          { removed: true, gone: request.query.gone === 'true' },
          request.query.notify !== 'false',
        ),
      ),
    );
    router.post(
      `/${kind}/:id/restore`,
      control((request) =>
        change(controls, kind, request, { removed: false }, request.query.notify !== 'false'),
      ),
    );
  }
}

/** Files have no notifications: nothing says that the provider sends any. */
function serveFileControls(router: Router, { provider }: Controls): void {
  const { files } = provider.world;
  const fileOf = (request: Request): WorldFile => {
    const file = files.find(String(request.params.id));
    if (!file) throw new BadControl(`no file ${request.params.id}`, 404);
    return file;
  };
  router.get(
    '/files/:id',
    control((request) => fileState(provider, fileOf(request))),
  );
  router.patch(
    '/files/:id',
    control((request) => {
      const change = objectBody(request);
      for (const [name, value] of Object.entries(change))
        if (typeof value !== FILE_CHANGES[name])
          throw new BadControl(`${name} is not known, or of another type`);
      const { bytes } = change;
      if (
        bytes !== undefined &&
        !(Number.isInteger(bytes) && Number(bytes) >= 1 && Number(bytes) <= FILE_BYTES_MAX)
      )
        throw new BadControl(`bytes must be a whole number from 1 to ${FILE_BYTES_MAX}`);
      return fileState(provider, files.change(fileOf(request), change, provider.nowMs()));
    }),
  );
}

const FILE_CHANGES: Readonly<Record<string, string>> = {
  name: 'string',
  archived: 'boolean',
  removed: 'boolean',
  bytes: 'number',
  newContent: 'boolean',
};

function fileState({ addresses, world }: Controls['provider'], file: WorldFile): object {
  const { id, organization, name, bytes, version, archived, removed } = file;
  const sha256 = Buffer.from(world.files.digest(file), 'base64').toString('hex');
  const uri = addresses.platform(`/files/${id}`);
  return { id, organizationId: organization.id, uri, name, bytes, version, archived, removed, sha256 };
}

function organizationOf({ provider }: Controls, request: Request): Organization {
  const organization = provider.world.organizations.find(String(request.params.id));
  if (!organization) throw new BadControl(`no organization ${request.params.id}`, 404);
  return organization;
}

function seenOf({ provider }: Controls, kind: Kind, request: Request): Seen {
  const seen = provider.world.truth(kind, String(request.params.id));
  if (!seen || seen.removed) throw new BadControl(`no ${kind} ${request.params.id}`, 404);
  return seen;
}

/** `termsAccepted`, `connected`, `name`; `notify: true` also sends a Required Customer Action notification. */
function patchOrganization(controls: Controls, request: Request): object {
  const { provider } = controls;
  const organization = organizationOf(controls, request);
  const { notify, termsAccepted, connected, name, requiredAction, ...unknown } = objectBody(request);
  const [first] = Object.keys(unknown);
  if (first !== undefined)
    throw new BadControl(
      `${first} is not known; termsAccepted, connected, name, requiredAction and notify are`,
    );
  if (name !== undefined && typeof name !== 'string') throw new BadControl('name must be text');
  for (const [key, value] of Object.entries({ termsAccepted, connected })) {
    if (value !== undefined && typeof value !== 'boolean')
      throw new BadControl(`${key} must be true or false`);
  }
  const { sandbox, world } = provider;
  if (connected === true && !organization.connected && !sandbox.mayConnect(world.organizations.list))
    throw new BadControl('no further organization can be connected in the sandbox');
  world.organizations.change(organization, {
    ...(requiredAction === undefined ? {} : { requiredAction: readAction(requiredAction) }),
    ...(typeof termsAccepted === 'boolean' ? { termsAccepted } : {}),
    ...(typeof connected === 'boolean' ? { connected } : {}),
    ...(typeof name === 'string' ? { name } : {}),
  });
  if (notify === true) controls.dispatch.tell(requiredActionNotification(controls.sender, organization));
  return organizationState(organization);
}

/** A sentence, or `{message, located: false}` where the answer does not say where to act; null for nothing. */
function readAction(given: Json): RequiredAction | undefined {
  if (given === null) return undefined;
  const { message, located } = isObject(given) ? given : { message: given, located: true };
  if (typeof message !== 'string') throw new BadControl('requiredAction needs a message');
  try {
    validateHeaderValue('X-Warning', message);
  } catch {
    throw new BadControl('the message of requiredAction must be one that a header can hold');
  }
  return { message, located: located !== false };
}

function change(controls: Controls, kind: Kind, request: Request, wanted: Change, notify: boolean): object {
  const { provider, faults, dispatch } = controls;
  const known = provider.world.truth(kind, String(request.params.id));
  if (!known) throw new BadControl(`no ${kind} ${request.params.id}`, 404);
  const address = new URL(resourceAddress(provider.addresses, kind, known.id)).pathname;
  const lagMs = faults.takeLag([address, `/${kind}/${known.id}`]);
  const seen = provider.world.change(kind, known.id, wanted, provider.nowMs(), lagMs)!;
  if (notify) dispatch.announce(seen);
  return resourceState(provider, seen, true);
}
