/**
 * Anything in any order: random verbs, kills and hours against a store, with a model that knows no more than what is true
 * at the provider and what was accepted. A kill comes in the middle of work that nobody has looked at, and saves nothing:
 * what was answered is there, and the sender repeats what was not. After each step the ledger adds up, sequences have no
 * gap, no event changed its bytes and no due task is hidden; in the end everything comes to rest, and the newest event of
 * each resource is the truth.
 */
import fc from 'fast-check';
import type { Element } from '../../src/model/notification';
import type { TakenTask } from '../../src/model/task';
import {
  address,
  aliasOf,
  type DamageableStore,
  draftOf,
  goneBy,
  Hand,
  header,
  heldBy,
  hintOf,
  sumOf,
  terms,
} from './store-hand';

const ids = ['1', '2', '3'] as const;
const organizations = ['4711', '99'] as const;
/** The provider says of these when they were modified. */
const timed = new Set<string>(['1', '2']);
const settleMs = 5000;
const goneAfterMs = 600_000;

interface Truth {
  content: string;
  organizationId: string;
  gone: boolean;
  atMs: number;
}

/** A task in somebody's hands, with what the provider showed when its read began. */
interface Held {
  task: TakenTask;
  shown: Truth;
}

class World {
  readonly hand: Hand;
  accepted = 0;
  changes = 0;
  held: Held[] = [];
  /** Resources of which something was given up by an operator: what is published of them is not the truth for sure. */
  readonly givenUp = new Set<string>();
  /** Organizations whose claims may wait for a probe, or which are half-open. */
  readonly restrained = new Set<string>();
  readonly truth = new Map<string, Truth>();
  readonly sequences = new Map<string, number>();
  seenRow = 0;
  /** What was seen of each event, by key and sequence. */
  readonly bytes = new Map<string, string>();
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
  }

  /** The store ends in the middle of the work; whoever had no answer says it again. */
  async kill(work: Step[], place: number): Promise<void> {
    this.hand.store = await this.under.tear(async () => {
      for (const step of work) await step(this);
    }, place);
    this.held = [];
    this.restrained.clear();
    const repeated = this.unanswered.splice(0);
    const unsure = repeated.reduce((sum, elements) => sum + elements.length, 0);
    const { accepted } = await this.hand.store.ledger();
    expect(accepted).toBeGreaterThanOrEqual(this.accepted);
    expect(accepted).toBeLessThanOrEqual(this.accepted + unsure);
    this.accepted = accepted;
    for (const elements of repeated) await this.put(elements);
  }

  async send(): Promise<void> {
    await this.checkOutbox();
    await this.hand.sendAll();
  }

  async change(id: string, alias: boolean, next: Partial<Truth>): Promise<void> {
    this.changes += 1;
    const before = this.truth.get(id)!;
    const content = String(this.changes);
    this.truth.set(id, { ...before, gone: false, content, atMs: this.under.nowMs(), ...next });
    await this.hint(id, alias);
  }

  /** Hinted under both addresses: nobody can tell what stood at one that was never read. */
  async vanish(id: string): Promise<void> {
    await this.change(id, false, { gone: true });
    await this.hint(id, true);
  }

  async hint(id: string, alias: boolean): Promise<void> {
    const { organizationId } = this.truth.get(id)!;
    await this.put([{ ...hintOf(id, organizationId), address: alias ? aliasOf(id) : address(id) }]);
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
      const { content, organizationId, atMs } = shown;
      const id = idOf(task);
      const modifiedTime = timed.has(id) ? new Date(atMs).toISOString() : null;
      await this.hand.finish(task, draftOf(id, content, { organizationId, modifiedTime }), { settleMs });
    } else if (task.absentSinceMs !== null && this.under.nowMs() - task.absentSinceMs >= goneAfterMs) {
      await store.finishGone({ ...goneBy(task), goneShareMax: 1 });
    } else {
      const forMs = task.absentSinceMs === null ? 0 : this.under.nowMs() - task.absentSinceMs;
      await store.foundAbsent({ ...heldBy(task), againInMs: goneAfterMs - forMs });
    }
  }

  async check(): Promise<void> {
    const { store } = this.hand;
    const ledger = await store.ledger();
    expect(ledger.accepted).toBe(this.accepted);
    expect(sumOf(ledger)).toBe(this.accepted);
    expect(Math.min(...Object.values(ledger))).toBeGreaterThanOrEqual(0);
    expect(Math.min(...Object.values(await this.numbers()))).toBeGreaterThanOrEqual(0);
    await this.checkOutbox();
    await this.checkDue();
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
    for (const { row, key, sequence, eventId, value, headers } of rows) {
      const bytes = JSON.stringify([eventId, value, headers]);
      expect(this.bytes.get(`${key} ${sequence}`) ?? bytes).toBe(bytes);
      this.bytes.set(`${key} ${sequence}`, bytes);
      if (row <= this.seenRow) continue;
      this.seenRow = row;
      expect([key, sequence]).toEqual([key, (this.sequences.get(key) ?? 0) + 1]);
      this.sequences.set(key, sequence);
    }
  }

  /** No time is named before which something is due, and what is due can be taken. */
  private async checkDue(): Promise<void> {
    const { store } = this.hand;
    const dueInMs = await store.nextDueInMs('task');
    if (dueInMs !== 0) expect(await store.take(100)).toEqual([]);
    const open = new Set(
      (await store.listOrganizations({ limit: 1000, after: null }))
        .filter(({ access }) => access === 'active')
        .map(({ id }) => id),
    );
    const now = new Date(this.under.nowMs()).toISOString();
    for (const task of await store.listTasks({ state: null, limit: 100, after: 0 })) {
      if (task.dueAt === null || task.dueAt > now || task.state === 'parked') continue;
      if (
        this.restrained.size > 0 ||
        open.size < (await store.listOrganizations({ limit: 1000, after: null })).length
      )
        continue;
      expect(dueInMs).toBe(0);
    }
  }

  /** Opens every organization, ends what is held, and goes on until nothing is due any more. */
  async comeToRest(): Promise<void> {
    const { store } = this.hand;
    for (const { id } of await store.listOrganizations({ limit: 1000, after: null }))
      await this.hand.observe({ cause: null }, id);
    for (const held of this.held.splice(0)) await this.end(held);
    for (const { id, what } of await store.listQuarantine({ limit: 1000, after: null })) {
      if (what === 'task' || what === 'record') await store.releaseQuarantine(id);
    }
    for (let round = 0; ; round += 1) {
      const dueInMs = await store.nextDueInMs('task');
      if (dueInMs === null) break;
      expect(round).toBeLessThan(300);
      this.under.advance(dueInMs);
      await this.take(10);
      for (const held of this.held.splice(0)) await this.end(held);
    }
    await this.send();
  }

  async checkRest(): Promise<void> {
    const { store } = this.hand;
    const ledger = await store.ledger();
    expect(ledger).toMatchObject({ accepted: this.accepted, waiting: 0, parked: 0 });
    expect(sumOf(ledger)).toBe(this.accepted);
    const { events } = await store.listEvents({ after: 0, limit: 10_000, type: null, organizationId: null });
    for (const [id, { content, organizationId, gone, atMs }] of this.truth) {
      if (atMs === 0 || this.givenUp.has(id)) continue;
      const newest = new Map<string, (typeof events)[number]['record']>();
      for (const { record } of events)
        if (record.key.endsWith(`equipment/${id}`)) newest.set(record.key, record);
      for (const [key, record] of newest) {
        const deleted = header(record, 'ce_type')!.includes('deleted');
        expect([key, deleted]).toEqual([key, gone || !key.startsWith(`${organizationId}/`)]);
        if (!deleted) expect(JSON.parse(record.value)).toMatchObject({ content });
      }
      if (!gone) expect([...newest.keys()]).toContain(`${organizationId}/equipment/${id}`);
    }
  }
}

