// Goal: while the store is away, what is known goes on from memory and nothing decided meanwhile is lost.
import { makeAlertBook } from '../../../src/alert/alert-book';
import { Problem } from '../../../src/model/problem';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { aBlocked, anAlert, noonMs } from './samples';

test('each read is fresh, since another process may have written', async () => {
  const store = makeMemoryAlerts();
  const book = makeAlertBook(store, makeHandClock(noonMs));
  expect(await book.read()).toEqual({
    inputs: { blocked: [], refusedConnections: [], announced: [], quarantined: [], suspected: 0, refused: 0 },
    alerts: [],
  });
  await store.saveAlerts([anAlert()]);
  store.inputs.blocked.push(aBlocked());
  expect(await book.read()).toEqual({ inputs: store.inputs, alerts: [anAlert()] });
});

test('before the store was ever read, nothing is known', async () => {
  const store = makeMemoryAlerts();
  store.away = true;
  const { inputs, alerts } = await makeAlertBook(store, makeHandClock(noonMs)).read();
  expect([inputs.blocked, inputs.quarantined, alerts]).toEqual([[], [], []]);
});

test('what was decided while the store was away is written when it is back, over what it had', async () => {
  const store = makeMemoryAlerts();
  await store.saveAlerts([anAlert()]);
  const book = makeAlertBook(store, makeHandClock(noonMs));
  const { inputs } = await book.read();
  store.away = true;
  const ended = anAlert({ state: 'resolved', resolvedAtMs: noonMs });
  const fresh = anAlert({ name: 'TramlineStoreUnavailable', labels: {} });
  await book.save([ended, fresh], [ended, fresh]);
  expect(await book.read()).toEqual({ inputs, alerts: [ended, fresh] });
  store.away = false;
  expect((await book.read()).alerts).toEqual([ended, fresh]);
  await book.save([ended, fresh], []);
  expect(store.rows()).toEqual([ended, fresh]);
  await book.save([ended, fresh], []);
  expect(store.writes).toEqual([1, 2]);
});

test('what is not a matter of waiting is thrown', async () => {
  const store = makeMemoryAlerts();
  const closed = new Problem('store.closed', 'stopping');
  store.alertInputs = () => Promise.reject(closed);
  store.saveAlerts = () => Promise.reject(closed);
  const book = makeAlertBook(store, makeHandClock(noonMs));
  await expect(book.read()).rejects.toBe(closed);
  await expect(book.save([], [anAlert()])).rejects.toBe(closed);
});

test('what another process wrote meanwhile is not written over, and the rest is settled for it', async () => {
  const store = makeMemoryAlerts();
  const block = anAlert();
  await store.saveAlerts([block]);
  const book = makeAlertBook(store, makeHandClock(noonMs));
  await book.read();
  store.away = true;
  const own = anAlert({ name: 'TramlineStoreUnavailable', labels: {} });
  const stale = { ...block, quietSinceMs: noonMs };
  await book.save([stale, own], [stale, own]);
  store.away = false;
  const ended = anAlert({ state: 'resolved', resolvedAtMs: noonMs });
  await store.saveAlerts([ended]);
  await book.settle();
  expect(store.rows()).toEqual([ended, own]);
  await book.settle();
  expect(store.writes).toEqual([1, 1, 1]);
  expect((await book.read()).alerts).toEqual([ended, own]);
});
