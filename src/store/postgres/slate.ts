/**
 * What a group of endings works on: the locked rows, and what is to be written when all are decided. Rows are loaded and
 * written in sets; the decisions between are made in memory, in the order of the calls.
 */

import type { ResourceIdentity } from '../../model/resource';
import type { EventToWrite } from '../decided-events';
import type { QuarantineEntry } from '../quarantine-entry';
import type { Context } from './context';
import type { ReadOutcome } from './note-read';
import { insertReads } from './note-read';
import { closeEntries, insertEntries } from './quarantine-entries';
import type { Row } from './server/database';
import { insertTasks, saveTasks, type TaskRow } from './task-rows';
import { forgetUnclaimed, type Place } from './unclaimed';
import { writeEvents } from './write-events';

export class Slate {
  readonly #dirty = new Set<TaskRow>();
  readonly #added: TaskRow[] = [];
  readonly #resources = new Map<string, TaskRow>();
  readonly #events: { event: EventToWrite; eventIds: string[] }[] = [];
  readonly #reads: ReadOutcome[] = [];
  readonly #entries: QuarantineEntry[] = [];
  readonly #closing = new Set<number>();
  readonly #aliases = new Map<string, number>();
  readonly #claimed: Place[] = [];

  constructor(
    readonly context: Context,
    readonly tasks: Map<number, TaskRow>,
    /** Locked where an ending may change them. */
    readonly organizations: Map<string, Row>,
    /** Of those that an ending may claim, locked. */
    private readonly unclaimed: Map<string, string[]> = new Map(),
  ) {
    for (const task of tasks.values()) this.#know(task);
  }

  #know(task: TaskRow): void {
    if (task.kind !== null) this.#resources.set(`${task.kind}/${task.resource_id}`, task);
  }

  /** The row that holds this resource; undefined when none does yet. */
  resource(kind: string, id: string): TaskRow | undefined {
    return this.#resources.get(`${kind}/${id}`);
  }

  /** The organizations that it stands in by the topics, where this store holds nothing of it. */
  placesOf({ kind, id }: ResourceIdentity): string[] {
    return this.unclaimed.get(`${kind}/${id}`) ?? [];
  }

  claim(place: ResourceIdentity & Place): void {
    const others = this.placesOf(place).filter((stands) => stands !== place.organizationId);
    this.unclaimed.set(`${place.kind}/${place.id}`, others);
    this.#claimed.push(place);
  }

  /** A task that is made here. */
  add(task: TaskRow): void {
    this.#added.push(task);
    this.tasks.set(task.id, task);
    this.#know(task);
  }

  change(task: TaskRow, values: Partial<TaskRow>): void {
    Object.assign(task, values);
    this.#dirty.add(task);
    if (values.kind !== undefined) this.#know(task);
  }

  /** The event's id is added to `eventIds` when the slate is written. */
  decide(event: EventToWrite, eventIds: string[]): void {
    this.#events.push({ event, eventIds });
  }

  note(read: ReadOutcome): void {
    this.#reads.push(read);
  }

  setAside(entry: QuarantineEntry): void {
    this.#entries.push(entry);
  }

  close(taskId: number): void {
    this.#closing.add(taskId);
  }

  keepAlias(address: string, taskId: number): void {
    if (!this.#aliases.has(address)) this.#aliases.set(address, taskId);
  }

  /** Writes the rows as they are now, for a statement that must see them. */
  async saveTasks(): Promise<void> {
    const added = this.#added.splice(0);
    for (const task of added) this.#dirty.delete(task);
    const changed = [...this.#dirty];
    this.#dirty.clear();
    await Promise.all([insertTasks(this.context, added), saveTasks(this.context, changed)]);
  }

  async write(): Promise<void> {
    const { context } = this;
    await forgetUnclaimed(context, this.#claimed);
    // What was set aside before in this group and woken again is closed with the others.
    closeEntries(context, [...this.#closing]);
    const [, , , records] = await Promise.all([
      insertEntries(context, this.#entries),
      this.saveTasks(),
      // Before lanes, as by whoever accepts: each waits for the other's addresses.
      this.#saveAliases(),
      writeEvents(
        context,
        this.#events.map(({ event }) => event),
      ),
      context.lanes.look(context.database),
    ]);
    for (const [index, { eventIds }] of this.#events.entries()) eventIds.push(records[index]!.eventId);
    insertReads(context, this.#reads);
  }

  async #saveAliases(): Promise<void> {
    if (this.#aliases.size === 0) return;
    await this.context.database.run(
      `INSERT INTO aliases (address, task_id) SELECT * FROM unnest($1::text[], $2::bigint[]) AS n (address, task_id)
       ORDER BY address COLLATE "C" ON CONFLICT (address) DO NOTHING`,
      [...this.#aliases.keys()],
      [...this.#aliases.values()],
    );
  }
}
