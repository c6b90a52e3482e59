/**
 * K5, F-8, F-16, F-17: tokens that end, are renewed, and are lost on the way. The kill is a real one, of a real process;
 * the others meet a token endpoint that does what it should not.
 */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GrantRefusal } from '../../src/connect/grant-refusal';
import { makeRenewal, type Renewal, type RenewalDoors } from '../../src/connect/renewal';
import { resealTokens } from '../../src/connect/reseal-tokens';
import { sealTokens, unsealConnection } from '../../src/connect/token-vault';
import type { Connection, SealedConnection, SealedTokens } from '../../src/model/connection';
import type { Grant, Renewed } from '../../src/model/consent';
import { Problem } from '../../src/model/problem';
import { makeSealer, Secret } from '../../src/tools/secret';
import { type Command, startCommand } from '../support/command';
import { type HandClock, makeHandClock } from '../support/hand-clock';
import { temporaryFolder } from '../support/ready-process';
import { beginStory, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const hourMs = 3_600_000;
const startMs = Date.parse('2026-03-01T00:00:00Z');
const [former, next] = [1, 2].map((fill) => ({ id: `k${fill}`, key: Buffer.alloc(32, fill) }));
const sealer = makeSealer([former!, next!]);
const turned = makeSealer([next!, former!]);

const grantOf = (turn: number, more: Partial<Grant> = {}): Grant => ({
  auth: 'oauth2',
  token: new Secret(`access-${turn}`),
  tokenSecret: null,
  refresh: new Secret(`refresh-${turn}`),
  expiresAt: new Date(startMs + (turn + 1) * hourMs).toISOString(),
  ...more,
});

const away = () => new Problem('store.unavailable', 'the store is away');
const nothing = { unstored: [], unanswered: [] };

/** One store, as several processes share it, and an endpoint that is told what to answer. */
class Stage {
  readonly clock: HandClock = makeHandClock(startMs);
  readonly asked: string[] = [];
  /** Refresh token → answer; what is not here is refused. */
  answer: (refresh: string) => Promise<Grant> = async () => grantOf(1);
  row: SealedConnection = {
    ...sealTokens('c1', grantOf(0), sealer),
    connectionId: 'c1',
    user: 'u',
    auth: 'oauth2',
    status: 'valid',
    organizations: [],
  };
  storeAway = false;
  leaseAway = false;
  /** What the store fails at, once, as soon as it has taken tokens: to say so, to find them, or to take the connection as valid. */
  failsOnceStored: 'answer' | 'find' | 'accept' | null = null;
  failing: Stage['failsOnceStored'] = null;
  /** How often tokens were brought to the store. */
  replacings = 0;
  /** What happens between the lease and the call that shows the refresh token. */
  beforeShown: () => Promise<void> = async () => {};
  /** What was put on record of a grant that is over. */
  readonly refusals: string[] = [];
  /** What happens just before that. */
  beforeRefusal: () => void = () => {};
  #lease: { holder: string; untilMs: number } | null = null;
  readonly #store: RenewalDoors['store'] = {
    findConnection: async () => {
      this.#failsOnce('find');
      return this.row;
    },
    replaceTokens: async (_id: string, replaces: string, tokens: SealedTokens) => {
      this.replacings += 1;
      if (this.storeAway) throw away();
      if (this.row.sealedToken !== replaces) return false;
      this.row = { ...this.row, ...tokens };
      this.failing = this.failsOnceStored;
      this.failsOnceStored = null;
      this.#failsOnce('answer');
      return true;
    },
    holdLease: async (_name: string, by: string, leaseMs: number) => {
      if (this.leaseAway) throw away();
      const free = this.#lease === null || this.#lease.untilMs <= this.clock.nowMs();
      if (!free && this.#lease?.holder !== by) return false;
      this.#lease = { holder: by, untilMs: this.clock.nowMs() + leaseMs };
      return true;
    },
  };

  #failsOnce(at: Stage['failing']): void {
    if (this.failing !== at) return;
    this.failing = null;
    throw away();
  }

  /** Whether another may renew now. */
  leaseIsFree(): boolean {
    return this.#lease === null || this.#lease.untilMs <= this.clock.nowMs();
  }

  /** A process: what it knows is what it last read. */
  process(holder: string): { renewal: Renewal; known(): Connection } {
    let known = unsealConnection(this.row, sealer);
    const renewal = makeRenewal({
      store: this.#store,
      sealer,
      server: {
        refresh: async (refresh, mayShow) => {
          await this.beforeShown();
          if (!mayShow()) throw new GrantRefusal('unasked', 'held back');
          this.asked.push(refresh.open());
          return this.answer(refresh.open());
        },
      },
      known: () => known,
      changed: async () => {
        known = unsealConnection(this.row, sealer);
      },
      refused: async (_id, message, sealedToken) => {
        this.beforeRefusal();
        if (this.row.sealedToken !== sealedToken) return;
        this.refusals.push(message);
        this.row = { ...this.row, status: 'refused' };
      },
      accepted: async () => {
        this.#failsOnce('accept');
        this.row = { ...this.row, status: 'valid' };
      },
      clock: this.clock,
      holder,
      callMsMax: 20_000,
      random: () => 0.5,
    });
    return { renewal, known: () => known };
  }

  /** What `migrate --reencrypt` does beside them. */
  async reseal(): Promise<void> {
    const store = { ...this.#store, listConnections: async () => [this.row] };
    expect(await resealTokens(store, turned, 'k2')).toEqual({ resealed: 1, kept: 0 });
  }

  stored(): Connection {
    return unsealConnection(this.row, sealer);
  }
}

const tokenOf = (renewed: Renewed): string =>
  'connection' in renewed ? renewed.connection.token.open() : JSON.stringify(renewed);

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});