const idOf = ({ address: at }: TakenTask) => /equipment\/(\d)/.exec(at)![1]!;

type Step = (world: World) => Promise<void>;

/** Each step names itself when a counterexample is shown. */
function named(name: string, run: Step): Step & { toString(): string } {
  return Object.assign(run, { toString: () => name });
}

const id = fc.constantFrom(...ids);
const organization = fc.constantFrom(...organizations);
const alias = fc.boolean();

const changes = fc
  .tuple(id, alias)
  .map(([of, at]) => named(`change ${of} ${at}`, (w) => w.change(of, at, {})));
const hints = fc.tuple(id, alias).map(([of, at]) => named(`hint ${of} ${at}`, (w) => w.hint(of, at)));
const takes = fc
  .integer({ min: 1, max: 4 })
  .map((limit) => named(`take ${limit}`, async (w) => void (await w.take(limit))));
const sends = fc.constant(named('send', (w) => w.send()));

/** Work without a look at what became of it, cut off by a kill. */
const kills = fc
  .tuple(
    fc.array(fc.oneof(changes, hints, takes, takes, endings(), endings(), sends), { maxLength: 6 }),
    fc.nat(9),
  )
  .map(([work, place]) => named(`kill at ${place} of [${work.join(', ')}]`, (w) => w.kill(work, place)));

