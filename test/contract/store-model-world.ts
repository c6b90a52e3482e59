/**
 * The model of a store: what is true at the provider, what was accepted, what is held and what stands on the topics; and
 * what must be so after any step, and at rest.
 */
import {
  type Acknowledgement,
  type EventDraft,
  type EventRecord,
  type PublishedEvent,
  recordBytes,
} from '../../src/model/event';
import type { Element } from '../../src/model/notification';
import type { ProbeAgain } from '../../src/model/organization';
import { replayLease } from '../../src/model/replay';
import type { TakenTask } from '../../src/model/task';
import { ModelTopic } from './model-topic';
import {
  address,
  aliasOf,
  type DamageableStore,
  draftOf,
  emptyRun,
  goneBy,
  Hand,
  header,
  heldBy,
  hintOf,
  sentTo,
  sumOf,
} from './store-hand';

export const ids = ['1', '2', '3'] as const;
export const organizations = ['4711', '99'] as const;
/** The provider says of these when they were modified. */
const timed = new Set<string>(['1', '2']);
const settleMs = 5000;
const goneAfterMs = 600_000;
/** As the stores under test keep their journal. */
const journalMs = 30 * 86_400_000;
/** The bound of the log in the stores under test: some five of these events. */
export const logBytesMax = 3000;
/** As long as an event stays however large the log is, and a little more. */
const followedMs = 60_001;
/** The budget of calls for probes in the stores under test. */
export const probesPerMinute = 40;
const equipmentTopic = 'tramline.equipment.v1';

const unreadable: Element = { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '{}' };

export interface Truth {
  content: string;
  organizationId: string;
  gone: boolean;
  atMs: number;
}

/** A task in somebody's hands, with what the provider showed when its read began. */
export interface Held {
  task: TakenTask;
  shown: Truth;
}

export type Step = (world: World) => Promise<void>;

/**
 * What is asked of a listing: all that it holds, or, after a change token, what changed; `full`: nothing is compared;
 * `older`: what changed, judged by a process with an older normalizer.
 */
export type Asking = 'all' | 'full' | 'changes' | 'older';

/** A page of a listing that was asked for, with what the provider showed when it was. */
export interface AskedPage {
  /** Of the store that it was asked for: another one may not know what the listing brought before. */
  life: number;
  run: number;
  listingId: number;
  revision: number;
  known: boolean;
  asking: Asking;
  shown: { id: string; truth: Truth }[];
  /** Not in the listing any more: only a list of changes says so. */
  left: { id: string; truth: Truth }[];
}

export class World {
  readonly hand: Hand;
  accepted = 0;
  changes = 0;
  held: Held[] = [];
  pages: AskedPage[] = [];
  private life = 0;
  /** What the store was told last of what stands on the topics. */
  private told: Acknowledgement[] = [];
  readonly topics = new Map([[equipmentTopic, new ModelTopic(equipmentTopic)]]);
  /** By key, the highest number of a record that Kafka refused: no other life of the store has used it. */
  readonly refused = new Map<string, number>();
  /** Notifications by when they were accepted. */
  private readonly journal: { atMs: number; count: number }[] = [];
  /** At most so many of what is accepted are of deliveries that are not kept: a read ends that they count. */
  private folded = 0;
  /** Rows were found to be overtaken: what they tell waits for another event. */
  private overtaken = false;
  /** Resources of which something was given up by an operator: what is published of them is not the truth for sure. */
  readonly givenUp = new Set<string>();
  /** Changed since anybody was notified of them. */
  private readonly quiet = new Set<string>();
  /** Of them, those that no page has shown as they are: nobody can know. After one did, no other page tells. */
  private readonly unseen = new Set<string>();
  /** Organizations whose claims may wait for a probe, or which are half-open. */
  readonly restrained = new Set<string>();
  /** The organization whose listing held the resource before it changed last. */
  private readonly stoodIn = new Map<string, string>();
  /** By address, the organization that was named last: a task whose owner is not known is told under it. */
  readonly claims = new Map<string, string>();
  /** When the provider was called for a probe. */
  private probeCalls: number[] = [];
  readonly truth = new Map<string, Truth>();
  readonly sequences = new Map<string, number>();
  /** What was seen of each event, by key and sequence. */
  readonly bytes = new Map<string, string>();
  /** What the log has shown: the position of each event, and the event at each position. */
  private readonly positions = new Map<string, number>();
  private readonly shown = new Map<number, string>();
  /** Deliveries that were not answered: they may have been stored. */
  unanswered: Element[][] = [];

