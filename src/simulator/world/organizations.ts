// The invented organizations and the two switches of each: terms accepted, connected to our client.
// Promises stable ids for a seed and constant-time look-up. Knows nothing of requests or of what organizations own.
import type { Changes } from './changes';
import { randomFor } from './random';
import { FARM_FIRST, FARM_SECOND } from './vocabulary';

export interface Organization {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly type: 'customer' | 'dealer';
  /** False = a partner's organization. */
  readonly member: boolean;
  readonly termsAccepted: boolean;
  readonly connected: boolean;
  /** What else its customer has to do before anything is read, besides accepting the terms; undefined = nothing. */
  readonly requiredAction: RequiredAction | undefined;
  /** The place of its last change in the order of all changes; 0 = as made. */
  readonly changed: number;
}

type Switches = Pick<Organization, 'name' | 'termsAccepted' | 'connected' | 'requiredAction'>;

export interface RequiredAction {
  message: string;
  /** False: the answer does not say where to act. */
  located: boolean;
}

const FIRST_ID = 4711;
const ID_STEP = 13;

/** All organizations of a world; every one starts connected and with its terms accepted. */
export class Organizations {
  readonly list: readonly Organization[];
  readonly #changes: Changes;
  readonly #byId = new Map<string, Organization>();

  constructor(seed: number, count: number, changes: Changes) {
    this.#changes = changes;
    this.list = Array.from({ length: count }, (_, index) => organizationFor(seed, index));
    for (const organization of this.list) this.#byId.set(organization.id, organization);
  }

  find(id: string): Organization | undefined {
    return this.#byId.get(id);
  }

  /** Sets what is named; the same object goes on standing for the organization. */
  change(organization: Organization, switches: Partial<Switches>): void {
    Object.assign(organization, switches, { changed: this.#changes.next() });
  }

  at(index: number): Organization {
    return this.list[index]!;
  }
}

function organizationFor(seed: number, index: number): Organization {
  const random = randomFor(seed, 1, index);
  return {
    index,
    id: String(FIRST_ID + index * ID_STEP),
    name: `${random.pick(FARM_FIRST)} ${random.pick(FARM_SECOND)}${index < 10 ? '' : ` ${index + 1}`}`,
    type: 'customer',
    member: index % 7 !== 6,
    termsAccepted: true,
    connected: true,
    requiredAction: undefined,
    changed: 0,
  };
}