describe('F-8: a token that is refused', () => {
  test('by a hundred requests at once is renewed once', async () => {
    const { renewal, known } = stage.process('a');
    const old = known();
    const renewed = await Promise.all(Array.from({ length: 100 }, () => renewal.renew(old)));
    expect(new Set(renewed.map(tokenOf))).toEqual(new Set(['access-1']));
    // Whoever comes late with the former token gets the new one at once.
    expect(tokenOf(await renewal.renew(old))).toBe('access-1');
    expect(stage.asked).toEqual(['refresh-0']);
  });

  test('in two processes at once is renewed once: the lease keeps the second one waiting', async () => {
    const [first, second] = [stage.process('a'), stage.process('b')];
    let give: (grant: Grant) => void = () => {};
    stage.answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    const renewing = first.renewal.renew(first.known());
    const waiting = second.renewal.renew(second.known());
    await stage.clock.advance(100);
    expect(stage.asked).toEqual(['refresh-0']);
    give(grantOf(1));
    expect(tokenOf(await renewing)).toBe('access-1');
    await stage.clock.advance(100);
    expect(tokenOf(await waiting)).toBe('access-1');
    expect(stage.asked).toEqual(['refresh-0']);
  });

  test('is shown by nobody else while a slow provider may still take it', async () => {
    const [first, second] = [stage.process('a'), stage.process('b')];
    stage.answer = () => new Promise(() => {});
    void first.renewal.renew(first.known());
    await stage.clock.advance(60_000);
    const waiting = second.renewal.renew(second.known());
    await stage.clock.advance(16_000);
    expect(await waiting).toHaveProperty('waits');
    expect(stage.asked).toEqual(['refresh-0']);
  });

  test('is not shown by who stood still for so long that another may have had it turned', async () => {
    const { renewal, known } = stage.process('a');
    stage.beforeShown = () => stage.clock.advance(60_001);
    expect(tokenOf(await renewal.renew(known()))).toContain('held back');
    expect(stage.asked).toEqual([]);
    stage.beforeShown = () => stage.clock.advance(60_000);
    await stage.clock.advance(60_000);
    expect(tokenOf(await renewal.renew(known()))).toBe('access-1');
  });

  test('is renewed ahead of its end, while the present one is used on', async () => {
    const { renewal, known } = stage.process('a');
    expect(renewal.current(known())).toBe(known());
    await stage.clock.advance(hourMs - 200_000);
    expect(renewal.current(known())).toMatchObject({ connectionId: 'c1' });
    await stage.clock.advance(0);
    expect(stage.asked).toEqual(['refresh-0']);
    expect(known().token.open()).toBe('access-1');
  });
});

