import { makeProcessWatch } from '../../../src/alert/process-watch';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Swept } from '../../../src/model/inspection';
import { Problem } from '../../../src/model/problem';
import type { Trouble } from '../../../src/observe/lines';
import type { Observer } from '../../../src/observe/observer';
import type { Clock } from '../../../src/tools/clock';
import { type LoopParts, type Loops, loopsOf, stopLoops } from '../../../src/wire/loops';
import { makeHandClock } from '../../support/hand-clock';

/** How long retention waits after each of these pages, each of which takes so long. */
async function waitsAfter(pages: (Swept & { tookMs: number })[]): Promise<number[]> {
  let nowMs = 0;
  const waits: number[] = [];
  const left = [...pages];
  await new Promise<void>((done) => {
    const clock: Clock = {
      nowMs: () => nowMs,
      steadyMs: () => nowMs,
      wait: (ms) => {
        waits.push(ms);
        if (left.length > 0) return Promise.resolve();
        done();
        return new Promise(() => {});
      },
    };
    const sweep = async () => {
      const { tookMs, ...swept } = left.shift()!;
      nowMs += tookMs;
      return swept;
    };
    loopsOf({ store: { sweep } } as unknown as LoopParts, {} as Observer, clock).sweep.start();
  });
  return waits;
}

function orThrown<Value>(value: Value | Error): Value {
  if (value instanceof Error) throw value;
  return value;
}

/** Adds each line of trouble to `said`. */
function observerOf(said: string[]): Observer {
  return { trouble: ({ place, code }: Trouble) => said.push(`${place} ${code}`) } as unknown as Observer;
}

const keyMissing = new Problem('store.key-missing', 'no encryption key with id k2 is configured');
const storeAway = new Problem('store.unavailable', 'the store is away');

/** How long what connections see is left alone after each of these rounds. */
async function waitsAfterLists(rounds: (boolean | Error)[], trouble: string[] = []): Promise<number[]> {
  const waits: number[] = [];
  const left = [...rounds];
  await new Promise<void>((done) => {
    const clock: Clock = {
      nowMs: () => 0,
      steadyMs: () => 0,
      wait: (ms) => {
        waits.push(ms);
        if (left.length > 0) return Promise.resolve();
        done();
        return new Promise(() => {});
      },
    };
    const parts = {
      pipeline: { health: { coolDownMs: () => 0 } },
      client: { showUnprobed: async () => false },
      book: { learn: async () => orThrown(left.shift()!), known: () => false },
      meter: { look: async () => {} },
      watch: { decryptionFailed: (detail: string) => trouble.push(`told ${detail}`) },
    };
    loopsOf(parts as unknown as LoopParts, observerOf(trouble), clock).learn.start();
  });
  return waits;
}

test('lists that break off are asked for again soon at first, then each five minutes, until they do not', async () => {
  const rounds = [...Array<boolean>(10).fill(false), true, false];
  const seconds = [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 600, 2];
  expect(await waitsAfterLists(rounds)).toEqual(seconds.map((each) => each * 1000));
});

test('a round that throws is begun again like one that breaks off, and tells which key is missing', async () => {
  const trouble: string[] = [];
  const rounds = [keyMissing, keyMissing, storeAway, false, true, keyMissing];
  const seconds = [2, 4, 8, 16, 600, 2];
  expect(await waitsAfterLists(rounds, trouble)).toEqual(seconds.map((each) => each * 1000));
  const ofKey = [`told ${keyMissing.message}`, 'provider store.key-missing'];
  expect(trouble).toEqual([...ofKey, ...ofKey, 'provider store.unavailable', ...ofKey]);
});