  constructor(readonly under: DamageableStore) {
    this.hand = new Hand(under);
    for (const id of ids) this.truth.set(id, { content: '0', organizationId: '4711', gone: false, atMs: 0 });
  }

  async put(elements: Element[]): Promise<void> {
    this.unanswered.push(elements);
    await this.hand.put(elements);
    this.unanswered = this.unanswered.filter((others) => others !== elements);
    this.accepted += elements.length;
    this.journal.push({ atMs: this.under.nowMs(), count: elements.length });
  }

  /** The store ends in the middle of the work; whoever had no answer says it again. */
  async kill(work: Step[], place: number): Promise<void> {
    this.hand.store = await this.under.tear(async () => {
      for (const step of work) await step(this);
    }, place);
    this.life += 1;
    if (!this.under.outlived) {
      this.held = [];
      this.pages = [];
    }
    // A page is not flushed: it may be forgotten, and its place and change token with it.
    for (const id of this.quiet) this.unseen.add(id);
    this.told = [];
    const repeated = this.unanswered.splice(0);
    const unsure = repeated.reduce((sum, elements) => sum + elements.length, 0);
    const { accepted } = await this.hand.store.ledger();
    expect(accepted).toBeGreaterThanOrEqual(this.accepted - this.folded);
    expect(accepted).toBeLessThanOrEqual(this.accepted + unsure);
    this.accepted = accepted;
    for (const elements of repeated) await this.put(elements);
  }

  /** Writes the first unsent rows to their topics; with `told`, the store learns of it. */
  async send(limit = 1000, told = true): Promise<void> {
    await this.checkOutbox();
    const rows = await this.hand.store.pickUnsent(limit, 1e9, []);
    const written = rows.map((row) => this.topicOf(row.topic).write(row));
    if (told) await this.hand.store.markSent(written);
    if (told && written.length > 0) this.told = written;
    if (rows.length < limit) for (const topic of this.topics.values()) topic.check();
  }

  /** The answer to the last marks is lost, and a replay begins before they are told again: what it sends again waits. */
  async tellAgain(): Promise<void> {
    await this.send();
    await this.replay('resendNewest');
    const unsent = await this.hand.records();
    await this.hand.store.markSent(this.told, undefined, true);
    expect(await this.hand.records()).toEqual(unsent);
  }

  private topicOf(name: string): ModelTopic {
    const topic = this.topics.get(name) ?? new ModelTopic(name);
    this.topics.set(name, topic);
    return topic;
  }

  /**
   * Another life of the store has written `count` records about the resource, in its organization or as it stood in
   * another, under numbers that this one has not sent; this one reads its topics on from where it knows them, as whoever
   * begins to send does.
   */
  async fallBehind(id: string, count: number, elsewhere: boolean): Promise<void> {
    await this.checkOutbox();
    const topic = this.topicOf(equipmentTopic);
    const owner = this.truth.get(id)!.organizationId;
    const organizationId = organizations.find((one) => (one !== owner) === elsewhere)!;
    const key = `${organizationId}/equipment/${id}`;
    const taken = Math.max(topic.highestOf(key), this.refused.get(key) ?? 0);
    for (let nth = 1; nth <= count; nth += 1) topic.writeStranger(key, taken + nth);
    await this.readOn();
    expect(await this.hand.store.behindSince()).not.toBeNull();
    this.overtaken = true;
    this.sequences.set(key, Math.max(this.sequences.get(key) ?? 0, taken + count));
  }

  async readOn(): Promise<void> {
    const { store } = this.hand;
    const ends = new Map((await store.topicEnds()).map(({ topic, nextOffset }) => [topic, nextOffset]));
    for (const topic of this.topics.values())
      for (const page of topic.pagesFrom(Number(ends.get(topic.name) ?? 0))) await store.noteFound(page);
    if (!(await store.readingOn())) return;
    expect(await store.take(100)).toEqual([]);
    await store.allFound();
  }

