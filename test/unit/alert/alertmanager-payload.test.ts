// Goal: what is posted is what Alertmanager accepts, and its label set is identity only.
import { areLabelsValid, labelsOf, postable } from '../../../src/alert/alertmanager-payload';
import { anAlert, minuteMs, noonMs } from './samples';

test('labels are identity, severity and the owner to route by', () => {
  expect(labelsOf(anAlert(), 'critical')).toEqual({
    alertname: 'TramlineTermsRequired',
    service: 'tramline',
    severity: 'critical',
    owner: 'customer-success',
    organization_id: '4711',
  });
  expect(labelsOf(anAlert({ annotations: {} }), 'critical')).not.toHaveProperty('owner');
});

test('identity labels cannot replace the fixed ones', () => {
  const labels = { alertname: 'Other', severity: 'none', service: 'other' };
  expect(labelsOf(anAlert({ labels }), 'warning')).toMatchObject({
    alertname: 'TramlineTermsRequired',
    service: 'tramline',
    severity: 'warning',
  });
});

test.each([
  [{ organization_id: '4711' }, true],
  [{ 'organization-id': '4711' }, false],
  [{ '1st': '4711' }, false],
  [{ organization_id: '' }, false],
  [{ organization_id: '\ud800' }, false],
  [{ organization_id: 'x'.repeat(1024) }, true],
  [{ organization_id: 'ø'.repeat(1024) }, false],
])('labels %j would be taken: %s', (labels, isValid) => {
  expect(areLabelsValid(labels as Record<string, string>)).toBe(isValid);
});

test('start and end are always said, the start never after the end', () => {
  expect(postable(anAlert(), 'warning', noonMs + 5 * minuteMs, null)).toMatchObject({
    startsAt: '2026-03-01T12:00:00.000Z',
    endsAt: '2026-03-01T12:05:00.000Z',
  });
  expect(postable(anAlert(), 'warning', noonMs - 1, null)).toMatchObject({
    startsAt: '2026-03-01T11:59:59.999Z',
    endsAt: '2026-03-01T11:59:59.999Z',
  });
});

test('annotations that it would drop or refuse are left out', () => {
  const annotations = { summary: 'ok', empty: '', 'not-a-name': 'x', broken: 'a\ud800' };
  expect(postable(anAlert({ annotations }), 'warning', noonMs, null).annotations).toEqual({
    summary: 'ok',
    broken: 'a\ufffd',
  });
});

test('S16: the address of the installation is only the configured one', () => {
  expect(postable(anAlert(), 'warning', noonMs, null)).not.toHaveProperty('generatorURL');
  expect(postable(anAlert(), 'warning', noonMs, 'https://tramline.example/')).toMatchObject({
    generatorURL: 'https://tramline.example/',
  });
});
