/**
 * What claiming and probing need to know of each organization, in memory beside its row: whether it may be read, its
 * epoch, when its next probe is due. Built when the store opens; every change goes to the row in the same call.
 */
import type { Access, ProbeAsker } from '../../model/organization';
import { forgettingName, forgettingPrefix } from '../forgetting';
import type { Database } from './database';

export interface CachedOrganization {
  id: string;
  access: Access;
  epoch: number;
  /** Claims wait until then for a probe's answer; 0 when none is asked for. */
  heldUntilMs: number;
  /** When the next probe is to begin; while one is under way, what was asked for since. */
  probeAtMs: number | null;
  /** What asked for it; null where that is not known any more. */
  probeAskedBy: ProbeAsker | null;
  /** Until when a probe is under way; 0 when none is. */
  probeLeaseUntilMs: number;
  /** What the last probe that ended found; null when one was asked for on demand and none has ended since. */
  probeFound: string | null;
  /** When the last probe began; 0 when none did, or when one ended a block since. */
  probedAtMs: number;
  /** A resource of it was read once: a probe can ask for that one. */
  wasRead: boolean;
  /** A connection of it is known: a listing showed it, or something of it was read or refused. */
  wasShown: boolean;
  /** Tasks of it that were found gone lately, as times: many at once are not believed. */
  goneAtMs: number[];
  /** How many resources it had before so many of them went; null while few did. */
  presentBefore: number | null;
  /** Not all that waits for it is given up yet: it is not probed, and stays as it is. */
  isBeingForgotten: boolean;
}

export class OrganizationCache {
  readonly #organizations = new Map<string, CachedOrganization>();
  readonly #database: Database;
  readonly #undo: (action: () => void) => void;

  /** Who is added tells `undo` how to take that back. */
  constructor(database: Database, undo: (action: () => void) => void) {
    this.#database = database;
    this.#undo = undo;
  }

  load(): void {
    const names = this.#database.all('SELECT name FROM meta WHERE name LIKE ?', `${forgettingPrefix}%`);
    const forgetting = new Set(names.map(({ name }) => String(name)));
    for (const row of this.#database.all(
      `SELECT id, access, epoch, probe_at, probe_asked_by, probed_at, known_address, connection_id, gone_at, present_before
       FROM organizations`,
    )) {
      const organization = this.#add(String(row.id));
      organization.access = row.access as Access;
      organization.epoch = Number(row.epoch);
      organization.probeAtMs = row.probe_at === null ? null : Number(row.probe_at);
      organization.probeAskedBy = row.probe_asked_by as ProbeAsker | null;
      organization.probedAtMs = Number(row.probed_at ?? 0);
      organization.wasRead = row.known_address !== null;
      organization.wasShown = row.connection_id !== null;
      organization.goneAtMs = JSON.parse(String(row.gone_at)) as number[];
      organization.presentBefore = row.present_before as number | null;
      organization.isBeingForgotten = forgetting.has(forgettingName(organization.id, organization.epoch));
    }
  }

  get(id: string): CachedOrganization | undefined {
    return this.#organizations.get(id);
  }

  /** Adds an organization met for the first time, active. */
  ensure(id: string): CachedOrganization {
    const known = this.#organizations.get(id);
    if (known !== undefined) return known;
    this.#database.run('INSERT INTO organizations (id) VALUES (?)', id);
    this.#undo(() => this.#organizations.delete(id));
    return this.#add(id);
  }

  /** To be called before a change: a rollback brings all of it back. */
  remember(organization: CachedOrganization): void {
    const before = { ...organization };
    this.#undo(() => void Object.assign(organization, before));
  }

  all(): IterableIterator<CachedOrganization> {
    return this.#organizations.values();
  }

  /** From when on work of this lane may be taken; null while it is blocked. That of an unknown owner always may. */
  openAtMs(id: string): number | null {
    const organization = this.#organizations.get(id);
    if (organization === undefined) return 0;
    return organization.access === 'active' ? organization.heldUntilMs : null;
  }

  #add(id: string): CachedOrganization {
    const organization: CachedOrganization = {
      id,
      access: 'active',
      epoch: 1,
      heldUntilMs: 0,
      probeAtMs: null,
      probeAskedBy: null,
      probeLeaseUntilMs: 0,
      probeFound: null,
      probedAtMs: 0,
      wasRead: false,
      wasShown: false,
      goneAtMs: [],
      presentBefore: null,
      isBeingForgotten: false,
    };
    this.#organizations.set(id, organization);
    return organization;
  }
}