  /** Asks for the only page of the organization's listing. */
  async ask(organizationId: string, asking: Asking = 'all'): Promise<AskedPage> {
    const { store } = this.hand;
    const { run } = await store.beginRun({ organizationId: null, full: asking === 'full' });
    const name = { scope: `${organizationId}/equipment`, organizationId };
    const { listings, revision } = await store.openListings(run, [name]);
    const known = listings[0]!.known && asking !== 'full';
    const all = ids.map((id) => ({ id, truth: { ...this.truth.get(id)! } }));
    const isListed = ({ truth }: { truth: Truth }) => !truth.gone && truth.organizationId === organizationId;
    const shown = all.filter(isListed);
    const hasLeft = (one: { id: string; truth: Truth }) =>
      !isListed(one) && this.stoodIn.get(one.id) === organizationId;
    const left = changesOnly(asking) ? all.filter(hasLeft) : [];
    return { life: this.life, run, listingId: listings[0]!.id, revision, known, asking, shown, left };
  }

  /** However late it comes. */
  async finishPage({ life, run, listingId, revision, known, asking, shown, left }: AskedPage): Promise<void> {
    const { store } = this.hand;
    const judgedBy = asking === 'older' ? { normalizerVersion: 0 } : {};
    let drafts = shown.map(({ id, truth }) => ({ ...draftAs(id, truth), ...judgedBy }));
    if (known) {
      const places = await store.compareListed(run, listingId, drafts, 'c1');
      drafts = places.map((place) => drafts[place]!);
    }
    const hints = left.map(({ id, truth: { organizationId } }) => {
      const resource = { kind: 'equipment' as const, id };
      return { address: address(id), organizationId, resource, modifiedTime: null };
    });
    const after = { end: true as const, whole: !changesOnly(asking), changeToken: null };
    const page = { run, listingId, revision, connectionId: 'c1', from: null, drafts, hints, after };
    if (life < this.life)
      return expect(store.finishPage(page)).rejects.toMatchObject({ code: 'store.refused' });
    await store.finishPage(page);
    for (const { id, truth } of [...shown, ...left])
      if (truth.content === this.truth.get(id)!.content) this.unseen.delete(id);
  }

  /** A page that is asked for before the resource changes and is read, and that comes after it is at rest. */
  async overtakePage(id: string): Promise<void> {
    const page = await this.ask(this.truth.get(id)!.organizationId);
    await this.change(id, false, {});
    await this.workOff();
    await this.finishPage(page);
  }

  /** A page that is asked for while the resource is read, and that shows what changed since that read began. */
  async overtakeRead(id: string, next: Partial<Truth>): Promise<void> {
    await this.workOff();
    await this.change(id, false, {});
    await this.take(10);
    this.changeQuietly(id, next);
    await this.finishPage(await this.ask(this.truth.get(id)!.organizationId, 'changes'));
  }

  /** Nothing but a page tells of the change, of what is at rest. */
  async showOnly(id: string, next: Partial<Truth>, asking: Asking): Promise<void> {
    await this.workOff();
    this.changeQuietly(id, next);
    await this.finishPage(await this.ask(this.truth.get(id)!.organizationId, asking));
  }

  /** A run over all listings: whatever no notification told of is found, or made due. */
  async sync(full: boolean): Promise<void> {
    const { store } = this.hand;
    this.under.advance(1);
    let last = 0;
    for (const organizationId of organizations) {
      const page = await this.ask(organizationId, full ? 'full' : 'all');
      await this.finishPage(page);
      last = page.run;
    }
    for (const organizationId of organizations) await store.hintAbsent(last, organizationId, 'equipment', 1);
    await store.endRun(last, emptyRun, true);
  }

  async replay(how: 'resendNewest' | 'readAgain'): Promise<void> {
    const { store } = this.hand;
    await this.checkOutbox();
    const unsent = new Set((await this.hand.records()).map(({ row }) => row));
    const { replay, after: from, until, counts } = await store.beginReplay(how);
    const all = { events: null, keys: null, organizationId: null, kind: null };
    for (let after: number | null = from; after !== null; ) {
      const page = await store.selectReplay(all, after, until, 5);
      const rows = page.events.filter(({ newest }) => newest).map(({ row }) => row);
      await store[how]({ replay, from: after, after: page.after ?? until, counts }, rows);
      after = page.after;
    }
    await store.endReplay(replay);
    for (const { row, key, sequence } of await this.hand.records())
      if (!unsent.has(row)) expect([key, sequence]).toEqual([key, this.highestSent(key)]);
  }

