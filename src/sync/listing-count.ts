/**
 * How many listings a run has, counted in memory: read to their end, met, and still to come, as far as that is known.
 * One number for each organization that is not done with; decides nothing.
 */
import type { ListingName, SyncRun, SyncView } from '../model/sync';

export class ListingCount {
  /** Every organization that is wanted was met. */
  allMet = false;
  #readBefore = 0;
  #read = 0;
  #last: number | null = null;
  /** Met and not read to their end: of an organization itself, and of its fields, which may be begun anew. */
  readonly #open = new Map<string, number>();
  /** Fields of an organization whose listings were not met yet; null while nothing says how many. */
  readonly #toCome = new Map<string, number | null>();

  begin({ listingsRead, listingsLast }: Pick<SyncRun, 'listingsRead' | 'listingsLast'>): void {
    this.#readBefore = listingsRead;
    this.#last = listingsLast;
  }

  /** An organization is listed, perhaps once more, through another connection. */
  beginOrganization(id: string): void {
    this.#open.delete(id);
    this.beginFields(id);
  }

  beginFields(id: string): void {
    this.#open.delete(fieldsOf(id));
    this.#toCome.set(id, null);
  }

  /** Those that were not read to their end by this run. */
  met(names: ListingName[]): void {
    for (const name of names) this.#add(name, 1);
  }

  readToEnd(name: ListingName): void {
    this.#read += 1;
    this.#add(name, -1);
  }

  /** null: that is not known. */
  fieldsToCome(id: string, count: number | null): void {
    this.#toCome.set(id, count);
  }

  fieldsEnded(id: string): void {
    this.#toCome.delete(id);
  }

  get known(): number {
    return this.#readBefore + this.#read + sumOf(this.#open.values());
  }

  view(): SyncView['listings'] {
    const { known } = this;
    return { done: this.#readBefore + this.#read, read: this.#read, known, total: this.#total(known) };
  }

  #total(known: number): number | null {
    const toCome = [...this.#toCome.values()];
    const told = known + sumOf(toCome);
    if (this.allMet && !toCome.includes(null)) return told;
    return this.#last === null ? null : Math.max(told, this.#last);
  }

  #add({ scope, organizationId }: ListingName, more: number): void {
    const fields = fieldsOf(organizationId);
    const of = scope.startsWith(fields) ? fields : organizationId;
    const count = (this.#open.get(of) ?? 0) + more;
    if (count > 0) this.#open.set(of, count);
    else this.#open.delete(of);
  }
}

/** What the scopes of all listings of single fields begin with. */
function fieldsOf(organizationId: string): string {
  return `${organizationId}/fields/`;
}

function sumOf(counts: Iterable<number | null>): number {
  let sum = 0;
  for (const count of counts) sum += count ?? 0;
  return sum;
}