/** What is done in each round of following, where that comes to one of `rounds`, and every learning to `learns`. */
async function followed(
  rounds: (boolean | Error)[],
  learns: boolean | Error = true,
  isSought = () => false,
): Promise<string[][]> {
  const clock = makeHandClock(0);
  const done: string[][] = [];
  let now: string[] = [];
  const did = (what: string) => async () => void now.push(what);
  const look = (what: string) => ({ look: did(what) });
  const left = [...rounds];
  const watch = makeProcessWatch(clock, () => true, 'host-1');
  const parts = {
    store: { readingPause: async () => null, refusedHastenedAgoMs: async () => null },
    pipeline: { health: makeProviderHealth() },
    client: { showUnprobed: async () => false },
    meter: { look: async () => {} },
    book: {
      follow: async () => orThrown(left.shift()!),
      learn: async () => {
        now.push('learns');
        return orThrown(learns);
      },
      known: () => false,
      isSought,
    },
    ...{ behind: look('behind'), room: look('room'), storeLog: look('log'), unread: look('unread'), watch },
  };
  const { learn, follow } = loopsOf(parts as unknown as LoopParts, observerOf([]), clock);
  learn.start();
  // By then the next learning is minutes away, whether this one threw or not.
  for (let ms = 1000; ms < 300_000; ms *= 2) await clock.advance(ms);
  now = [];
  follow.start();
  for (const _round of rounds) {
    await clock.advance(done.length === 0 ? 0 : 2000);
    done.push([...now, ...watch.conditions().map(({ detail }) => `tells ${detail}`)]);
    now = [];
  }
  await Promise.all([learn.stop(), follow.stop()]);
  return done;
}

const looks = ['behind', 'room', 'log', 'unread'];

test('lists that were sought too soon are learned when it is time', async () => {
  const seen = await followed([false, false], true, () => true);
  expect(seen).toEqual([
    ['learns', ...looks],
    ['learns', ...looks],
  ]);
});

test('a token that cannot be opened is told while it is followed, keeps nobody from looking, and is over when it can', async () => {
  const tells = `tells ${keyMissing.message}`;
  expect(await followed([false, keyMissing, keyMissing, false])).toEqual([
    looks,
    [...looks, tells],
    [...looks, tells],
    looks,
  ]);
});

test('a learning that threw goes on when the connections can be read again, and not before', async () => {
  const rounds = [keyMissing, storeAway, false, false];
  const seen = await followed(rounds, storeAway);
  expect(seen.map((did) => did.includes('learns'))).toEqual([false, false, true, false]);
  expect((await followed(rounds)).flat()).not.toContain('learns');
});

test('retention goes on soon after a page of which something was taken, and waits a minute at the end of its walk', async () => {
  const taken = { rows: 1000, more: true, tookMs: 30 };
  const last = { rows: 12, more: false, tookMs: 30 };
  expect(await waitsAfter([taken, taken, last])).toEqual([50, 50, 60_000]);
});

test('it goes on beyond a page of which nothing may be taken, and leaves the store most of its time', async () => {
  const kept = { rows: 0, more: true };
  const pages = [
    { ...kept, tookMs: 1 },
    { ...kept, tookMs: 10 },
    { ...kept, tookMs: 30_000 },
  ];
  expect(await waitsAfter(pages)).toEqual([50, 190, 60_000]);
});

test('what another process made due since the client key was refused is over here within two seconds', async () => {
  const health = makeProviderHealth();
  let nowMs = 10_000;
  let hastenedAgoMs: number | null = null;
  health.clientRefused('machine 1', 'a scope is missing', nowMs, 'due');
  const rounds: number[] = [];
  await new Promise<void>((done) => {
    const clock: Clock = {
      nowMs: () => nowMs,
      steadyMs: () => nowMs,
      wait: (ms) => {
        rounds.push(health.troubles(nowMs).length);
        if (rounds.length === 3) {
          done();
          return new Promise(() => {});
        }
        nowMs += ms;
        // It was done a second after the refusal, which lies ahead of the first look only.
        hastenedAgoMs = nowMs - 11_000;
        return Promise.resolve();
      },
    };
    const look = { look: async () => {} };
    const parts = {
      store: { readingPause: async () => null, refusedHastenedAgoMs: async () => hastenedAgoMs },
      pipeline: { health },
      book: { follow: async () => false, isSought: () => false },
      ...{ behind: look, room: look, storeLog: look, unread: look },
      watch: { decryptionSucceeded: () => {} },
    };
    loopsOf(parts as unknown as LoopParts, {} as Observer, clock).follow.start();
  });
  expect([rounds, nowMs]).toEqual([[1, 0, 0], 14_000]);
});

