// Every address the provider hands out, and how they move. Only the catalog's address and the base of the equipment
// API stay; all other platform addresses change with each move and the old ones are unknown from then on. Once moved,
// what stands below a resource is no longer where its own address and a name would lead: only links lead there.
// Pages for people (consent, terms, connections) and the OAuth 2 issuer are other sites in life, and stay.

export const PLATFORM_PATH = '/platform';
export const EQUIPMENT_PATH = '/isg';
/** The OAuth 2 issuer's path; its metadata lie below it. */
export const ISSUER_PATH = '/signin/oauth2/default';
/** What programs call of the authorization server. The metadata stand at two addresses (RFC 8414 section 3.1). */
export const ISSUER_CALLS = {
  metadata: `${ISSUER_PATH}/.well-known/oauth-authorization-server`,
  metadataAtOrigin: `/.well-known/oauth-authorization-server${ISSUER_PATH}`,
  token: `${ISSUER_PATH}/v1/token`,
  revoke: `${ISSUER_PATH}/v1/revoke`,
};

export class Addresses {
  #moves = 0;

  constructor(readonly origin: string) {}

  get catalog(): string {
    return `${this.origin}${PLATFORM_PATH}/`;
  }

  get equipmentBase(): string {
    return `${this.origin}${EQUIPMENT_PATH}`;
  }

  get moves(): number {
    return this.#moves;
  }

  move(): void {
    this.#moves += 1;
  }

  /** The address of a platform path such as `/organizations/4711`, without query. */
  platform(path: string): string {
    return `${this.origin}${PLATFORM_PATH}${this.#prefix(path)}${path}`;
  }

  equipment(path: string): string {
    return `${this.equipmentBase}${path}`;
  }

  terms(organizationId: string): string {
    return `${this.origin}/portal/organizations/${organizationId}/terms`;
  }

  account(organizationId: string): string {
    return `${this.origin}/portal/organizations/${organizationId}/account`;
  }

  connections(clientKey: string): string {
    return `${this.origin}/portal/connections/${clientKey}/select-organizations`;
  }

  manageConnections(clientKey: string, organizationId: string): string {
    return `${this.origin}/portal/connections/${clientKey}/connections-dialog?orgId=${organizationId}`;
  }

  /** The platform path behind what follows `/platform`; `''` is the catalog, undefined an address that has moved away. */
  resolve(rest: string): string | undefined {
    if (rest === '' || rest === '/') return '';
    if (this.#moves === 0) return rest.startsWith('/') ? rest : undefined;
    const path = rest.replace(/^(?:\/[^/]*){2}/, '');
    return rest === `${this.#prefix(path)}${path}` && path !== '' ? path : undefined;
  }

  /** `/moved-1/level-2` before `/organizations/4711`: another one at each depth. */
  #prefix(path: string): string {
    return this.#moves === 0 ? '' : `/moved-${this.#moves}/level-${path.split('/').length - 1}`;
  }
}