  /** All that was published goes to another topic, and retention takes nothing of it meanwhile. */
  async replayHistory(): Promise<void> {
    const { store } = this.hand;
    expect(await store.holdLease(replayLease, 'model', 2 * journalMs)).toBe(true);
    const { replay, after, until, counts } = await store.beginReplay('history');
    const all = { events: null, keys: null, organizationId: null, kind: null };
    const { events } = await store.selectReplay(all, after, until, 1000);
    const rows = events.filter(({ waits }) => waits !== 'first').map(({ row }) => row);
    this.under.advance(journalMs + 1);
    await this.retain();
    const history = await store.readHistory(rows);
    expect(history.map(({ row }) => row)).toEqual(rows);
    const sent = history.map((record, at) => sentTo(record, 0, String(at)));
    await store.noteHistory({ replay, from: after, after: until, counts }, 'history', sent);
    await store.endReplay(replay);
    await store.holdLease(replayLease, 'model', 0);
  }

  /** What is settled and old goes; what is young, or waits, is counted as before, and each key keeps its newest event. */
  async retain(): Promise<void> {
    await this.send();
    this.under.advance(followedMs);
    const { store } = this.hand;
    const before = await store.ledger();
    const published = await this.published();
    const newest = await this.newestEvents();
    for (const [key, record] of newest)
      if (Number(header(record, 'ce_sequence')) < this.highestSent(key)) newest.delete(key);
    while ((await store.sweep()).more);
    const after = await store.ledger();
    expect([...(await this.newestEvents())]).toEqual(expect.arrayContaining([...newest]));
    await this.checkTaken(published);
    const sinceMs = this.under.nowMs() - journalMs;
    const young = this.journal.filter(({ atMs }) => atMs >= sinceMs);
    expect(after.accepted).toBeLessThanOrEqual(before.accepted);
    expect(after.accepted).toBeGreaterThanOrEqual(young.reduce((sum, { count }) => sum + count, 0));
    expect(sumOf(after)).toBe(after.accepted);
    if (!this.overtaken) {
      const { waiting, parked } = before;
      expect(after).toMatchObject({ waiting, parked });
    }
    this.accepted = after.accepted;
    this.folded = after.waiting + after.parked + after.quarantined;
  }

  /** Above the floor nothing is missing, what is can be explained, and the log is as small as it may be. */
  private async checkTaken(before: { events: PublishedEvent[]; floor: number }): Promise<void> {
    const { store } = this.hand;
    const { events, floor } = await this.published();
    const kept = new Set(events.map(({ position }) => position));
    expect(floor).toBeGreaterThanOrEqual(before.floor);
    for (const { position, record } of before.events) {
      if (kept.has(position)) continue;
      expect(position).toBeLessThanOrEqual(floor);
      const told = (await store.explain(record.eventId))!.steps.map(({ step }) => step);
      expect(told).toContain('expired');
    }
    // A refused record that was published before waits for an operator, and a replay may hold what it needs.
    if (this.refused.size > 0 || (await store.leaseFreeMs(replayLease)) === 0) return;
    const bytes = events.reduce((sum, { record }) => sum + recordBytes(record), 0);
    if (bytes > logBytesMax) expect(new Set(events.map(({ record }) => record.key)).size).toBe(events.length);
  }

  /** Asks for a probe of each organization, and ends those that are due as `again` says; `later` alone has asked the provider. */
  async probe(again: ProbeAgain): Promise<void> {
    const { store } = this.hand;
    for (const organization of organizations) await store.requestProbe(organization, true);
    const due = await store.takeProbes(2, 5000);
    for (const { organizationId, epoch } of due) {
      await store.postponeProbe(organizationId, epoch, again, 'transient');
      if (again === 'later') this.noteProbeCall();
    }
  }

