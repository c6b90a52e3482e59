// Equipment that clients created through the API: the records that were not generated from the seed.
// Promises a bound of 50,000 records, and ids that go on where the generated ones end. Their changes are kept elsewhere.
import type { JsonObject } from '../json';
import { ERID_SALT, FIRST_EQUIPMENT_ID, PRINCIPAL_DISTANCE } from './equipment';
import type { Organization } from './organizations';
import { uuidFor } from './random';

const KEPT_MAX = 50_000;

interface Created {
  organization: Organization;
  content: JsonObject;
}

export class CreatedEquipment {
  readonly #list: Created[] = [];

  constructor(
    readonly seed: number,
    readonly firstIndex: number,
  ) {}

  get size(): number {
    return this.#list.length;
  }

  get isFull(): boolean {
    return this.#list.length >= KEPT_MAX;
  }

  /** Undefined for an index that was generated. */
  at(index: number): Created | undefined {
    return this.#list[index - this.firstIndex];
  }

  *indexesOf(organization: Organization): Generator<number> {
    for (const [at, created] of this.#list.entries())
      if (created.organization === organization) yield this.firstIndex + at;
  }

  /** Returns the index of the new record. Throws a RangeError beyond the bound. */
  add(organization: Organization, facts: JsonObject, nowMs: number): number {
    if (this.isFull) throw new RangeError(`at most ${KEPT_MAX} pieces can be created`);
    const index = this.firstIndex + this.#list.length;
    const { serialNumber } = facts;
    const content: JsonObject = {
      id: FIRST_EQUIPMENT_ID + index,
      principalId: FIRST_EQUIPMENT_ID + index - PRINCIPAL_DISTANCE,
      ERID: uuidFor(this.seed, ERID_SALT, index),
      isSerialNumberCertified: false,
      organization: { '@type': 'Resource', id: Number(organization.id) },
      organizationRole: {
        type: 'Controlling',
        event: 'CREATION',
        effectiveTS: new Date(nowMs).toISOString(),
        inPossession: true,
      },
      telematicsCapable: false,
      archived: false,
      archivedTimestamp: null,
      isCsc: false,
      alternateIdentifiers:
        typeof serialNumber === 'string' ? [{ type: 'serialNumber', value: serialNumber }] : [],
      devices: [],
      mergedEquipment: [],
      ...facts,
    };
    this.#list.push({ organization, content });
    return index;
  }
}
