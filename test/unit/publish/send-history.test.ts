/**
 * How a long history is cut into pieces for Kafka: in order, whole, each within the bounds of one send; and how a piece
 * is sent to a topic of its own, through a target that answers from a script.
 */
import type { OutboxRow } from '../../../src/model/event';
import type { SelectedEvent } from '../../../src/model/replay';
import { chunksOf, makeHistorySender } from '../../../src/publish/send-history';
import type { Batch, Outcome, PublishTarget, SendResult } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';

const eventsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, row) => ({ row, bytes }) as SelectedEvent);

const sizes = (count: number, bytes: number) => chunksOf(eventsOf(count, bytes)).map(({ length }) => length);

test('a piece holds at most five hundred events', () => {
  expect(sizes(1100, 10)).toEqual([500, 500, 100]);
});

test('a piece holds at most four megabytes, and an event that is larger alone is a piece of its own', () => {
  expect(sizes(5, 1_500_000)).toEqual([2, 2, 1]);
  expect(sizes(2, 5_000_000)).toEqual([1, 1]);
});

test('nothing is left out and nothing changes its place', () => {
  const events = eventsOf(1234, 9000);
  expect(chunksOf(events).flat()).toEqual(events);
});

test('of nothing there is one empty piece', () => {
  expect(sizes(0, 0)).toEqual([0]);
});