  /** A further call of a probe: where it has to wait, it may be made as soon as was said. */
  async payProbeCall(): Promise<void> {
    const waitMs = await this.hand.store.payProbeCall(false);
    this.under.advance(waitMs);
    if (waitMs > 0) expect(await this.hand.store.payProbeCall(false)).toBe(0);
    this.noteProbeCall();
  }

  private noteProbeCall(): void {
    const nowMs = this.under.nowMs();
    this.probeCalls = this.probeCalls.filter((atMs) => atMs > nowMs - 60_000).concat(nowMs);
    expect(this.probeCalls.length).toBeLessThanOrEqual(probesPerMinute);
  }

  async change(id: string, alias: boolean, next: Partial<Truth>): Promise<void> {
    this.changeQuietly(id, next);
    await this.hint(id, alias);
  }

  /** Nobody is notified. */
  changeQuietly(id: string, next: Partial<Truth>): void {
    this.changes += 1;
    const before = this.truth.get(id)!;
    if (!before.gone) this.stoodIn.set(id, before.organizationId);
    const content = String(this.changes);
    this.truth.set(id, { ...before, gone: false, content, atMs: this.under.nowMs(), ...next });
    this.quiet.add(id);
    this.unseen.add(id);
  }

  /** Hinted under both addresses: nobody can tell what stood at one that was never read. */
  async vanish(id: string): Promise<void> {
    await this.change(id, false, { gone: true });
    await this.hint(id, true);
  }

  async hint(id: string, alias: boolean): Promise<void> {
    const { organizationId } = this.truth.get(id)!;
    const hint = { ...hintOf(id, organizationId), address: alias ? aliasOf(id) : address(id) };
    this.claims.set(hint.address, organizationId);
    // What waits for an operator keeps its delivery, and with it the hint beside it.
    await this.put(alias ? [hint, unreadable] : [hint]);
    this.quiet.delete(id);
    this.unseen.delete(id);
  }

  async take(limit: number): Promise<number> {
    const taken = await this.hand.store.take(limit);
    for (const task of taken) this.held.push({ task, shown: { ...this.truth.get(idOf(task))! } });
    return taken.length;
  }

  /** As the path would end it: read, found absent, or gone when that was so for long enough. */
  async end({ task, shown }: Held): Promise<void> {
    const { store } = this.hand;
    if (!shown.gone) {
      await this.finish(task, draftAs(idOf(task), shown));
    } else if (task.absentSinceMs !== null && this.under.nowMs() - task.absentSinceMs >= goneAfterMs) {
      await store.finishGone({ ...goneBy(task), goneShareMax: 1 });
    } else {
      const forMs = task.absentSinceMs === null ? 0 : this.under.nowMs() - task.absentSinceMs;
      await store.foundAbsent({ ...heldBy(task), againInMs: goneAfterMs - forMs });
    }
  }

  /** Drafted under another name first, now and then: such a read does not end, and nothing of it is published. */
  async finish(task: TakenTask, draft: EventDraft): Promise<void> {
    const { id, organizationId } = draft;
    const known = { id, principalId: null };
    const names = { ...known, side: 'new', organizationId, erid: null, serialNumber: null } as const;
    if (task.generation % 4 === 0) {
      const named = { names, known: { ...known, id: 'another' } };
      const result = await this.hand.finish(task, { ...draft, id: 'another' }, { settleMs, named });
      expect(result).toEqual({ outcome: 'known-otherwise', known });
    }
    await this.hand.finish(task, draft, { settleMs, named: { names, known } });
  }

  async check(): Promise<void> {
    const { store } = this.hand;
    const ledger = await store.ledger();
    this.checkAccepted(ledger.accepted);
    expect(sumOf(ledger)).toBe(ledger.accepted);
    expect(Math.min(...Object.values(ledger))).toBeGreaterThanOrEqual(0);
    expect(Math.min(...Object.values(await this.numbers()))).toBeGreaterThanOrEqual(0);
    await this.checkOutbox();
    await this.published();
    await this.checkDue();
  }

  private checkAccepted(accepted: number): void {
    expect(accepted).toBeLessThanOrEqual(this.accepted);
    expect(accepted).toBeGreaterThanOrEqual(this.accepted - this.folded);
    this.folded -= this.accepted - accepted;
    this.accepted = accepted;
  }

