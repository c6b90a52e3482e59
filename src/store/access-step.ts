/**
 * The step of a journey that tells which transition of an organization's access an event tells of, and who said so. Pure.
 */
import type { ExplainStep } from '../model/inspection';
import type { Access, AccessChange, ProbeAsker } from '../model/organization';

/** A row of the organization's history. */
export interface TransitionToTell {
  at: number;
  access: Access;
  previous: Access;
  cause: string | null;
  said_by: AccessChange['by'];
  asked_by: ProbeAsker | null;
}

/** Of which organization and epoch an event tells; null when it tells of no access. */
export function transitionOf(cause: string): { organizationId: string; epoch: number } | null {
  const [, organizationId, epoch] = /^access (.+)\/(\d{1,15})$/.exec(cause) ?? [];
  return organizationId === undefined ? null : { organizationId, epoch: Number(epoch) };
}

const speakers: Record<AccessChange['by'], string> = {
  probe: 'a probe',
  'connections-link': 'the `connections` link of the organization',
  grant: 'the refusal of a token',
  sync: 'a listing that showed it with its `connections` link',
  operator: 'an operator',
};

/** A probe that came by itself was asked for by nobody. */
const askers: Record<ProbeAsker, string | null> = {
  'refused-request': 'a refused request',
  notification: 'a notification',
  listing: 'a listing',
  consent: 'a new consent',
  operator: 'an operator',
  schedule: null,
};

export function accessStep(organizationId: string, row: TransitionToTell): ExplainStep {
  const { access, previous, cause, said_by: by, asked_by: askedBy } = row;
  const asker = askedBy === null ? null : askers[askedBy];
  const asked = asker === null ? '' : `, which ${asker} asked for`;
  const why = cause === null ? '' : ` (${cause})`;
  return {
    at: new Date(row.at).toISOString(),
    step: 'access',
    text: `the access of its organization ${organizationId} went from ${previous} to ${access}: so said ${speakers[by]}${asked}${why}`,
    organizationId,
    previous,
    access,
    cause,
    by,
    askedBy,
  };
}
