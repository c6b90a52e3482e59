// The client application and the users of the provider: who may see which organization, and what the client may do.
// Promises the same names and keys for the same seed. Tokens are kept elsewhere.
import { ALL_SCOPES, type Scopes } from './scopes';
import { secretFor } from './secrets';

export interface User {
  readonly index: number;
  readonly name: string;
  readonly connection: string;
}

/** What the provider has registered for the client application; a control changes it. */
export interface ClientSettings {
  /** Where users may be sent back to. Undefined: to any loopback address and to any scheme of an application's own. */
  redirectUris: readonly string[] | undefined;
  /** What the client is licensed for; a token never gives more. */
  scopes: Scopes;
  accessSeconds: number;
  /** False: a refresh answers with the same refresh token. */
  rotation: boolean;
}

export interface UserSizes {
  users: number;
  /** How many further users see each organization. */
  overlap: number;
}

const ACCESS_SECONDS = 43_200;

export class Accounts {
  readonly clientKey: string;
  readonly clientSecret: string;
  readonly users: readonly User[];
  readonly client: ClientSettings = {
    redirectUris: undefined,
    scopes: ALL_SCOPES,
    accessSeconds: ACCESS_SECONDS,
    rotation: true,
  };
  /** Who answers consent pages by themselves: a control's choice, so that no browser is needed. */
  consentAnswer: { user: User; approve: boolean } | undefined;
  /** Rises whenever somebody sees other organizations than before. */
  seenVersion = 0;
  /** User → the indexes of exactly the organizations seen, where a control chose them. */
  readonly #chosen = new Map<User, ReadonlySet<number>>();

  constructor(
    vendor: string,
    seed: number,
    readonly sizes: UserSizes,
  ) {
    this.clientKey = `${vendor}-${secretFor(seed, 'client-key').toString('hex').slice(0, 40)}`;
    this.clientSecret = secretFor(seed, 'client-secret').toString('hex');
    this.users = Array.from({ length: sizes.users }, (_, index) => ({
      index,
      name: `${vendor}-user-${index + 1}`,
      connection: `connection-${index + 1}`,
    }));
  }

  find(name: string | undefined): User | undefined {
    return this.users.find((user) => user.name === name);
  }

  /** Organizations are dealt to the users in turn, and each is also seen by the `overlap` users that follow. */
  sees(user: User, organizationIndex: number): boolean {
    const chosen = this.#chosen.get(user);
    if (chosen) return chosen.has(organizationIndex);
    const { users, overlap } = this.sizes;
    return (((user.index - organizationIndex) % users) + users) % users <= overlap;
  }

  /** From now on the user sees exactly these organizations; undefined goes back to what was dealt. */
  chooseSeen(user: User, organizationIndexes: ReadonlySet<number> | undefined): void {
    this.seenVersion += 1;
    if (organizationIndexes) this.#chosen.set(user, organizationIndexes);
    else this.#chosen.delete(user);
  }

  /** True where users may be sent back to this address after consent. */
  mayReturnTo(address: string): boolean {
    const parsed = URL.parse(address);
    if (parsed?.hash !== '' || ['javascript:', 'data:', 'file:'].includes(parsed.protocol)) return false;
    const { redirectUris } = this.client;
    if (redirectUris) return redirectUris.includes(address);
    if (parsed.protocol === 'http:') return ['127.0.0.1', 'localhost', '[::1]'].includes(parsed.hostname);
    return true;
  }
}
