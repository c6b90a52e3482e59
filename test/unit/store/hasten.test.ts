/**
 * What becomes due in pages when an outage ends: between two of them the rest of the store goes on.
 */
import { rmSync } from 'node:fs';
import type { TakenTask } from '../../../src/model/task';
import type { HastenedPage } from '../../../src/store/hastened-page';
import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import type { VerbName } from '../../../src/store/sqlite/verbs';
import { layStore, settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, heldBy, hintOf } from '../../contract/store-hand';

const tasks = 1700;
let folder: string;
let engine: Engine;
let nowMs: number;

function ask<Value>(verb: VerbName, ...args: unknown[]): Value {
  const [result] = engine.execute([{ verb, args }]);
  return (result as { value: Value }).value;
}

/** Failed since the provider is away, of which it is not known for how long. */
function postpone(task: TakenTask, dueInMs: number): void {
  const failure = { dueInMs, code: 'status-503', detail: null, own: false, agedMs: 0 };
  ask('postpone', { ...heldBy(task), ...failure });
}

beforeEach(() => {
  const laid = layStore();
  folder = laid.folder;
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  engine = openEngine(settingsFor(laid.file), () => nowMs);
  const hints = Array.from({ length: tasks }, (_, at) => hintOf(`${at}`));
  ask('put', deliveryOf(nowMs, hints));
  const taken = ask<TakenTask[]>('take', tasks);
  for (const [at, task] of taken.entries()) postpone(task, 60_000 + (at % 900));
  nowMs += 5000;
});
afterEach(() => {
  engine.close();
  rmSync(folder, { recursive: true });
});

test('a page is bounded, and what it made due is taken before the next one', () => {
  const first = ask<HastenedPage>('hasten');
  expect(first.count).toBeLessThan(1000);
  expect(ask<TakenTask[]>('take', tasks)).toHaveLength(first.count);
});

test('what fails after the first page waits, and all that failed before is due', () => {
  let page = ask<HastenedPage>('hasten');
  const again: number[] = [];
  let count = page.count;
  while (page.fromMs !== null) {
    nowMs += 1000;
    const failed = ask<TakenTask[]>('take', 100);
    for (const task of failed) postpone(task, 300_000);
    again.push(...failed.map(({ taskId }) => taskId));
    page = ask<HastenedPage>('hastenOn', page);
    count += page.count;
  }
  expect(count).toBe(tasks);
  expect(again.length).toBeGreaterThan(100);
  nowMs += 2000;
  const due = ask<TakenTask[]>('take', tasks).map(({ taskId }) => taskId);
  expect(due).toHaveLength(tasks - again.length);
  expect(due.filter((id) => again.includes(id))).toEqual([]);
});

test('what failed before the clock was set back is due too', () => {
  nowMs -= 3_600_000;
  let page = ask<HastenedPage>('hasten');
  let count = page.count;
  while (page.fromMs !== null) {
    nowMs += 1;
    page = ask<HastenedPage>('hastenOn', page);
    count += page.count;
  }
  expect(count).toBe(tasks);
});
