/**
 * Large answers that came together: each is read in a turn of its own, and everything else goes on between them. Exchanges
 * are handed in, so that all of them are there in the same moment.
 */
import { type Line, makeAsk } from '../../../src/fetch/ask';
import { Attempt } from '../../../src/fetch/attempt';
import type { Verdict } from '../../../src/fetch/classify';
import { makeTurns } from '../../../src/fetch/one-at-a-time';

const question = {
  url: new URL('https://provider.test/a'),
  operation: 'equipment',
  connection: null,
} as const;
const notModified = { kind: 'not-modified' } as unknown as Verdict;

/** What was done, in order; `turn`: the event loop went round. */
let told: string[];
let going: boolean;
/** How long the reading of one takes. */
let holdMs: number;
beforeEach(() => {
  told = [];
  going = true;
  holdMs = 0;
  const goRound = () => {
    if (told.at(-1) !== 'turn') told.push('turn');
    if (going) setImmediate(goRound);
  };
  setImmediate(goRound);
});
afterEach(() => {
  going = false;
});

function holdUp(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

const lineOf = (bytes: number): Line => ({
  exchange: async () => ({ status: 200, headers: {}, body: Buffer.alloc(bytes), wireBytes: bytes }),
  verdictOf(exchange) {
    told.push(exchange.status === null ? exchange.code : 'read');
    holdUp(holdMs);
    return notModified;
  },
});

/** `signals`: what cuts each of the three. */
async function askThrice(bytes: number, signals: AbortSignal[] = [], timeoutMs = 60_000): Promise<void> {
  const ask = makeAsk(lineOf(bytes));
  const attempts = [0, 1, 2].map((place) => new Attempt(timeoutMs, signals[place]));
  told = [];
  await Promise.all(attempts.map((attempt) => ask(question, attempt)));
  for (const attempt of attempts) attempt.end();
}

test('of large answers that came together each is read in a turn of its own', async () => {
  await askThrice(256 * 1024);
  expect(told.join(' ')).toMatch(/^read turn read turn read$/);
});

test('small ones are read as they come', async () => {
  await askThrice(256 * 1024 - 1);
  expect(told.slice(0, 3)).toEqual(['read', 'read', 'read']);
});

test('one that is cut while it waits gives up its turn, and is not read', async () => {
  const stop = new AbortController();
  const never = new AbortController().signal;
  const asked = askThrice(256 * 1024, [never, stop.signal, never]);
  stop.abort();
  await asked;
  expect(told.filter((what) => what !== 'turn').sort()).toEqual(['aborted', 'read', 'read']);
});

test('one whose deadline passes while it waits is read: the provider has answered in time', async () => {
  holdMs = 20;
  await askThrice(256 * 1024, [], 10);
  expect(told.filter((what) => what !== 'turn')).toEqual(['read', 'read', 'read']);
});

describe('between two turns', () => {
  let nowMs: number;
  let pauses: unknown[];
  beforeEach(() => {
    nowMs = 0;
    pauses = [];
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((resume: () => void, pauseMs: number) => {
      pauses.push(pauseMs);
      resume();
    }) as never);
  });
  afterEach(() => jest.restoreAllMocks());

  async function pausesAfter(turnMs: number): Promise<unknown[]> {
    const turn = makeTurns();
    await turn();
    nowMs += turnMs;
    await turn();
    // The second ends here, after nothing.
    await new Promise(setImmediate);
    return pauses;
  }

  test('as long as one took is left to everything else', async () => {
    expect(await pausesAfter(50)).toEqual([50]);
  });

  test('half a second is enough after the longest', async () => {
    expect(await pausesAfter(2000)).toEqual([500]);
  });

  test('a short one is followed by the next as soon as the event loop has gone round', async () => {
    expect(await pausesAfter(49)).toEqual([]);
  });
});
