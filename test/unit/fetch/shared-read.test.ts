import { makeSharedRead } from '../../../src/fetch/shared-read';

function stage() {
  const begun: ((result: number) => void)[] = [];
  const read = makeSharedRead<number>(() => new Promise((resolve) => begun.push(resolve)));
  return { read, begun };
}

test('callers that come together share one read', async () => {
  const { read, begun } = stage();
  const both = [read.join(), read.join()];
  expect(begun).toHaveLength(1);
  begun[0]!(1);
  expect(await Promise.all(both)).toEqual([1, 1]);
  const later = read.join();
  expect(begun).toHaveLength(2);
  begun[1]!(2);
  expect(await later).toBe(2);
});

test('who needs what is true from now on gets the next read, shared with all who ask meanwhile', async () => {
  const { read, begun } = stage();
  const first = read.join();
  const next = [read.next(), read.next()];
  expect(begun).toHaveLength(1);
  begun[0]!(1);
  expect(await first).toBe(1);
  await new Promise(setImmediate);
  expect(begun).toHaveLength(2);
  begun[1]!(2);
  expect(await Promise.all(next)).toEqual([2, 2]);
  const alone = read.next();
  expect(begun).toHaveLength(3);
  begun[2]!(3);
  expect(await alone).toBe(3);
});
