// The truth the simulator serves: organizations, equipment, fields and field operations, generated when looked at, and
// the changes made to them. Promises the same world for the same seed, constant-time look-up by id, and memory that
// grows with changes only. Knows nothing of HTTP.
import { isObject, type JsonObject, merge, without } from '../json';
import { Changes, isSince, type Mark } from './changes';
import { CreatedEquipment } from './created-equipment';
import {
  ERID_SALT,
  equipmentContent,
  FIRST_EQUIPMENT_ID,
  isArchived,
  isImplement,
  serialNumberFor,
} from './equipment';
import { FIELD_OPERATION_SALT, fieldOperationContent, OPERATIONS_PER_FIELD } from './field-operations';
import { FIELD_SALT } from './fields';
import { Files } from './files';
import { type Organization, Organizations } from './organizations';
import { indexOfUuid, uuidFor } from './random';
import { type Change, type Revision, Revisions } from './revisions';

export type Kind = 'equipment' | 'fieldOperations';

export interface WorldSize {
  organizations: number;
  equipment: number;
  fieldOperations: number;
}

export interface Outline {
  implement: boolean;
  archived: boolean;
}

/** A resource as one reader may see it. `revision` is 0 while it is as generated. */
export interface Seen {
  kind: Kind;
  id: string;
  organizationId: string;
  revision: number;
  removed: boolean;
  gone: boolean;
  /** Of equipment: what lists are filtered by, known without making the content where nothing was changed. */
  outline(): Outline;
  /** Makes the full content; costs some 20 µs, so callers keep what they made of it by `revision`. */
  content(): JsonObject;
}

export interface Field {
  index: number;
  id: string;
  organization: Organization;
}

interface Place {
  index: number;
  id: string;
}

export class World {
  readonly organizations: Organizations;
  readonly fieldsPerOrganization: number;
  readonly files: Files;
  /** What clients have created: it comes after everything generated. */
  readonly created: CreatedEquipment;
  readonly #changes = new Changes();
  readonly #revisions = new Revisions(this.#changes);
  /** True once a field operation was removed or given away: its organization's list has gaps then. */
  hasGaps = false;
  /** Equipment that was given to another organization than it was made in. */
  readonly #moved = new Set<number>();