describe('F-8: a token that lasts for less than it is renewed ahead', () => {
  const lastsMs = 200_000;
  const shortLived = (turn: number) =>
    grantOf(turn, { expiresAt: new Date(stage.clock.nowMs() + lastsMs).toISOString() });

  test('is renewed at most once a minute, however many ask', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => shortLived(stage.asked.length);
    await renewal.renew(known());
    for (let passedMs = 0; passedMs < 120_000; passedMs += 10_000) {
      expect(renewal.current(known())).toMatchObject({ connectionId: 'c1' });
      await stage.clock.advance(10_000);
    }
    expect(stage.asked).toEqual(['refresh-0', 'refresh-1']);
  });

  test('is given as it is known by now to who holds the former one', async () => {
    const { renewal, known } = stage.process('a');
    const former = known();
    await renewal.renew(former);
    expect(renewal.current(former)).toBe(known());
    await stage.clock.advance(2 * hourMs);
    stage.answer = async () => grantOf(2);
    expect(tokenOf(await (renewal.current(former) as Promise<Renewed>))).toBe('access-2');
    expect(stage.asked).toEqual(['refresh-0', 'refresh-1']);
  });
});

describe('F-17: the new refresh token', () => {
  test('is stored before the new access token is given to anybody', async () => {
    const { renewal, known } = stage.process('a');
    const renewed = await renewal.renew(known());
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
    expect(tokenOf(renewed)).toBe('access-1');
  });

  test('is kept as it was where the answer brings none, or the same', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => grantOf(1, { refresh: null });
    await renewal.renew(known());
    expect(stage.stored().refresh!.open()).toBe('refresh-0');
    stage.answer = async (refresh) => grantOf(2, { refresh: new Secret(refresh) });
    await renewal.renew(known());
    expect([stage.stored().token.open(), stage.stored().refresh!.open()]).toEqual(['access-2', 'refresh-0']);
  });

  test('that the store could not take is kept, and stored before the provider is asked again', async () => {
    const { renewal, known } = stage.process('a');
    const old = known();
    stage.storeAway = true;
    expect(await renewal.renew(old)).toMatchObject({ waits: { code: 'token-unavailable' } });
    stage.storeAway = false;
    await stage.clock.advance(5000);
    expect(tokenOf(await renewal.renew(old))).toBe('access-1');
    expect(stage.asked).toEqual(['refresh-0']);
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
  });

  test('that the store could not take keeps the lease, so that no other process shows the former one', async () => {
    const first = stage.process('a');
    const other = stage.process('b');
    const old = other.known();
    stage.storeAway = true;
    await first.renewal.renew(first.known());
    const waiting = other.renewal.renew(old);
    for (let looks = 0; looks < 5; looks += 1) await stage.clock.advance(100);
    stage.storeAway = false;
    for (let looks = 0; looks < 10; looks += 1) await stage.clock.advance(100);
    expect(tokenOf(await waiting)).toBe('access-1');
    expect(stage.asked).toEqual(['refresh-0']);
    expect(stage.refusals).toEqual([]);
  });

  test.each(['by itself', 'as it is asked for'])(
    'that the store could not take until another was refused for the former one makes the connection valid again, %s',
    async (how) => {
      const { renewal, known } = stage.process('a');
      const old = known();
      stage.storeAway = true;
      await renewal.renew(old);
      await stage.clock.advance(1000);
      stage.row = { ...stage.row, status: 'refused' };
      stage.storeAway = false;
      if (how === 'by itself') await stage.clock.advance(1000);
      else expect(tokenOf(await renewal.renew(old))).toBe('access-1');
      expect(stage.stored()).toMatchObject({ status: 'valid' });
      expect([known().token.open(), known().status]).toEqual(['access-1', 'valid']);
      expect(stage.asked).toEqual(['refresh-0']);
    },
  );

  test.each(['answer', 'find', 'accept'] as const)(
    'makes it valid again too where the store fails once (%s) as it has taken the grant',
    async (failure) => {
      const { renewal, known } = stage.process('a');
      stage.storeAway = true;
      await renewal.renew(known());
      stage.row = { ...stage.row, status: 'refused' };
      [stage.storeAway, stage.failsOnceStored] = [false, failure];
      await stage.clock.advance(1000);
      await stage.clock.advance(1000);
      expect(stage.failing).toBeNull();
      expect([stage.stored().token.open(), stage.row.status]).toEqual(['access-1', 'valid']);
      expect(await renewal.end(0)).toEqual(nothing);
    },
  );

  test.each(['by itself', 'by a stop'])(
    'that waits for the store is dropped where a consent was given meanwhile: %s',
    async (how) => {
      const { renewal, known } = stage.process('a');
      stage.storeAway = true;
      await renewal.renew(known());
      stage.row = { ...stage.row, ...sealTokens('c1', grantOf(7), sealer) };
      stage.storeAway = false;
      if (how === 'by itself') await stage.clock.advance(1000);
      else expect(await renewal.end(1000)).toEqual(nothing);
      await stage.clock.advance(5000);
      expect([stage.stored().token.open(), stage.stored().refresh!.open()]).toEqual([
        'access-7',
        'refresh-7',
      ]);
    },
  );

  test('that is stored by itself leaves the lease to others, and no pause', async () => {
    const { renewal, known } = stage.process('a');
    stage.storeAway = true;
    for (let times = 0; times < 6; times += 1) {
      await renewal.renew(known());
      await stage.clock.advance(10_000);
    }
    expect(stage.leaseIsFree()).toBe(false);
    stage.storeAway = false;
    await stage.clock.advance(1000);
    expect(stage.leaseIsFree()).toBe(true);
    stage.answer = async () => grantOf(2);
    expect(tokenOf(await renewal.renew(known()))).toBe('access-2');
  });

  test('that the store could not take is no trouble of the provider', async () => {
    const { renewal, known } = stage.process('a');
    stage.storeAway = true;
    const words = 'the token cannot be renewed now: the store failed (the store is away)';
    expect(await renewal.renew(known())).toMatchObject({ waits: { detail: words } });
    await stage.clock.advance(60_000);
    expect(renewal.trouble()).toBeNull();
  });

  test('that another process is to store is none of it either', async () => {
    const [first, second] = [stage.process('a'), stage.process('b')];
    stage.answer = () => new Promise(() => {});
    void first.renewal.renew(first.known());
    await stage.clock.advance(0);
    for (let times = 0; times < 4; times += 1) {
      const waiting = second.renewal.renew(second.known());
      await stage.clock.advance(16_000);
      expect(tokenOf(await waiting)).toContain('another process is renewing it');
    }
    expect(second.renewal.trouble()).toBeNull();
  });

  test('that was not asked for, since it came to that too late, is none of it either', async () => {
    const { renewal, known } = stage.process('a');
    stage.beforeShown = () => stage.clock.advance(60_001);
    for (let times = 0; times < 4; times += 1) {
      expect(tokenOf(await renewal.renew(known()))).toContain('held back');
      await stage.clock.advance(16_000);
    }
    expect(renewal.trouble()).toBeNull();
  });

  test('is asked for within 15 s of the store’s return, however long it was away', async () => {
    const { renewal, known } = stage.process('a');
    const old = known();
    stage.leaseAway = true;
    for (let seconds = 0; seconds < 600; seconds += 1) {
      await renewal.renew(old);
      await stage.clock.advance(1000);
    }
    stage.leaseAway = false;
    await stage.clock.advance(15_000);
    expect(tokenOf(await renewal.renew(old))).toBe('access-1');
  });

  test('that the store could not take is stored by itself, however long the pause is, as soon as it can be', async () => {
    const { renewal, known } = stage.process('a');
    stage.storeAway = true;
    await renewal.renew(known());
    await stage.clock.advance(600_000);
    stage.storeAway = false;
    await stage.clock.advance(1000);
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
    // And so is the next one.
    stage.storeAway = true;
    stage.answer = async () => grantOf(2);
    await renewal.renew(known());
    await stage.clock.advance(1000);
    stage.storeAway = false;
    await stage.clock.advance(1000);
    expect(stage.stored().refresh!.open()).toBe('refresh-2');
  });

  test('that the store could not take is stored by a stop', async () => {
    const { renewal, known } = stage.process('a');
    stage.storeAway = true;
    await renewal.renew(known());
    stage.storeAway = false;
    await renewal.end(10_000);
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
  });

  test('that the store goes on not taking is tried each second until a stop has to end, and named then', async () => {
    const { renewal, known } = stage.process('a');
    stage.storeAway = true;
    await renewal.renew(known());
    const before = stage.replacings;
    const ended = renewal.end(5000);
    for (let tries = 0; tries < 5; tries += 1) await stage.clock.advance(1000);
    expect(await ended).toEqual({ unstored: ['c1'], unanswered: [] });
    expect(stage.replacings - before).toBeGreaterThanOrEqual(4);
    expect(stage.stored().refresh!.open()).toBe('refresh-0');
    // Whoever ends has closed the store by then.
    const atLast = stage.replacings;
    for (let tries = 0; tries < 5; tries += 1) await stage.clock.advance(1000);
    expect(stage.replacings).toBe(atLast);
  });

  test('of a consent that was given meanwhile is not written over', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => {
      stage.row = { ...stage.row, ...sealTokens('c1', grantOf(7), sealer) };
      return grantOf(1);
    };
    expect(tokenOf(await renewal.renew(known()))).toBe('access-7');
    expect(stage.stored().refresh!.open()).toBe('refresh-7');
  });

  test('R11: is stored over a connection that was sealed with another key meanwhile', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => {
      await stage.reseal();
      return grantOf(1);
    };
    expect(tokenOf(await renewal.renew(known()))).toBe('access-1');
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
  });

  test('R11: is not given with an answer that brings none: the one that was sealed with another key stays', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => {
      await stage.reseal();
      return grantOf(1, { refresh: null });
    };
    expect(tokenOf(await renewal.renew(known()))).toBe('access-1');
    expect(stage.row.sealedRefresh).toMatch(/^k2\./);
    expect(stage.stored().refresh!.open()).toBe('refresh-0');
  });

  test('R11: that waited for the store is stored over a connection that was sealed with another key meanwhile', async () => {
    const { renewal, known } = stage.process('a');
    const old = known();
    stage.storeAway = true;
    expect(await renewal.renew(old)).toMatchObject({ waits: { code: 'token-unavailable' } });
    stage.storeAway = false;
    await stage.reseal();
    await stage.clock.advance(5000);
    expect(tokenOf(await renewal.renew(old))).toBe('access-1');
    expect(stage.asked).toEqual(['refresh-0']);
  });

  test('that another process turned in spite of the lease is taken from the store', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => {
      stage.row = { ...stage.row, ...sealTokens('c1', grantOf(3), sealer) };
      throw new GrantRefusal('refused', 'invalid_grant');
    };
    expect(tokenOf(await renewal.renew(known()))).toBe('access-3');
  });
});

