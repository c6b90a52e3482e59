// The subscribe room on a scripted provider and a store in memory: two users, one of whom sees two organizations.
import type { Connection } from '../../../src/model/connection';
import { Problem } from '../../../src/model/problem';
import type { SubscribeDoors } from '../../../src/subscribe/doors';
import { makeSecretBook, type SecretBook } from '../../../src/subscribe/secret-book';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { type HandClock, makeHandClock } from '../../support/hand-clock';
import { type MemorySecrets, makeMemorySecrets } from '../../support/memory-secrets';
import { connectionOf } from '../../support/provider-client';
import { makeScriptedCalls, type ScriptedCalls } from '../../support/scripted-calls';

export interface Stage {
  calls: ScriptedCalls;
  store: MemorySecrets;
  book: SecretBook;
  clock: HandClock;
  connections: Connection[];
  sees: Map<string, ReadonlySet<string>>;
  doors: SubscribeDoors;
}

export function stageRoom(
  more: Partial<SubscribeDoors> = {},
  tokens: string[] = [],
  store = makeMemorySecrets(),
): Stage {
  const calls = makeScriptedCalls();
  const clock = makeHandClock(Date.UTC(2026, 2, 1));
  store.nowMs = clock.nowMs();
  const book = makeSecretBook({
    store,
    sealer: makeSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }]),
    configured: {
      authorizationValues: [new Secret('Bearer set')],
      tokens: tokens.map((text) => ({ token: new Secret(text), user: null })),
    },
    failed: (error) => {
      throw error;
    },
  });
  const connections = [connectionOf(), connectionOf({ connectionId: 'c2', user: 'bob' })];
  const sees = new Map<string, ReadonlySet<string>>([
    ['c1', new Set(['4711', '4712'])],
    ['c2', new Set(['4712'])],
  ]);
  const doors: SubscribeDoors = {
    book,
    calls: () => calls,
    connections: () => connections,
    sees: (connectionId) => sees.get(connectionId) ?? new Set(),
    ready: async () => {},
    spread: async () => {},
    target: 'https://tramline.example/webhooks',
    needsAuthorization: true,
    needsToken: false,
    listingFaultOf: ({ detail, address, organizationId }) => ({
      code: 'provider.refused',
      detail,
      address,
      organizationId,
      actionUrl: null,
    }),
    problemOf: ({ detail, answer }) => new Problem('provider.refused', `${answer?.kind}: ${detail}`),
    clock,
    ...more,
  };
  return { calls, store, book, clock, connections, sees, doors };
}
