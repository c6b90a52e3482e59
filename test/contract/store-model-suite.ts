/**
 * Anything in any order: random verbs, late pages, replays, kills, hours and months against a store, with a model that knows no more than what is true
 * at the provider and what was accepted. A kill comes in the middle of work that nobody has looked at, and saves nothing:
 * what was answered is there, and the sender repeats what was not. After each step the ledger adds up, sequences have no
 * gap, no event changed its bytes and no due task is hidden; in the end everything comes to rest, and the newest event of
 * each resource is the truth.
 */
import type { StoreRules } from '../../src/store/store-rules';
import fc from '../support/properties';
import { type DamageableStore, heldBy, hintOf, terms } from './store-hand';
import { ids, logBytesMax, organizations, probesPerMinute, type Step, World } from './store-model-world';

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
const quietly = fc
  .tuple(id, fc.constantFrom({}, {}, { gone: true }, ...organizations.map((to) => ({ organizationId: to }))))
  .map(([of, next]) => ({ of, next, name: `${of} ${JSON.stringify(next)}` }));
const hints = fc.tuple(id, alias).map(([of, at]) => named(`hint ${of} ${at}`, (w) => w.hint(of, at)));
const takes = fc
  .integer({ min: 1, max: 4 })
  .map((limit) => named(`take ${limit}`, async (w) => void (await w.take(limit))));
const sends = fc.constant(named('send', (w) => w.send()));
/** The answer of the broker is lost: what was written is written again, or found by who reads the topics on. */
const losses = fc.integer({ min: 1, max: 3 }).chain((limit) =>
  fc.boolean().map((found) =>
    named(`write ${limit}, lose the answer${found ? ', read on' : ''}`, async (w) => {
      await w.send(limit, false);
      if (found) await w.readOn();
    }),
  ),
);
const tells = fc.constant(named('replay, tell again', (w) => w.tellAgain()));
const asks = fc
  .tuple(organization, fc.constantFrom('all' as const, 'changes' as const, 'older' as const))
  .map(([of, asking]) =>
    named(`ask ${of} ${asking}`, async (w) => void w.pages.push(await w.ask(of, asking))),
  );
const pages = fc.nat(3).map((nth) =>
  named(`page ${nth}`, async (w) => {
    const [page] = w.pages.splice(nth % Math.max(1, w.pages.length), 1);
    if (page !== undefined) await w.finishPage(page);
  }),
);
const replays = fc
  .constantFrom('resendNewest' as const, 'readAgain' as const)
  .map((how) => named(`replay ${how}`, (w) => w.replay(how)));
const behind = fc
  .tuple(id, fc.integer({ min: 1, max: 3 }), fc.boolean())
  .map(([of, count, elsewhere]) =>
    named(`behind ${of} ${count}${elsewhere ? ' elsewhere' : ''}`, (w) => w.fallBehind(of, count, elsewhere)),
  );
const probes = fc
  .constantFrom('later' as const, 'never' as const, 3000)
  .map((again) => named(`probe ${again}`, (w) => w.probe(again)));
/** One, or more than a minute has. */
const probeCalls = fc.constantFrom(1, 45).map((calls) =>
  named(`pay for ${calls} calls`, async (w) => {
    for (let call = 0; call < calls; call += 1) await w.payProbeCall();
  }),
);
const histories = fc.constant(named('replay history', (w) => w.replayHistory()));
const retention = fc.constantFrom(0, 16, 31, 31).map((days) =>
  named(`retain after ${days} days`, async (w) => {
    w.under.advance(days * 86_400_000);
    await w.retain();
  }),
);

/** Work without a look at what became of it, cut off by a kill. */
const kills = fc
  .tuple(
    fc.array(
      fc.oneof(changes, hints, takes, takes, endings(), endings(), sends, asks, pages, replays, losses),
      { maxLength: 6 },
    ),
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
  { weight: 1, arbitrary: losses },
  { weight: 1, arbitrary: tells },
  { weight: 2, arbitrary: asks },
  { weight: 3, arbitrary: pages },
  { weight: 1, arbitrary: fc.boolean().map((full) => named(`sync ${full}`, (w) => w.sync(full))) },
  { weight: 2, arbitrary: id.map((of) => named(`overtake page ${of}`, (w) => w.overtakePage(of))) },
  {
    weight: 2,
    arbitrary: quietly.map(({ of, next, name }) =>
      named(`overtake read of ${name}`, (w) => w.overtakeRead(of, next)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(quietly, fc.constantFrom('changes' as const, 'older' as const))
      .map(([{ of, next, name }, asking]) =>
        named(`show only ${name} in a list of ${asking}`, (w) => w.showOnly(of, next, asking)),
      ),
  },
  {
    weight: 1,
    arbitrary: quietly.map(({ of, next, name }) =>
      named(`change quietly ${name}`, async (w) => w.changeQuietly(of, next)),
    ),
  },
  { weight: 2, arbitrary: replays },
  { weight: 1, arbitrary: behind },
  { weight: 2, arbitrary: retention },
  { weight: 1, arbitrary: histories },
  { weight: 1, arbitrary: probes },
  { weight: 1, arbitrary: probeCalls },
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
          // It waits for that one, also where a later hint names another.
          w.restrained.add(organizationId).add(w.claims.get(task.address)!);
          const probe = { organizationId, refusedAddress: task.address, connectionId: 'c1' };
          return store.giveBack({ ...ending, code: 'c', probe, dueInMs: 0, agedMs: 0, detail: null });
        }
        case 'alone':
          return store.giveBack({ ...ending, code: 'c', probe: null, dueInMs: 100, agedMs: 0, detail: null });
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
  if (first === undefined) return;
  w.refused.set(first.key, Math.max(w.refused.get(first.key) ?? 0, first.sequence));
  await w.hand.store.quarantineRecord(first, 'record-refused', 'x');
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
      if (entry.what !== 'notification') for (const each of ids) w.givenUp.add(each);
    }
  };
}

/** Takes seconds; a machine at its limit may take many times as long. */
const hangsMs = 240_000;

export function storeModelSuite(
  name: string,
  open: (rules: Partial<StoreRules>) => Promise<DamageableStore>,
  numRuns = 36,
): void {
  test(
    `store model: ${name}: whatever happens in whatever order, the ledger adds up and the newest event is the truth`,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 60, size: 'max' }), async (script) => {
          const world = new World(await open({ eventBytesMax: logBytesMax, probesPerMinute }));
          try {
            for (const step of script) {
              await step(world);
              await world.check();
            }
            await world.comeToRest();
            await world.checkRest();
            await world.checkFinal();
            await world.checkRest();
          } finally {
            await world.under.close();
          }
        }),
        // What was found is told before the time of the test is over, however far it was made smaller.
        { numRuns, interruptAfterTimeLimit: hangsMs - 40_000, markInterruptAsFailure: true },
      );
    },
    hangsMs,
  );
}