describe('F-17: a process that ends', () => {
  test('waits for the renewal that is under way, stores it, and asks for no other', async () => {
    const { renewal, known } = stage.process('a');
    let give: (grant: Grant) => void = () => {};
    stage.answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    await stage.clock.advance(hourMs - 200_000);
    expect(renewal.current(known())).toBe(known());
    await stage.clock.advance(0);
    let hasEnded = false;
    const ended = renewal.end(30_000).then(() => {
      hasEnded = true;
    });
    await stage.clock.advance(1000);
    expect(hasEnded).toBe(false);
    give(grantOf(1));
    await ended;
    expect(stage.stored().refresh!.open()).toBe('refresh-1');
    expect(await renewal.renew(known())).toHaveProperty('waits');
    expect(stage.asked).toEqual(['refresh-0']);
  });

  test('shows no refresh token any more that had not come to it', async () => {
    const { renewal, known } = stage.process('a');
    let connected = () => {};
    stage.beforeShown = () =>
      new Promise((resolve) => {
        connected = resolve;
      });
    const renewed = renewal.renew(known());
    await stage.clock.advance(0);
    const ended = renewal.end(30_000);
    connected();
    expect(await ended).toEqual(nothing);
    expect(tokenOf(await renewed)).toContain('held back');
    expect(stage.asked).toEqual([]);
  });

  test('waits for a provider that does not answer no longer than it may, and names whose token that was shown', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = () => new Promise(() => {});
    void renewal.renew(known());
    await stage.clock.advance(0);
    const ended = renewal.end(5000);
    await stage.clock.advance(5000);
    expect(await ended).toEqual({ unstored: [], unanswered: ['c1'] });
  });

  test('names nobody whose token the provider answered, however it did', async () => {
    const { renewal, known } = stage.process('a');
    stage.answer = async () => {
      throw new GrantRefusal('unavailable', 'said unavailable');
    };
    await renewal.renew(known());
    expect(await renewal.end(0)).toEqual(nothing);
  });

  test('waits for no other process that renews it', async () => {
    const [first, second] = [stage.process('a'), stage.process('b')];
    stage.answer = () => new Promise(() => {});
    void first.renewal.renew(first.known());
    const waiting = second.renewal.renew(second.known());
    await stage.clock.advance(0);
    const ended = second.renewal.end(30_000);
    await stage.clock.advance(100);
    await ended;
    expect(await waiting).toHaveProperty('waits');
    expect(stage.asked).toEqual(['refresh-0']);
  });
});