  private async numbers(): Promise<Record<string, number>> {
    const { due, waiting, parked, quarantined, unsent } = await this.hand.store.counts();
    return { due, waiting, parked, quarantined, unsent };
  }

  /** New rows of each key go on where the last one was, and come in the order in which they were decided. */
  private async checkOutbox(): Promise<void> {
    const rows = await this.hand.records();
    expect(rows.map(({ row }) => row)).toEqual(
      rows.map(({ row }) => row).sort((left, right) => left - right),
    );
    for (const { key, sequence, eventId, value, headers } of rows) {
      const bytes = JSON.stringify([eventId, value, headers]);
      const seen = this.bytes.get(`${key} ${sequence}`);
      expect(seen ?? bytes).toBe(bytes);
      if (seen !== undefined) continue;
      this.bytes.set(`${key} ${sequence}`, bytes);
      expect([key, sequence]).toEqual([key, (this.sequences.get(key) ?? 0) + 1]);
      this.sequences.set(key, sequence);
    }
  }

  /** No time is named before which something is due, and what is due can be taken. */
  private async checkDue(): Promise<void> {
    const { store } = this.hand;
    const dueInMs = await store.nextDueInMs('task');
    if (dueInMs !== 0) expect(await store.take(100)).toEqual([]);
    if (dueInMs === 0) return;
    const known = await store.listOrganizations({ limit: 1000, after: null });
    if (known.some(({ access }) => access !== 'active')) return;
    const now = new Date(this.under.nowMs()).toISOString();
    const tasks = await store.listTasks({ state: null, limit: 100, after: 0 });
    const due = tasks.filter(({ dueAt, state }) => dueAt !== null && dueAt <= now && state !== 'parked');
    expect(due.filter(({ organizationId }) => !this.restrained.has(organizationId ?? ''))).toEqual([]);
  }

  /**
   * Opens every organization, ends what is held, and goes on until nothing is due any more; a store that was behind its
   * topics needs a full sync as well.
   */
  async comeToRest(): Promise<void> {
    const { store } = this.hand;
    for (const { id } of await store.listOrganizations({ limit: 1000, after: null }))
      await this.hand.observe({ cause: null }, id);
    for (const held of this.held.splice(0)) await this.end(held);
    for (const page of this.pages.splice(0)) await this.finishPage(page);
    for (const { id, what } of await store.listQuarantine({ limit: 1000, after: null })) {
      if (what === 'task' || what === 'record') await store.releaseQuarantine(id);
    }
    await this.workOff();
    if ((await store.behindSince()) !== null) {
      await this.sync(true);
      expect(await store.behindSince()).toBeNull();
      await this.workOff();
    }
    await this.send();
  }

  private async workOff(): Promise<void> {
    const { store } = this.hand;
    for (let round = 0; ; round += 1) {
      const dueInMs = await store.nextDueInMs('task');
      if (dueInMs === null) break;
      expect(round).toBeLessThan(300);
      this.under.advance(dueInMs);
      await this.take(10);
      for (const held of this.held.splice(0)) await this.end(held);
    }
  }

  /** Of all records of the key, those of another life of the store included. */
  private highestSent(key: string): number {
    return Math.max(...[...this.topics.values()].map((topic) => topic.highestOf(key)));
  }

  /** As the log tells them: in the order of positions that stay what they are, and as the bytes that were decided. */
  private async published(): Promise<{ events: PublishedEvent[]; floor: number }> {
    const all = { after: 0, limit: 10_000, type: null, organizationId: null };
    const page = await this.hand.store.listEvents(all);
    let last = 0;
    for (const { position, record } of page.events) {
      const { key, eventId, value, headers } = record;
      expect(position).toBeGreaterThan(last);
      last = position;
      const seen = [this.positions.get(eventId) ?? position, this.shown.get(position) ?? eventId];
      expect([position, eventId]).toEqual(seen);
      this.positions.set(eventId, position);
      this.shown.set(position, eventId);
      const sequence = Number(header(record, 'ce_sequence'));
      expect(JSON.stringify([eventId, value, headers])).toBe(this.bytes.get(`${key} ${sequence}`));
    }
    return page;
  }