describe('a piece that is sent', () => {
  const rowsOf = (count: number) =>
    Array.from(
      { length: count },
      (_, row) => ({ row, eventId: `id-${row}`, key: 'k', headers: [], value: '{}' }) as unknown as OutboxRow,
    );
  const held = { check: () => {}, confirm: async () => {} };
  const took = (firstOffset: string | null): SendResult => ({
    outcomes: [{ sent: true, firstOffset }],
    spent: false,
  });
  const failed = (kind: 'retry' | 'denied' | 'fenced', spent = false): SendResult => ({
    outcomes: [{ sent: false, kind, code: 'X', detail: `it is ${kind}` } satisfies Outcome],
    spent,
  });

  /** A sender whose target gives these answers, one after the other, and the last one from then on. */
  function senderOf(answers: SendResult[], clock = makeHandClock(0)) {
    const life: string[] = [];
    const target = (topic: string) =>
      ({
        open: async () => void life.push(`open ${topic}`),
        close: async () => void life.push(`close ${topic}`),
        partitionsOf: async () => 1,
        send: async () => (answers.length > 1 ? answers.shift()! : answers[0]!),
      }) as unknown as PublishTarget;
    const exists = async (topic: string) => topic === 'history';
    return { sender: makeHistorySender({ liveTopics: ['live'], exists, target, clock }), life, clock };
  }

  /** Lets the waits between attempts pass. */
  async function passing<T>(sending: Promise<T>, clock: ReturnType<typeof makeHandClock>): Promise<T> {
    let over = false;
    const ended = sending.finally(() => {
      over = true;
    });
    ended.catch(() => {});
    for (let round = 0; round < 100 && !over; round += 1) await clock.advance(5000);
    return ended;
  }

  test('is acknowledged record by record; one producer serves one topic after the other', async () => {
    const { sender, life } = senderOf([took('7')]);
    expect((await sender.send('history', rowsOf(2), held)).sent).toEqual([
      { row: 0, partition: 0, offset: '7' },
      { row: 1, partition: 0, offset: '8' },
    ]);
    await sender.send('history', rowsOf(1), held);
    await sender.send('other', rowsOf(1), held);
    await sender.close();
    await sender.close();
    expect(life).toEqual(['open history', 'close history', 'open other', 'close other']);
  });

  test('counts from nothing where there are no offsets', async () => {
    const { sender } = senderOf([took(null)]);
    expect((await sender.send('history', rowsOf(1), held)).sent).toEqual([
      { row: 0, partition: 0, offset: '0' },
    ]);
  });

  test('is sent again through a new producer when it was not acknowledged', async () => {
    const { sender, life, clock } = senderOf([failed('retry'), took('3')]);
    expect((await passing(sender.send('history', rowsOf(1), held), clock)).sent).toHaveLength(1);
    expect(life).toEqual(['open history', 'close history', 'open history']);
  });

  test('is given up at once where Kafka forbids it, and after six attempts where it does not answer', async () => {
    const denied = senderOf([failed('denied')]);
    await expect(denied.sender.send('history', rowsOf(1), held)).rejects.toMatchObject({
      code: 'publish.refused',
      message: expect.stringContaining('it is denied'),
    });
    const mute = senderOf([{ outcomes: [], spent: true }]);
    await expect(passing(mute.sender.send('history', rowsOf(1), held), mute.clock)).rejects.toMatchObject({
      code: 'publish.unavailable',
      message: expect.stringContaining('no answer'),
    });
    expect(mute.life.filter((step) => step.startsWith('open'))).toHaveLength(6);
  });

  test('is given up at once for what Kafka forbids, though other partitions were only refused for their size, or not answered', async () => {
    const target = (_topic: string) =>
      ({
        open: async () => {},
        close: async () => {},
        partitionsOf: async () => 3,
        send: async (batches: Batch[]) => ({
          outcomes: batches.map((_, index) => ({
            ...{ sent: false, code: 'X', detail: 'no' },
            kind: (['too-large', 'retry', 'denied'] as const)[index],
          })),
          spent: true,
        }),
      }) as unknown as PublishTarget;
    const doors = { liveTopics: [], exists: async () => true, target, clock: makeHandClock(0) };
    const rows = rowsOf(30).map((row) => ({ ...row, key: `k${row.row}` }));
    await expect(makeHistorySender(doors).send('history', rows, held)).rejects.toMatchObject({
      code: 'publish.refused',
      message: expect.stringContaining('history: no'),
    });
  });

  describe('through a producer that does not open', () => {
    function senderWith(open: (place: number) => Promise<void>) {
      const life: string[] = [];
      let made = 0;
      const target = () => {
        const place = made;
        made += 1;
        return {
          open: () => open(place),
          close: async () => void life.push(`close ${place}`),
          partitionsOf: async () => 1,
          send: async () => took(`${place}`),
        } as unknown as PublishTarget;
      };
      const doors = { liveTopics: [], exists: async () => true, target, clock: makeHandClock(0) };
      return { sender: makeHistorySender(doors), life };
    }

    test('fails as that does, and goes through another the next time', async () => {
      const { sender, life } = senderWith(async (place) => {
        if (place === 0) throw new Error('no coordinator');
      });
      await expect(sender.send('history', rowsOf(1), held)).rejects.toThrow('no coordinator');
      expect(life).toEqual(['close 0']);
      expect((await sender.send('history', rowsOf(1), held)).sent).toMatchObject([{ offset: '1' }]);
    });

    test('is cut off by whoever closes', async () => {
      const { sender, life } = senderWith(() => new Promise(() => {}));
      void sender.send('history', rowsOf(1), held);
      await new Promise(setImmediate);
      await sender.close();
      expect(life).toEqual(['close 0']);
    });
  });

  test('is sent again a little later, each time longer', async () => {
    const { sender, clock, life } = senderOf([failed('retry', true), failed('retry', true), took('0')]);
    const sending = sender.send('history', rowsOf(1), held);
    const opened = async (afterMs: number) => {
      await clock.advance(afterMs);
      return life.filter((step) => step.startsWith('open')).length;
    };
    expect([await opened(0), await opened(399), await opened(1)]).toEqual([1, 1, 2]);
    expect([await opened(799), await opened(1)]).toEqual([2, 3]);
    expect((await sending).sent).toHaveLength(1);
  });

  test('waits for a quota between two sends, however short of attempts, and no longer than it may send', async () => {
    const { sender, clock } = senderOf([{ ...took('0'), heldBackMs: 40_000 }, took('1')]);
    let isHeld = true;
    const hold = {
      check: () => {
        if (!isHeld) throw new Error('it lapsed');
      },
      confirm: async () => {},
    };
    await sender.send('history', rowsOf(1), hold);
    let over = false;
    const second = sender.send('history', rowsOf(1), hold).then(() => {
      over = true;
    });
    for (let passed = 0; passed < 39; passed += 1) await clock.advance(1_000);
    expect(over).toBe(false);
    await clock.advance(1_000);
    await second;
    const stopped = senderOf([{ ...took('0'), heldBackMs: 40_000 }]);
    await stopped.sender.send('history', rowsOf(1), hold);
    const ended = expect(stopped.sender.send('history', rowsOf(1), hold)).rejects.toThrow('it lapsed');
    await stopped.clock.advance(5_000);
    isHeld = false;
    await stopped.clock.advance(1_000);
    await ended;
  });

  test('is given up for one event that is refused for what is in it, which is named', async () => {
    const refuse = (batches: Batch[]) => batches.map(({ rows }) => rows.some(({ row }) => row === 5));
    const target = () =>
      ({
        open: async () => {},
        close: async () => {},
        partitionsOf: async () => 1,
        send: async (batches: Batch[]) => ({
          outcomes: refuse(batches).map((isRefused) =>
            isRefused
              ? { sent: false, kind: 'refused', code: 'INVALID_RECORD', detail: 'invalid' }
              : { sent: true, firstOffset: '0' },
          ),
          spent: refuse(batches).includes(true),
        }),
      }) as unknown as PublishTarget;
    const doors = { liveTopics: [], exists: async () => true, target, clock: makeHandClock(0) };
    await expect(makeHistorySender(doors).send('history', rowsOf(8), held)).rejects.toMatchObject({
      code: 'publish.refused',
      message: expect.stringContaining('history: event id-5: invalid'),
    });
  });

  test('is given up at once when another producer took over', async () => {
    const { sender, life } = senderOf([failed('fenced', true)]);
    await expect(sender.send('history', rowsOf(1), held)).rejects.toMatchObject({ code: 'publish.refused' });
    expect(life).toEqual(['open history', 'close history']);
  });

  test('takes an epoch, then the lease is confirmed, then it leaves; and its fate counts only while that holds', async () => {
    const { sender, life } = senderOf([took('7')]);
    let checks = 0;
    const hold = {
      check: () => {
        checks += 1;
        life.push('check');
        if (checks === 3) throw new Error('it lapsed');
      },
      confirm: async () => void life.push('confirm'),
    };
    await expect(sender.send('history', rowsOf(1), hold)).rejects.toThrow('it lapsed');
    expect(life).toEqual(['check', 'open history', 'confirm', 'check', 'check']);
  });

  describe('to a topic that takes smaller batches', () => {
    const tooLarge = {
      sent: false,
      kind: 'too-large',
      code: 'MESSAGE_TOO_LARGE',
      detail: 'too large',
    } as const;
    /** Takes batches of so many rows, without the one at fault. */
    function smallTopic(rowsMost: number, fault: number | null = null) {
      const written: number[] = [];
      const sizes: number[] = [];
      const target = () =>
        ({
          open: async () => {},
          close: async () => {},
          partitionsOf: async () => 1,
          send: async ([batch]: [Batch]) => {
            const { rows } = batch;
            sizes.push(rows.length);
            if (rows.length > rowsMost || rows.some(({ row }) => row === fault))
              return { outcomes: [tooLarge], spent: true };
            const first = written.length;
            written.push(...rows.map(({ row }) => row));
            return { outcomes: [{ sent: true, firstOffset: String(first) }], spent: false };
          },
        }) as unknown as PublishTarget;
      const clock = makeHandClock(0);
      const sender = makeHistorySender({ liveTopics: [], exists: async () => true, target, clock });
      return { sender, written, sizes };
    }

    test('halves them until they fit, in order and without a wait, and keeps to that', async () => {
      const { sender, written, sizes } = smallTopic(10);
      const { sent } = await sender.send('history', rowsOf(240), held);
      expect(written).toEqual(rowsOf(240).map(({ row }) => row));
      expect(sent.map(({ row, offset }) => [row, offset])).toEqual(written.map((row) => [row, String(row)]));
      expect(sizes.slice(0, 6)).toEqual([240, 120, 60, 30, 15, 7]);
      sizes.length = 0;
      await sender.send('history', rowsOf(240), held);
      expect(Math.max(...sizes)).toBeLessThan(15);
    });

    test('passes one over that is too large alone, and brings all others in order', async () => {
      const { sender, written } = smallTopic(500, 3);
      expect(await sender.send('history', rowsOf(8), held)).toMatchObject({ tooLarge: [3] });
      expect(written).toEqual([0, 1, 2, 4, 5, 6, 7]);
    });

    /** Takes no record of so many characters, and counts its producers. */
    function narrowTopic(charactersMost: number) {
      const bounds = { charactersMost };
      const seen = { opened: 0, sizes: [] as number[], written: [] as number[] };
      const target = () =>
        ({
          open: async () => {
            seen.opened += 1;
          },
          close: async () => {},
          partitionsOf: async () => 1,
          send: async ([{ rows }]: [Batch]) => {
            seen.sizes.push(rows.length);
            if (rows.some(({ value }) => value.length > bounds.charactersMost))
              return { outcomes: [tooLarge], spent: true };
            seen.written.push(...rows.map(({ row }) => row));
            return { outcomes: [{ sent: true, firstOffset: '0' }], spent: false };
          },
        }) as unknown as PublishTarget;
      const clock = makeHandClock(0);
      const sender = makeHistorySender({ liveTopics: [], exists: async () => true, target, clock });
      return { sender, seen, bounds };
    }
    const everyNth = (count: number, nth: number, characters: number) =>
      rowsOf(count).map((row) => (row.row % nth === 3 ? { ...row, value: 'x'.repeat(characters) } : row));

    test('looks for the first that is too large alone, and asks for others of its size one by one', async () => {
      const { sender, seen } = narrowTopic(100);
      const { sent, tooLarge } = await sender.send('history', everyNth(500, 25, 200), held);
      expect([sent.length, tooLarge.length]).toEqual([480, 20]);
      expect(seen.written).toEqual(seen.written.toSorted((one, other) => one - other));
      // Ten halvings, and one producer for each; looked for anew each time it was 87.
      expect(seen.opened).toBeLessThanOrEqual(30);
    });

    test('asks for a size that was refused in whole batches again once the topic has taken it', async () => {
      const { sender, seen, bounds } = narrowTopic(100);
      await sender.send('history', everyNth(500, 25, 200), held);
      bounds.charactersMost = 300;
      await sender.send('history', everyNth(500, 25, 200), held);
      seen.sizes.length = 0;
      expect(await sender.send('history', everyNth(500, 25, 200), held)).toMatchObject({ tooLarge: [] });
      expect(seen.sizes).toEqual([500]);
    });
  });

  test('goes neither to a live topic nor to one that is not there', async () => {
    const { sender } = senderOf([took('0')]);
    await expect(sender.refuseUnfit('live')).rejects.toMatchObject({
      code: 'command.usage',
      message: expect.stringContaining('live is a live topic'),
    });
    await expect(sender.refuseUnfit('none')).rejects.toMatchObject({
      code: 'command.usage',
      message: expect.stringContaining('there is no topic none'),
    });
    await expect(sender.refuseUnfit('history')).resolves.toBeUndefined();
  });
});