describe('F-16: a token endpoint that gives no token', () => {
  const failing = (
    fault: 'unavailable' | 'unusable' | 'client-refused',
    retryAfterMs: number | null = null,
  ) => {
    stage.answer = async () => {
      throw new GrantRefusal(fault, `said ${fault}`, retryAfterMs);
    };
  };

  test.each(['unavailable', 'unusable'] as const)(
    '(%s) ends no consent and is not asked in a loop',
    async (fault) => {
      const { renewal, known } = stage.process('a');
      failing(fault);
      for (let round = 0; round < 20; round += 1) {
        expect(await renewal.renew(known())).toMatchObject({ waits: { code: 'token-unavailable' } });
      }
      expect(stage.asked).toHaveLength(1);
      let minutes = 0;
      for (; minutes < 60; minutes += 1) {
        await stage.clock.advance(60_000);
        await renewal.renew(known());
      }
      expect(stage.asked.length).toBeLessThan(45);
      expect(stage.row.status).toBe('valid');
      expect(renewal.trouble()).toMatchObject({ detail: expect.stringContaining(`said ${fault}`) });

      stage.answer = async () => grantOf(1);
      await stage.clock.advance(300_000);
      expect(tokenOf(await renewal.renew(known()))).toBe('access-1');
      expect(renewal.trouble()).toBeNull();
    },
  );

  test('is left alone for as long as it asks for', async () => {
    const { renewal, known } = stage.process('a');
    failing('unavailable', 90_000);
    expect(await renewal.renew(known())).toMatchObject({ waits: { retryAfterMs: 90_000 } });
    await stage.clock.advance(89_000);
    await renewal.renew(known());
    expect(stage.asked).toHaveLength(1);
    await stage.clock.advance(1000);
    await renewal.renew(known());
    expect(stage.asked).toHaveLength(2);
  });

  test('for the client itself says so', async () => {
    const { renewal, known } = stage.process('a');
    failing('client-refused');
    expect(await renewal.renew(known())).toEqual({ clientRefused: 'said client-refused' });
  });

  test('lets a token that lasts be used, and says of one that has ended that it waits', async () => {
    const { renewal, known } = stage.process('a');
    failing('unavailable');
    await stage.clock.advance(hourMs - 1000);
    expect(renewal.current(known())).toBe(known());
    await stage.clock.advance(2000);
    expect(await renewal.current(known())).toMatchObject({ waits: { code: 'token-unavailable' } });
  });
});

