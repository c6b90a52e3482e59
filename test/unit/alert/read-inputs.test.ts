// Goal: what is dear to read is read often enough for a page and seldom enough for the store.
import { makeReadInputs } from '../../../src/alert/read-inputs';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { aBlocked, noonMs } from './samples';

/** A store whose inputs take `tookMs` to read. */
function setUp(tookMs: number) {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const asked = { inputs: 0, marks: 0 };
  const { alertInputs, alertMark } = store;
  store.alertInputs = async () => {
    asked.inputs += 1;
    await clock.advance(tookMs);
    return alertInputs();
  };
  store.alertMark = () => {
    asked.marks += 1;
    return alertMark();
  };
  return { clock, store, asked, read: makeReadInputs(store, clock) };
}

test('a store that answers at once is read each time', async () => {
  const { asked, read, store } = setUp(0);
  await read();
  store.inputs.quarantined.push({ reason: 'no-access', count: 1, oldestMs: noonMs });
  expect((await read()).quarantined).toHaveLength(1);
  expect(asked.inputs).toBe(2);
});

test('what takes long is read for a twentieth of the time while nothing changes', async () => {
  const { clock, asked, read } = setUp(100);
  const first = await read();
  for (let step = 0; step < 7; step += 1) {
    await clock.advance(250);
    expect(await read()).toBe(first);
  }
  expect(asked).toEqual({ inputs: 1, marks: 8 });
  await clock.advance(250);
  await read();
  expect(asked.inputs).toBe(2);
});

test('a change is read after a rest of twice as long, however often somebody looks', async () => {
  const { clock, store, asked, read } = setUp(100);
  await read();
  store.inputs.blocked.push(aBlocked());
  await clock.advance(199);
  expect((await read()).blocked).toEqual([]);
  await clock.advance(1);
  expect((await read()).blocked).toHaveLength(1);
  expect(asked.inputs).toBe(2);
});

test('a change that came while the inputs were read is not missed', async () => {
  const { clock, store, read } = setUp(100);
  const { alertInputs } = store;
  store.alertInputs = async () => {
    const inputs = await alertInputs();
    store.inputs.blocked.push(aBlocked());
    return inputs;
  };
  expect((await read()).blocked).toEqual([]);
  await clock.advance(200);
  expect((await read()).blocked).toHaveLength(1);
});

test('a store that takes seconds is asked after half a second for a change, after five for the rest', async () => {
  const { clock, store, asked, read } = setUp(3000);
  await read();
  await clock.advance(4999);
  await read();
  expect(asked.inputs).toBe(1);
  await clock.advance(1);
  await read();
  expect(asked.inputs).toBe(2);
  store.inputs.blocked.push(aBlocked());
  await clock.advance(500);
  expect((await read()).blocked).toHaveLength(1);
});

test('a clock that is set back, and a store that was away, are no reason to go on from what was', async () => {
  const { clock, store, asked, read } = setUp(100);
  await read();
  store.away = true;
  await clock.advance(300);
  await expect(read()).rejects.toMatchObject({ code: 'store.unavailable' });
  store.away = false;
  store.inputs.blocked.push(aBlocked());
  expect((await read()).blocked).toHaveLength(1);
  expect(asked.inputs).toBe(2);
});
