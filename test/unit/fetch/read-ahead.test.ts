/**
 * Many short lists are asked for several at once and read in order; who stops reading leaves none open. Each list waits for
 * the test before it shows anything.
 */
import { setImmediate } from 'node:timers/promises';
import { readAhead } from '../../../src/fetch/read-ahead';

interface Stage {
  /** What was begun and not answered yet. */
  asked: string[];
  left: string[];
  answer(place: string): void;
  read(place: string): AsyncGenerator<string, void>;
}

function stage(failing = ''): Stage {
  const open = new Map<string, () => void>();
  const [asked, left]: [string[], string[]] = [[], []];
  return {
    asked,
    left,
    answer: (place) => {
      asked.splice(asked.indexOf(place), 1);
      open.get(place)!();
    },
    async *read(place) {
      try {
        asked.push(place);
        await new Promise<void>((resolve) => void open.set(place, resolve));
        if (place === failing) throw new Error(`no ${place}`);
        yield `${place}1`;
        yield `${place}2`;
      } finally {
        left.push(place);
      }
    },
  };
}

/** Reads to the end, answering whatever is asked, the last one first; which were asked for together each time. */
async function readAll(staged: Stage, places: string[], atOnce: number) {
  const together: string[] = [];
  const things: string[] = [];
  const done = (async () => {
    for await (const thing of readAhead(places, atOnce, staged.read)) things.push(thing);
  })();
  let ended = false;
  void done.finally(() => (ended = true)).catch(() => {});
  while (!ended) {
    await setImmediate();
    if (staged.asked.length > 0) together.push(staged.asked.join(''));
    for (const place of staged.asked.toReversed()) staged.answer(place);
  }
  await done;
  return { things: things.join(' '), together };
}

test('what is answered out of order is read in order, as many ahead as have ended, up to the bound', async () => {
  const staged = stage();
  const { things, together } = await readAll(staged, [...'abcdefg'], 3);
  expect(things).toBe([...'abcdefg'].map((place) => `${place}1 ${place}2`).join(' '));
  expect(together).toEqual(['a', 'b', 'cd', 'efg']);
  expect(staged.left.toSorted().join('')).toBe('abcdefg');
});

test('one at a time where the bound is one, and nothing of no places', async () => {
  expect(await readAll(stage(), ['a', 'b', 'c'], 1)).toMatchObject({ together: ['a', 'b', 'c'] });
  expect(await readAll(stage(), [], 3)).toEqual({ things: '', together: [] });
});

test('a list that fails is heard of in its turn, and leaves none open', async () => {
  const staged = stage('d');
  await expect(readAll(staged, [...'abcdef'], 3)).rejects.toThrow('no d');
  expect(staged.left.toSorted()).toEqual(expect.arrayContaining([...'abcd']));
  expect(staged.asked).toEqual([]);
});

test('who stops reading leaves what was asked ahead', async () => {
  const staged = stage();
  const lines = readAhead([...'abcd'], 2, staged.read);
  const turn = async () => {
    const step = lines.next();
    await setImmediate();
    for (const place of [...staged.asked]) staged.answer(place);
    return (await step).value;
  };
  const things: unknown[] = [];
  for (let count = 0; count < 5; count += 1) things.push(await turn());
  expect(things.join(' ')).toBe('a1 a2 b1 b2 c1');
  await lines.return();
  expect(staged.left.toSorted().join('')).toBe('abcd');
});