test('R11: a refusal is believed of a connection that was only sealed with another key meanwhile', async () => {
  const { renewal, known } = stage.process('a');
  stage.answer = async () => {
    await stage.reseal();
    throw new GrantRefusal('refused', 'invalid_grant');
  };
  expect(await renewal.renew(known())).toHaveProperty('refused');
  // And is on record: else it would be asked for again and again.
  expect([stage.row.status, stage.refusals.length]).toEqual(['refused', 1]);
});

test('a refresh token that is refused ends the consent, in honest words', async () => {
  const { renewal, known } = stage.process('a');
  stage.answer = async () => {
    throw new GrantRefusal('refused', 'invalid_grant');
  };
  const refused = { refused: expect.stringMatching(/invalid_grant.*lost before it could be stored/) };
  expect(await renewal.renew(known())).toEqual(refused);
  expect(stage.refusals).toEqual([refused.refused]);
});

test.each([
  ['before its refusal is heard', 'answer'],
  ['as its refusal is put on record', 'beforeRefusal'],
] as const)('a consent that is stored %s stays valid, and is used', async (_when, at) => {
  const { renewal, known } = stage.process('a');
  const consent = () => {
    stage.row = { ...stage.row, ...sealTokens('c1', grantOf(7), sealer) };
  };
  stage.answer = async () => {
    if (at === 'answer') consent();
    throw new GrantRefusal('refused', 'invalid_grant');
  };
  if (at === 'beforeRefusal') stage.beforeRefusal = consent;
  expect(tokenOf(await renewal.renew(known()))).toBe('access-7');
  expect([stage.row.status, stage.refusals]).toEqual(['valid', []]);
});