const steps = fc.oneof(
  { weight: 5, arbitrary: changes },
  { weight: 3, arbitrary: hints },
  {
    weight: 2,
    arbitrary: fc
      .tuple(id, alias, organization)
      .map(([of, at, to]) => named(`move ${of} ${to}`, (w) => w.change(of, at, { organizationId: to }))),
  },
  {
    weight: 2,
    arbitrary: id.map((of) => named(`vanish ${of}`, (w) => w.vanish(of))),
  },
  {
    weight: 1,
    arbitrary: fc.constant(
      named('others', (w) =>
        w.put([
          { line: 'acted', eventTypeId: 'heartbeat', probeOrganizationId: null, dueAt: null },
          { line: 'ignored', eventTypeId: 'x', address: null },
          { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '{}' },
        ]),
      ),
    ),
  },
  { weight: 8, arbitrary: takes },
  { weight: 10, arbitrary: endings() },
  {
    weight: 3,
    arbitrary: fc
      .tuple(organization, fc.boolean())
      .map(([of, opens]) => named(`observe ${of} ${opens}`, observe(of, opens))),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 500, 1000, 5000, 61_000, 600_000)
      .map((ms) => named(`advance ${ms}`, async (w) => w.under.advance(ms))),
  },
  { weight: 2, arbitrary: kills },
  { weight: 2, arbitrary: sends },
  { weight: 1, arbitrary: fc.constant(named('hasten', async (w) => void (await w.hand.store.hasten()))) },
  { weight: 1, arbitrary: fc.constant(named('refuse record', refuseRecord)) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('release' as const, 'discard' as const, 'rejudge' as const)
      .map((how) => named(how, operate(how))),
  },
);

function endings() {
  const hows = ['read', 'read', 'read', 'postpone', 'own', 'refused', 'alone', 'quarantine', 'back'] as const;
  return fc.tuple(fc.nat(5), fc.constantFrom(...hows)).map(([nth, how]) =>
    named(`${how} ${nth}`, async (w) => {
      const [held] = w.held.splice(nth % Math.max(1, w.held.length), 1);
      if (held === undefined) return;
      const { store } = w.hand;
      const { task } = held;
      const ending = heldBy(task);
      const failure = { dueInMs: 2000, code: 'c', detail: null };
      switch (how) {
        case 'read':
          return w.end(held);
        case 'postpone':
        case 'own':
          return store.postpone({ ...ending, ...failure, own: how === 'own', agedMs: 0 });
        case 'refused': {
          const organizationId = task.organizationId ?? task.hintedOrganizationId!;
          w.restrained.add(organizationId);
          const probe = { organizationId, refusedAddress: task.address, connectionId: 'c1' };
          return store.giveBack({ ...ending, code: 'c', probe, dueInMs: 0 });
        }
        case 'alone':
          return store.giveBack({ ...ending, code: 'c', probe: null, dueInMs: 100 });
        case 'quarantine':
          return w.hand.quarantine(task);
        case 'back':
          return store.releaseLeases([task]);
      }
    }),
  );
}

function observe(organizationId: string, opens: boolean): Step {
  return async (w) => {
    if ((await w.hand.store.access(organizationId)) === null) return;
    await w.hand.observe(opens ? { cause: null } : terms, organizationId);
    w.restrained.add(organizationId);
  };
}

async function refuseRecord(w: World): Promise<void> {
  const [first] = await w.hand.records();
  if (first !== undefined) await w.hand.store.quarantineRecord(first.row, 'record-refused', 'x');
}

function operate(how: 'release' | 'discard' | 'rejudge'): Step {
  return async (w) => {
    const { store } = w.hand;
    const [entry] = await store.listQuarantine({ limit: 1, after: null });
    if (entry === undefined) return;
    if (how === 'rejudge') await store.rejudge(entry.id, hintOf('1', '4711'));
    else if (how === 'release') await store.releaseQuarantine(entry.id);
    else {
      await store.discardQuarantine(entry.id);
      for (const each of ids) w.givenUp.add(each);
    }
  };
}

export function storeModelSuite(name: string, open: () => Promise<DamageableStore>, numRuns = 60): void {
  test(`store model: ${name}: whatever happens in whatever order, the ledger adds up and the newest event is the truth`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 60, size: 'max' }), async (script) => {
        const world = new World(await open());
        try {
          for (const step of script) {
            await step(world);
            await world.check();
          }
          await world.comeToRest();
          await world.checkRest();
        } finally {
          await world.under.close();
        }
      }),
      // What was found is told before the time of the test is over, however far it was made smaller.
      { numRuns, interruptAfterTimeLimit: 50_000, markInterruptAsFailure: true },
    );
  });
}