  constructor(
    readonly seed: number,
    readonly size: WorldSize,
  ) {
    this.organizations = new Organizations(seed, size.organizations, this.#changes);
    this.files = new Files(seed, this.organizations, this.#changes);
    this.created = new CreatedEquipment(seed, size.organizations * size.equipment);
    this.fieldsPerOrganization = Math.ceil(size.fieldOperations / OPERATIONS_PER_FIELD);
  }

  /** What clients see of a resource at `nowMs`; undefined = never existed. */
  shown(kind: Kind, id: string, nowMs: number): Seen | undefined {
    const found = this.#find(kind, id);
    return found && this.#seen(kind, found, this.#revisions.shown(`${kind}/${found.id}`, nowMs));
  }

  /** The resource as it stands, whatever clients still see. */
  truth(kind: Kind, id: string): Seen | undefined {
    const found = this.#find(kind, id);
    return found && this.#seen(kind, found, this.#revisions.truth(`${kind}/${found.id}`));
  }

  /**
   * Applies a change; clients see it after `lagMs`. A field operation's `modifiedTime` rises unless the patch sets it.
   * Returns the new truth, undefined for an id that never existed.
   */
  change(kind: Kind, id: string, change: Change, nowMs: number, lagMs: number): Seen | undefined {
    const found = this.#find(kind, id);
    if (!found) return undefined;
    const patch = { ...change.patch };
    if (kind === 'fieldOperations' && !Object.hasOwn(patch, 'modifiedTime')) {
      const last = Date.parse(String(this.truth(kind, id)!.content().modifiedTime));
      patch.modifiedTime = new Date(Math.max(nowMs, Number.isNaN(last) ? 0 : last + 1)).toISOString();
    }
    this.#revisions.add(`${kind}/${found.id}`, { ...change, patch }, nowMs, lagMs);
    const after = this.truth(kind, id)!;
    if (kind === 'equipment' && after.organizationId !== this.#bornIn(kind, found.index).id)
      this.#moved.add(found.index);
    if (kind === 'fieldOperations' && (after.removed || Object.hasOwn(patch, 'orgId'))) this.hasGaps = true;
    return after;
  }

  /** The equipment of an organization as clients see it, in the order of the provider's listing, removed ones left out. */
  *equipmentOf(organization: Organization, look: (id: string) => Seen | undefined): Generator<Seen> {
    const first = organization.index * this.size.equipment;
    for (let at = 0; at < this.size.equipment; at += 1) {
      const seen = look(String(FIRST_EQUIPMENT_ID + first + at));
      if (seen && !seen.removed && seen.organizationId === organization.id) yield seen;
    }
    for (const index of this.created.indexesOf(organization)) {
      const seen = look(String(FIRST_EQUIPMENT_ID + index));
      if (seen && !seen.removed && seen.organizationId === organization.id) yield seen;
    }
    for (const index of this.#moved) {
      if (this.#bornIn('equipment', index) === organization) continue;
      const seen = look(String(FIRST_EQUIPMENT_ID + index));
      if (seen && !seen.removed && seen.organizationId === organization.id) yield seen;
    }
  }

  /** Ids of the equipment that carries a serial number, generated or changed to it. Looks at every piece: some ms per 10,000. */
  equipmentWithSerial(serialNumber: string): string[] {
    const found: string[] = [];
    const { created, size } = this;
    const generated = size.organizations * size.equipment;
    for (let index = 0; index < generated + created.size; index += 1) {
      const id = String(FIRST_EQUIPMENT_ID + index);
      const patched = this.#revisions.truth(`equipment/${id}`)?.patch.serialNumber;
      const made =
        index < generated
          ? serialNumberFor(index, index % size.equipment)
          : created.at(index)?.content.serialNumber;
      if ((patched ?? made) === serialNumber) found.push(id);
    }
    return found;
  }

  /** Equipment that a client creates, seen after `lagMs`; `facts` are laid over what every record holds. */
  createEquipment(organization: Organization, facts: JsonObject, nowMs: number, lagMs: number): Seen {
    const index = this.created.add(organization, facts, nowMs);
    const id = String(FIRST_EQUIPMENT_ID + index);
    if (lagMs > 0) {
      this.change('equipment', id, { removed: true }, nowMs, 0);
      this.change('equipment', id, { removed: false }, nowMs, lagMs);
    }
    return this.truth('equipment', id)!;
  }

  /** True for equipment that a client created, which is the only one that clients may change. */
  isCreated(id: string): boolean {
    const found = this.#find('equipment', id);
    return found !== undefined && this.created.at(found.index) !== undefined;
  }

  fieldAt(organization: Organization, position: number): Field {
    const index = organization.index * this.fieldsPerOrganization + position;
    return { index, id: uuidFor(this.seed, FIELD_SALT, index), organization };
  }

  findField(id: string): Field | undefined {
    const index = indexOfUuid(this.seed, FIELD_SALT, id);
    if (index === undefined || index >= this.size.organizations * this.fieldsPerOrganization)
      return undefined;
    return { index, id, organization: this.organizations.at(Math.floor(index / this.fieldsPerOrganization)) };
  }

  /** The field on which an operation took place; `id` must be one of an existing operation. */
  fieldOfOperation(id: string): Field {
    const { index } = this.#find('fieldOperations', id)!;
    const organization = this.#bornIn('fieldOperations', index);
    return this.fieldAt(organization, Math.floor((index % this.size.fieldOperations) / OPERATIONS_PER_FIELD));
  }

  /** Ids of the operations of a field, removed ones included. */
  operationIdsOf(field: Field): string[] {
    const position = (field.index % this.fieldsPerOrganization) * OPERATIONS_PER_FIELD;
    const count = Math.min(OPERATIONS_PER_FIELD, this.size.fieldOperations - position);
    const first = field.organization.index * this.size.fieldOperations + position;
    return Array.from({ length: count }, (_, at) => uuidFor(this.seed, FIELD_OPERATION_SALT, first + at));
  }

  /** The field operations of an organization in the order of its fields, from number `from` up to `to`. */
  *operationsOf(organization: Organization, nowMs: number, from: number, to: number): Generator<Seen> {
    const first = organization.index * this.size.fieldOperations;
    const gapless = !this.hasGaps;
    let number = gapless ? from : 0;
    for (let at = gapless ? from : 0; at < this.size.fieldOperations && number < to; at += 1) {
      const id = uuidFor(this.seed, FIELD_OPERATION_SALT, first + at);
      const seen = this.shown('fieldOperations', id, nowMs)!;
      if (seen.removed || seen.organizationId !== organization.id) continue;
      if (number >= from) yield seen;
      number += 1;
    }
  }

  /** This moment's place in the order of changes. */
  mark(nowMs: number): Mark {
    return { sequence: this.#changes.sequence, atMs: nowMs };
  }

  /** What clients see at `nowMs` of a resource that changed after the mark; undefined where it did not. */
  changedSince(kind: Kind, id: string, mark: Mark, nowMs: number): Seen | undefined {
    const found = this.#find(kind, id);
    const revision = found && this.#revisions.shown(`${kind}/${found.id}`, nowMs);
    return found && revision && isSince(mark, revision) ? this.#seen(kind, found, revision) : undefined;
  }

  /** Ids of a kind that were ever changed. */
  *changedIds(kind: Kind): Generator<string> {
    for (const key of this.#revisions.keys())
      if (key.startsWith(`${kind}/`)) yield key.slice(kind.length + 1);
  }

  /** Equipment is found by its id and by its ERID; `id` of the result is always the provider's own. */
  #find(kind: Kind, id: string): Place | undefined {
    const added = kind === 'equipment' ? this.created.size : 0;
    const count = this.size.organizations * this.size[kind] + added;
    if (kind === 'fieldOperations') {
      const index = indexOfUuid(this.seed, FIELD_OPERATION_SALT, id);
      return index !== undefined && index < count ? { index, id } : undefined;
    }
    const index = equipmentIndex(id) ?? indexOfUuid(this.seed, ERID_SALT, id);
    return index !== undefined && index < count
      ? { index, id: String(FIRST_EQUIPMENT_ID + index) }
      : undefined;
  }

  #bornIn(kind: Kind, index: number): Organization {
    const created = kind === 'equipment' ? this.created.at(index) : undefined;
    return created?.organization ?? this.organizations.at(Math.floor(index / this.size[kind]));
  }

  #seen(kind: Kind, { index, id }: Place, revision: Revision | undefined): Seen {
    const home = this.#bornIn(kind, index);
    const content = (): JsonObject => {
      const generated = this.#generate(kind, index, home);
      if (!revision) return generated;
      return revision.taken.reduce(without, merge(generated, revision.patch));
    };
    return {
      kind,
      id,
      organizationId: ownerIn(kind, revision) ?? home.id,
      revision: revision?.number ?? 0,
      removed: revision?.removed ?? false,
      gone: revision?.gone ?? false,
      outline: () => {
        const position = index % this.size[kind];
        if (!revision && !this.created.at(index))
          return { implement: isImplement(position), archived: isArchived(position) };
        const { '@type': type, archived } = content();
        return { implement: type === 'Implement', archived: archived === true };
      },
      content,
    };
  }

  #generate(kind: Kind, index: number, home: Organization): JsonObject {
    const created = kind === 'equipment' ? this.created.at(index) : undefined;
    if (created) return created.content;
    const position = index % this.size[kind];
    if (kind === 'equipment') {
      return equipmentContent(this.seed, {
        index,
        position,
        perOrganization: this.size.equipment,
        organizationId: home.id,
      });
    }
    return fieldOperationContent(this.seed, {
      index,
      position,
      organizationId: home.id,
      fieldIndex: home.index * this.fieldsPerOrganization + Math.floor(position / OPERATIONS_PER_FIELD),
      firstEquipment: home.index * this.size.equipment,
      equipmentCount: this.size.equipment,
    });
  }
}

function equipmentIndex(id: string): number | undefined {
  if (!/^\d{1,15}$/.test(id)) return undefined;
  const index = Number(id) - FIRST_EQUIPMENT_ID;
  return index >= 0 && String(index + FIRST_EQUIPMENT_ID) === id ? index : undefined;
}

/** The organization a change gave the resource to, if one did. */
function ownerIn(kind: Kind, revision: Revision | undefined): string | undefined {
  const owner = kind === 'equipment' ? inside(revision?.patch.organization) : revision?.patch.orgId;
  return typeof owner === 'string' || typeof owner === 'number' ? String(owner) : undefined;
}

function inside(organization: unknown): unknown {
  return isObject(organization) ? organization.id : undefined;
}