test('a refresh token that was refused is shown to nobody again, by this process or another', async () => {
  const [first, second] = [stage.process('a'), stage.process('b')];
  stage.answer = async () => {
    throw new GrantRefusal('refused', 'invalid_grant');
  };
  for (const { renewal, known } of [first, second, first])
    expect(await renewal.renew(known())).toEqual({ refused: expect.stringContaining('invalid_grant') });
  expect(stage.asked).toEqual(['refresh-0']);
});

describe('K5: the process dies between the provider’s answer and the store', () => {
  let story: Story;
  beforeEach(async () => {
    story = await beginStory({ flags: { users: 2, organizations: 2 } });
  });
  afterEach(() => story.end());

  test('K5: it is one alert and no loop, and the other connection goes on', async () => {
    const [lost] = await story.equipment(0);
    const [other] = await story.equipment(1);
    await story.service.stop();
    await story.serve({
      entry: 'dist/test/support/serve-with-failpoints.js',
      settings: { FAILPOINT: 'S6 renewed' },
    });
    const { service } = story;
    const users = [...new Set((await story.requests()).flatMap(({ verdict }) => verdict.user ?? []))].sort();
    await story.simulator.expireTokens({ user: users[0]! });
    await story.simulator.changeEquipment(lost!.id, { name: 'While it died' });
    expect(await service.exited).toEqual({ code: null, signal: 'SIGKILL' });

    await story.serve();
    await story.simulator.changeEquipment(lost!.id, { name: 'Afterwards' });
    await story.simulator.changeEquipment(other!.id, { name: 'Not concerned' });
    await until(async () => (await story.organization(lost!.organizationId)).access === 'reauthorize', soon);
    await story.untilEvents(other!, 1);
    await until(async () => (await story.alerts()).length > 0, soon);
    expect(await story.alerts()).toMatchObject([{ name: 'TramlineReauthorize', state: 'firing' }]);
    expect((await story.organization(lost!.organizationId)).message).toContain(
      'lost before it could be stored',
    );
    const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
    expect(rows.find(({ row }) => row === 'oauth2.refresh-reused')!.count).toBe(1);
    // Two were announced; the first came again where its answer had not left as the process died.
    const { parked, lost: neverEnded } = await story.untilRest();
    expect([2, 3]).toContain(parked);
    expect(neverEnded).toBe(0);
  });
});