  /** By key, as the log of events has them. */
  private async newestEvents(): Promise<Map<string, EventRecord>> {
    const { events } = await this.published();
    return new Map(events.map(({ record }) => [record.key, record]));
  }

  /** What replays, syncs and single pages find later is nothing that was notified: each line stays as it is, and so does each journey. */
  async checkFinal(): Promise<void> {
    const before = await this.hand.store.ledger();
    const lines = await this.linesTold();
    for (const how of ['nothing', 'changes', 'older', 'replay', 'sync'] as const) {
      for (const [id, truth] of this.truth) {
        if (truth.atMs === 0 || how === 'nothing') continue;
        this.changes += 1;
        const content = `${how} ${this.changes}`;
        this.truth.set(id, { ...truth, gone: false, content, atMs: this.under.nowMs() });
      }
      if (how === 'replay') await this.replay('readAgain');
      else if (how === 'changes' || how === 'older')
        for (const organizationId of organizations)
          await this.finishPage(await this.ask(organizationId, how));
      else await this.sync(true);
      await this.workOff();
      await this.send();
      expect(await this.hand.store.ledger()).toEqual(before);
      expect(await this.linesTold()).toEqual(lines);
      // A full sync has read everything, and pages show each change: what was given up is told by what they found.
      if (how === 'replay') continue;
      this.givenUp.clear();
      this.unseen.clear();
      await this.checkRest();
    }
  }

  /** Of each notification that is kept, as its journey tells it; they are those of the ledger. */
  private async linesTold(): Promise<unknown[]> {
    const lines: unknown[] = [];
    for (let id = 1; ; id += 1) {
      const told = await this.hand.store.explain(`d${id}`);
      if (told === null) break;
      for (const step of told.steps) if (step.notification !== undefined) lines.push(step.ledger);
    }
    const count = (line: string) => lines.filter((told) => told === line).length;
    const { accepted, ...ledger } = await this.hand.store.ledger();
    expect(lines).toHaveLength(accepted);
    for (const [line, counted] of Object.entries(ledger))
      expect([line, count(line)]).toEqual([line, counted]);
    return lines;
  }

  async checkRest(): Promise<void> {
    const { store } = this.hand;
    const ledger = await store.ledger();
    this.checkAccepted(ledger.accepted);
    expect(ledger).toMatchObject({ waiting: 0, parked: 0 });
    expect(sumOf(ledger)).toBe(ledger.accepted);
    const newestOf = await this.newestEvents();
    for (const [id, { content, organizationId, gone, atMs }] of this.truth) {
      if (atMs === 0 || this.givenUp.has(id) || this.unseen.has(id)) continue;
      const newest = new Map([...newestOf].filter(([key]) => key.endsWith(`equipment/${id}`)));
      for (const [key, record] of newest) {
        // Where it left an organization and is gone, another life of the store may have told of it there.
        const last = this.topicOf(equipmentTopic).lastOf(key)!;
        if (!gone || key.startsWith(`${organizationId}/`) || !last.startsWith('stranger'))
          expect([key, last]).toEqual([key, record.eventId]);
        const deleted = header(record, 'ce_type')!.includes('deleted');
        expect([key, deleted]).toEqual([key, gone || !key.startsWith(`${organizationId}/`)]);
        if (!deleted) expect(JSON.parse(record.value)).toMatchObject({ content });
      }
      if (gone) continue;
      expect([...newest.keys()]).toContain(`${organizationId}/equipment/${id}`);
      // It stands nowhere else, whoever told that it did.
      const shown = this.topicOf(equipmentTopic).keys();
      const others = shown.filter((key) => key.endsWith(`/equipment/${id}`) && !newest.has(key));
      expect(others).toEqual([]);
    }
  }
}

function draftAs(id: string, { content, organizationId, atMs }: Truth) {
  const modifiedTime = timed.has(id) ? new Date(atMs).toISOString() : null;
  return draftOf(id, content, { organizationId, modifiedTime });
}

const changesOnly = (asking: Asking) => asking === 'changes' || asking === 'older';

const idOf = ({ address: at }: TakenTask) => /equipment\/(\d)/.exec(at)![1]!;