/** What is there to be ended, each under its name in `ended`; `replaced` takes the place of what a part does. */
function endable(replaced: Record<string, () => Promise<unknown>> = {}) {
  const ended: string[] = [];
  const ends = (name: string) => async () => {
    ended.push(name);
    return replaced[name]?.();
  };
  const parts = {
    pipeline: { work: { stop: ends('work') }, probes: { stop: ends('probes') } },
    relay: { step: () => ends('relay.step')().then(() => 'empty'), close: ends('relay') },
    alerting: { close: ends('alerting') },
    client: { close: ends('client') },
    connecting: {
      stop: (withinMs: number) => ends(`renewal within ${withinMs} ms`)(),
      close: ends('connecting'),
    },
    ...{ sync: { stop: ends('sync') }, replay: { stop: ends('replay'), cutOff: ends('replay cut off') } },
    ...{ subscribing: { stop: ends('subscribing') }, meter: { end: ends('meter') } },
  };
  const names = ['relay', 'alert', 'sweep', 'learn', 'follow', 'ready'];
  const loops = Object.fromEntries(names.map((name) => [name, { stop: ends(`${name} loop`) }]));
  const failed: unknown[] = [];
  const clock = makeHandClock(0);
  const stopped = stopLoops(
    parts as unknown as LoopParts,
    loops as unknown as Loops,
    10_000,
    clock,
    (error) => failed.push(error),
  );
  return { ended, failed, clock, stopped };
}

/** Gives up after some turns, so that what does not come fails and does not hang. */
async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) {
    await new Promise(setImmediate);
    if (holds()) return;
  }
  throw new Error('It did not come.');
}

const away = async () => Promise.reject(new Error('away'));

test('a stop ends every part, and is clean', async () => {
  const { ended, stopped } = endable();
  expect(await stopped).toBe(true);
  expect(ended).toHaveLength(19);
});

test.each(['relay.step', 'relay', 'alerting', 'meter', 'sync', 'subscribing', 'work', 'sweep loop'])(
  'T3: a stop in which %s meets a store that is away ends every other part, tells it, and is not clean',
  async (part) => {
    const whole = endable();
    await whole.stopped;
    const { ended, failed, stopped } = endable({ [part]: away });
    expect(await stopped).toBe(false);
    expect([ended.toSorted(), failed]).toEqual([whole.ended.toSorted(), [new Error('away')]]);
  },
);

test('T3: a relay that hangs in a send is closed while there is time to give its lease back', async () => {
  const { ended, clock, stopped } = endable({ 'relay loop': () => new Promise(() => {}) });
  await clock.advance(7_999);
  expect(ended).not.toContain('relay');
  await clock.advance(1);
  expect(ended).toContain('relay');
  await stopped;
});

test('T3: a replay that waits for the relay does not keep it from being closed', async () => {
  const { ended, stopped } = endable({
    replay: async () => void (await until(() => ended.includes('relay'))),
  });
  expect(await stopped).toBe(true);
});

test('T3: a replay that hangs is cut off while there is time to give its lease back, and the stop is not clean', async () => {
  const { ended, clock, stopped } = endable({ replay: () => new Promise(() => {}) });
  await clock.advance(8_999);
  expect(ended).not.toContain('replay cut off');
  await clock.advance(1);
  expect(await stopped).toBe(false);
  expect(ended).toContain('replay cut off');
});

test('T3: renewals are given nine tenths of the grace, and only then their connections are closed', async () => {
  let end = () => {};
  const renewing = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { ended, stopped } = endable({ 'renewal within 9000 ms': () => renewing });
  await until(() => ended.includes('relay'));
  expect(ended).not.toContain('connecting');
  end();
  expect(await stopped).toBe(true);
  expect(ended).toContain('connecting');
});

test('T3: a stop that leaves consents in doubt ends every other part, and is not clean', async () => {
  const { ended, failed, stopped } = endable({ 'renewal within 9000 ms': async () => false });
  expect([await stopped, ended.length, failed]).toEqual([false, 19, []]);
});

test('T3: work that is not given back in time keeps nobody from being ended within the grace', async () => {
  const { ended, clock, stopped } = endable({ work: () => new Promise(() => {}) });
  await clock.advance(8_500);
  expect(await stopped).toBe(false);
  expect(ended).toEqual(expect.arrayContaining(['relay loop', 'relay', 'alerting', 'meter']));
});