describe('F-17: a token that is renewed ahead of its end', () => {
  const slow = {
    match: { method: 'POST', path: '/signin/oauth2/default/v1/token' },
    times: 1,
    delayMs: 1500,
  };
  const held = { match: { method: 'GET', path: '/isg/equipmentMakes' }, times: 1, held: true };
  let story: Story;
  let machine: Resource;
  beforeAll(async () => {
    story = await beginStory({
      flags: { users: 1, organizations: 1, equipment: 1 },
      settings: { DRAIN_SECONDS: '0', SYNC_INTERVAL_SECONDS: '0' },
    });
    machine = (await story.equipment())[0]!;
    await story.simulator.changeClient({ accessSeconds: 250 });
    await endToken();
  });
  afterAll(() => story.end());

  const start = (words: string[]) =>
    startCommand(words, {
      ...story.settings(),
      DATABASE_URL: `sqlite:${join(story.dataFolder, 'tramline.db')}`,
    });

  const untilAsked = () =>
    until(
      async () => {
        const left = (await (await fetch(`${story.simulator.control}faults`)).json()) as { times: number }[];
        return left.every(({ times }) => times === 0);
      },
      { ...soon, what: 'the renewal to begin' },
    );

  /** So that the next one, which ends soon, is stored and read with. */
  async function endToken(): Promise<void> {
    const { length } = await story.eventsOf(machine);
    await story.simulator.expireTokens({ kinds: ['access'] });
    await story.simulator.changeEquipment(machine.id, { name: `Changed ${length + 1} times` });
    await story.untilEvents(machine, length + 1);
    expect(await story.ask('/api/connections')).toMatchObject([{ status: 'valid' }]);
    await story.service.stop();
  }

  test('is stored though the service is stopped before the answer', async () => {
    await story.simulator.setFaults([slow]);
    await story.serve();
    await untilAsked();
    expect(await story.service.stop()).toMatchObject({ code: 0 });
    await story.serve();
    await endToken();
  });

  test('is stored though the command that asked for it has ended its work before the answer', async () => {
    await story.simulator.setFaults([slow, held]);
    const command = start(['makes']);
    await untilAsked();
    await story.simulator.setFaults([]);
    expect(await command.ended).toMatchObject({ code: 0 });
    await story.serve();
    await endToken();
  });

  const early: [how: string, code: number | null, end: (command: Command) => void][] = [
    ['nobody reads what the command prints', 0, (command) => command.stopReading()],
    ['the command is interrupted', null, (command) => command.interrupt()],
    [
      'the terminal of the command goes away, which is told twice',
      null,
      (command) => {
        command.signal('SIGHUP');
        setTimeout(() => command.signal('SIGHUP'), 100);
      },
    ],
  ];
  const listed = async () =>
    JSON.parse((await start(['connections', 'list', '--json']).ended).out) as Record<string, string>[];

  test.each(early)('is stored though %s', async (_how, code, end) => {
    const [former] = await listed();
    // Turned at once, and told over a second or so.
    await story.simulator.setFaults([{ ...slow, delayMs: 0, drip: 5 }, held]);
    const command = start(['makes']);
    await untilAsked();
    end(command);
    await story.simulator.setFaults([]);
    expect(await command.ended).toMatchObject({ code, error: expect.not.stringContaining('tramline:') });
    expect(await start(['makes']).ended).toMatchObject({ code: 0 });
    const [renewed] = await listed();
    expect(renewed).toMatchObject({ status: 'valid' });
    // Where a dead one's lease kept the next one from asking, the former would be there as well.
    expect(Date.parse(renewed!.expiresAt!)).toBeGreaterThan(Date.parse(former!.expiresAt!));
  });

  test('is not waited for by whoever interrupts again', async () => {
    await story.simulator.setFaults([{ ...slow, delayMs: 0, held: true }, held]);
    const command = start(['makes']);
    await untilAsked();
    let ended: { code: number | null } | null = null;
    void command.ended.then((end) => {
      ended = end;
    });
    const interruptedAgain = () => {
      command.interrupt();
      return ended;
    };
    expect(await until(interruptedAgain, { ...soon, what: 'the command to end' })).toMatchObject({
      code: null,
    });
    await story.simulator.setFaults([]);
  });
});

describe('a store that is restored from a backup', () => {
  let story: Story;
  beforeEach(async () => {
    story = await beginStory({ flags: { users: 2, organizations: 2 } });
  });
  afterEach(() => story.end());

  test('has the refresh tokens of its day: the user of each connection that was renewed since must consent anew, and is told why', async () => {
    const [renewed] = await story.equipment(0);
    const [other] = await story.equipment(1);
    const backup = join(temporaryFolder(), 'backup');
    await story.service.stop();
    cpSync(story.dataFolder, backup, { recursive: true });
    await story.serve();
    const users = [...new Set((await story.requests()).flatMap(({ verdict }) => verdict.user ?? []))].sort();
    await story.simulator.expireTokens({ user: users[0]! });
    await story.simulator.changeEquipment(renewed!.id, { name: 'After the renewal' });
    await story.untilEvents(renewed!, 1);
    await story.service.stop();
    rmSync(story.dataFolder, { recursive: true });
    cpSync(backup, story.dataFolder, { recursive: true });

    await story.serve();
    await story.simulator.changeEquipment(renewed!.id, { name: 'After the restore' });
    await story.simulator.changeEquipment(other!.id, { name: 'Not concerned' });
    await until(
      async () => (await story.organization(renewed!.organizationId)).access === 'reauthorize',
      soon,
    );
    await story.untilEvents(other!, 1);
    expect((await story.organization(renewed!.organizationId)).message).toContain(
      'restored from a backup of before the latest renewal',
    );
    await until(async () => (await story.alerts()).length > 0, soon);
    expect(await story.alerts()).toMatchObject([{ name: 'TramlineReauthorize', state: 'firing' }]);
    const connections = await story.ask<{ user: string; status: string }[]>('/api/connections');
    expect(connections.map(({ user, status }) => [user, status]).sort()).toEqual([
      [users[0], 'refused'],
      [users[1], 'valid'],
    ]);
    expect(await story.untilRest()).toMatchObject({ parked: 1, lost: 0 });
  });
});
