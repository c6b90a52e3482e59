/**
 * The machine and implement endpoints before the equipment API: where an organization lists them, and where a record
 * with an id stands, as their relationships and links say it. Read only where the operator has chosen them.
 */
import type { Answer } from '../model/answer';
import type { Connection } from '../model/connection';
import type { Clock } from '../tools/clock';
import { type AddressPattern, addressOf, patternOf } from './address-pattern';
import type { Caller } from './caller';
import { oldEquipmentEmbeds, withEmbeds } from './embed';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf } from './links';
import { type OrganizationSeen, type Organizations, organizationsOf } from './organizations';
import type { Pages } from './pages';
import { waitingAnswer } from './waiting-answer';

export interface OldEquipment {
  /** First pages of an organization's machines and implements, archived ones too; and what of them is not shared. */
  listings(
    organizationId: string,
    connection: Connection,
    caller: Caller,
  ): Promise<{ addresses: string[]; unshared: string[] } | { answer: Answer }>;
  /** Where a record may stand: among the machines, then among the implements. `fresh`: links have moved since. */
  places(
    sought: { id: string; organizationId: string | null; fresh: boolean },
    connection: Connection,
    caller: Caller,
  ): Promise<{ urls: URL[] } | { answer: Answer }>;
}

export interface OldEquipmentParts {
  gate: Gate;
  pages: Pages;
  organizations: Organizations;
  catalogOrigin: string;
  clock: Clock;
}

interface Learned {
  learnedAtMs: number;
  patterns: AddressPattern[];
}

const rels = ['machines', 'implements'] as const;
/** Addresses may move: what was learned is believed for this long only. */
const believedForMs = 60_000;

/** True for a record of these endpoints. */
export function isOldRecord(url: URL): boolean {
  return /\/(?:machines|implements)\/[^/]+\/?$/i.test(url.pathname);
}

/** Neither verb rejects. */
export function makeOldEquipment(parts: OldEquipmentParts): OldEquipment {
  const { gate, pages, organizations, catalogOrigin, clock } = parts;
  const learnedOf = new Map<string, Learned>();

  function listingsOf(organization: OrganizationSeen | null): string[] {
    return rels.flatMap((rel) => {
      const admission = gate.admit(organization?.links.get(rel));
      if (!admission.admitted) return [];
      const url = withEmbeds(admission.url, oldEquipmentEmbeds);
      url.searchParams.set('includeInactive', 'true');
      return [url.href];
    });
  }

  /** The forms of addresses, one for each kind that an organization has at least one record of. */
  async function learn(organization: OrganizationSeen, connection: Connection, caller: Caller) {
    const patterns: AddressPattern[] = [];
    for (const address of listingsOf(organization)) {
      const listing = { first: address, operation: 'relocation', connection, call: caller.call } as const;
      for await (const page of pages(listing)) {
        const [first] = page.partial ? [] : page.values;
        const { id } = (first ?? {}) as { id?: unknown };
        const pattern = patternOf(linksOf(first).get('self'), String(id), [organization.id]);
        if (pattern !== null) patterns.push(pattern);
        break;
      }
    }
    return patterns;
  }

  async function learnAny(organizationId: string | null, connection: Connection, caller: Caller) {
    if (organizationId !== null) {
      const found = await organizations.find(organizationId, connection, caller);
      if ('answer' in found) return found;
      const { organization } = found;
      return { patterns: organization === null ? [] : await learn(organization, connection, caller) };
    }
    const known = new Set<AddressPattern>();
    for await (const page of organizations.list(connection, caller)) {
      if (page.partial) break;
      for (const organization of organizationsOf(page.values)) {
        for (const pattern of await learn(organization, connection, caller)) known.add(pattern);
        if (known.size === rels.length) return { patterns: [...known] };
      }
    }
    return { patterns: [...known] };
  }

  return {
    async listings(organizationId, connection, caller) {
      const found = await organizations.find(organizationId, connection, caller);
      if ('answer' in found) return found;
      const { organization } = found;
      const unshared = rels.filter((rel) => organization?.links.get(rel) === undefined);
      const unread = unshared.length === 0 ? null : unreadLinkOf(organization?.unread ?? new Map(), unshared);
      if (unread !== null) {
        const { connectionId } = connection;
        const way = { code: 'organization-unavailable', origin: catalogOrigin, connectionId } as const;
        return { answer: waitingAnswer(way, unread) };
      }
      return { addresses: listingsOf(organization), unshared };
    },
    async places({ id, organizationId, fresh }, connection, caller) {
      const { connectionId } = connection;
      const kept = learnedOf.get(connectionId);
      let patterns = kept?.patterns ?? [];
      if (fresh || kept === undefined || clock.nowMs() - kept.learnedAtMs >= believedForMs) {
        const result = await learnAny(organizationId, connection, caller);
        if ('answer' in result) return result;
        ({ patterns } = result);
        // One kind alone may be all that this organization has; another asks again.
        if (patterns.length === rels.length) {
          learnedOf.set(connectionId, { learnedAtMs: clock.nowMs(), patterns });
        }
      }
      const admitted = patterns.map((pattern) => gate.admit(addressOf(pattern, id)));
      return { urls: admitted.flatMap((admission) => (admission.admitted ? [admission.url] : [])) };
    },
  };
}
