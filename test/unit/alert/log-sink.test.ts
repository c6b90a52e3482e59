// Goal: the log as a sink writes each alert once with its page, and owns up to what it could not write.
import { makeLogSink } from '../../../src/alert/log-sink';
import { pageOf } from '../../../src/alert/page';
import { anAlert, noonMs } from './samples';

test('each alert is written with its page', async () => {
  const written: unknown[] = [];
  const sink = makeLogSink((alert, page) => written.push([alert.fingerprint, page]));
  const alert = anAlert();
  expect(await sink.post([alert], noonMs)).toEqual({ taken: [alert.fingerprint], failed: [] });
  expect(written).toEqual([[alert.fingerprint, pageOf(alert)]]);
  expect(sink).toMatchObject({ name: 'log', repeats: false });
});

test('one that cannot be written is to be tried again, and the others are written', async () => {
  const [bad, good] = [anAlert(), anAlert({ labels: { organization_id: '2' } })];
  const sink = makeLogSink((alert) => {
    if (alert === bad) throw new Error('the disk is full');
  });
  expect(await sink.post([bad, good], noonMs)).toEqual({
    taken: [good.fingerprint],
    failed: [{ fingerprint: bad.fingerprint, retry: true }],
  });
});
