// The controls that change what the provider holds: organizations, field operations and equipment.
// A change is notified at once unless told not to; a fault with `lagMs` keeps the old content in sight for a while.
import type { Request, Router } from 'express';
import { changeNotification, requiredActionNotification, resourceAddress } from '../webhooks/notifications';
import type { Organization } from '../world/organizations';
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
        return change(controls, kind, request, { patch, take: (remove ?? []) as string[] }, notify !== false);
      }),
    );
    router.delete(
      `/${kind}/:id`,
      control((request) =>
        change(controls, kind, request, { removed: true }, request.query.notify !== 'false'),
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
  const { notify, termsAccepted, connected, name, ...unknown } = objectBody(request);
  const [first] = Object.keys(unknown);
  if (first !== undefined)
    throw new BadControl(`${first} is not known; termsAccepted, connected, name and notify are`);
  for (const [key, value] of Object.entries({ termsAccepted, connected })) {
    if (value !== undefined && typeof value !== 'boolean')
      throw new BadControl(`${key} must be true or false`);
  }
  provider.world.organizations.change(organization, {
    ...(typeof termsAccepted === 'boolean' ? { termsAccepted } : {}),
    ...(typeof connected === 'boolean' ? { connected } : {}),
    ...(typeof name === 'string' ? { name } : {}),
  });
  if (notify === true)
    controls.deliveries.notify([requiredActionNotification(controls.sender, organization)]);
  return organizationState(organization);
}

function change(controls: Controls, kind: Kind, request: Request, wanted: Change, notify: boolean): object {
  const { provider, faults, deliveries, sender } = controls;
  const known = provider.world.truth(kind, String(request.params.id));
  if (!known) throw new BadControl(`no ${kind} ${request.params.id}`, 404);
  const address = new URL(resourceAddress(provider.addresses, kind, known.id)).pathname;
  const lagMs = faults.takeLag([address, `/${kind}/${known.id}`]);
  const seen = provider.world.change(kind, known.id, wanted, provider.nowMs(), lagMs)!;
  if (notify) deliveries.notify([changeNotification(sender, seen)]);
  return resourceState(provider, seen, true);
}
