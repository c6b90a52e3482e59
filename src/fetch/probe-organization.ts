/**
 * A probe: does the provider let us read this organization now? The refused request is repeated; where none was refused,
 * its resource is gone, or the refusal names another organization, a known resource is read; else the organization's
 * record and the first page of one of its relationships. A listing of organizations proves nothing, since it shows
 * blocked ones too.
 */
import type { Answer } from '../model/answer';
import type { Connection } from '../model/connection';
import { type DueProbe, organizationNamedIn } from '../model/organization';
import type { Ask } from './ask';
import type { Attempt } from './attempt';
import type { Callers } from './caller';
import type { Gate } from './gate';
import type { OrganizationSeen, Organizations } from './organizations';
import { admitPage, platformLimits } from './pages';
import type { ReadResource } from './read-resource';
import type { Way } from './waiting-answer';

/** A success is `ok` or `not-modified`. Never rejects; all its calls share the attempt. */
export type ProbeOrganization = (
  probe: DueProbe,
  connection: Connection,
  attempt: Attempt,
) => Promise<Answer>;

export interface ProbeParts {
  ask: Ask;
  gate: Gate;
  callers: Callers;
  organizations: Organizations;
  readResource: ReadResource;
  /** Ids of the organizations that a connection sees, as last learned. */
  sees(connectionId: string): ReadonlySet<string>;
}

/** How many relationships are tried before an organization counts as open but empty. */
const relsMax = 3;
/** One item shows whether there is anything to be read. */
const onePage = { ...platformLimits, wanted: 1 };
/** The code of an answer about a resource that is not where it was. */
const lostOnTheWay: Way['code'] = 'relocation-incomplete';
const relsOfNoData = new Set(['self', 'connections', 'manage_connections']);

/** At most 3 relationships are tried. */
export function makeProbeOrganization(parts: ProbeParts): ProbeOrganization {
  const { ask, gate, callers, organizations, readResource, sees } = parts;

  /** The resource has gone to another organization since it was last read: of this one the refusal says nothing. */
  function namesAnother(answer: Answer, organizationId: string): boolean {
    if (answer.kind !== 'action-required') return false;
    const named = organizationNamedIn(answer.actionUrl);
    return named !== null && named !== organizationId && sees(answer.connectionId).has(named);
  }

  async function probeRels(
    organization: OrganizationSeen,
    connection: Connection,
    attempt: Attempt,
  ): Promise<Answer> {
    const { connectionId } = connection;
    const admissions = [...organization.links]
      .filter(([rel]) => !relsOfNoData.has(rel))
      .map(([, address]) => admitPage(gate, address, onePage, true));
    const barred = admissions.find((admission) => !admission.admitted);
    let refused: Answer | null = null;
    for (const { url } of admissions.filter((admission) => admission.admitted).slice(0, relsMax)) {
      const verdict = await ask({ url, operation: 'probe', connection }, attempt);
      if (verdict.kind === 'forbidden') {
        const { message, client } = verdict;
        if (refused === null || client)
          refused = { kind: client ? 'client-refused' : 'no-access', connectionId, message };
      } else if (verdict.kind !== 'gone' && verdict.kind !== 'refused') return verdict;
    }
    if (refused !== null) return refused;
    // Connected, not restricted, and nothing shared that could be read: nothing blocks it. Where something is shared that
    // may not be asked, wherever it stands, nothing is known: an organization that is blocked stays so.
    if (barred === undefined) return { kind: 'not-modified', connectionId };
    return { kind: 'address-refused', code: barred.code, detail: barred.detail };
  }

  /** null: the address may not be asked, or is of no use. */
  async function readAt(
    address: string | null,
    organizationId: string,
    connection: Connection,
    attempt: Attempt,
  ): Promise<Answer | null> {
    const admission = gate.admit(address);
    if (!admission.admitted) return null;
    const owner = { organizationId, certain: true };
    const wanted = { url: admission.url, identity: null, owner, connection, operation: 'probe' } as const;
    const answer = await readResource(wanted, attempt);
    // An absent resource says nothing about the organization, nor does one that may stand where nothing can be looked at.
    const isAbsent = answer.kind === 'gone' || (answer.kind === 'transient' && answer.code === lostOnTheWay);
    return isAbsent || answer.kind === 'refused' ? null : answer;
  }

  return async (probe, connection, attempt) => {
    const { organizationId, refusedAddress } = probe;
    const knownAddress = probe.knownAddress === refusedAddress ? null : probe.knownAddress;
    for (const address of [refusedAddress, knownAddress]) {
      const answer = await readAt(address, organizationId, connection, attempt);
      if (answer !== null && !namesAnother(answer, organizationId)) return answer;
    }
    const found = await organizations.find(organizationId, connection, callers.within(attempt));
    if ('answer' in found) return found.answer;
    const { organization } = found;
    const { connectionId } = connection;
    if (organization === null) {
      return {
        kind: 'refused-unattributed',
        connectionId,
        message: 'the organization is not listed to this user',
      };
    }
    if (organization.unconnected) {
      return { kind: 'not-connected', actionUrl: organization.connectUrl, connectionId };
    }
    return probeRels(organization, connection, attempt);
  };
}
