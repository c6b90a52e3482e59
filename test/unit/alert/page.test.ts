// Goal: the page in full reads as plain sentences, and says at the end that it is over.
import { pageOf } from '../../../src/alert/page';
import { anAlert, minuteMs, noonMs } from './samples';

const annotations = {
  summary: 'An organization must accept terms.',
  description: 'Green Acres (organization 4711) is blocked.',
  owner: 'customer-success',
  first_step: 'Send the organization the address.',
  action_url: 'https://provider.example/terms',
  runbook_url: 'https://runbooks.example/TramlineTermsRequired.md',
};

test('a firing alert says what, who, where and what first', () => {
  expect(pageOf(anAlert({ annotations })).split('\n')).toEqual([
    'FIRING TramlineTermsRequired (warning) since 2026-03-01T12:00:00Z',
    'An organization must accept terms.',
    'Green Acres (organization 4711) is blocked.',
    'About: organization_id 4711',
    'Who acts: customer-success',
    'Where: https://provider.example/terms',
    'First step: Send the organization the address.',
    'Runbook: https://runbooks.example/TramlineTermsRequired.md',
  ]);
});

test('what is not known is left out', () => {
  expect(pageOf(anAlert({ annotations: { summary: 'Short.' }, labels: {} })).split('\n')).toHaveLength(2);
});

test('a resolved alert says that it is over, and what it was', () => {
  const ended = { state: 'resolved', resolvedAtMs: noonMs + minuteMs } as const;
  expect(pageOf(anAlert({ annotations, ...ended })).split('\n')).toEqual([
    'RESOLVED TramlineTermsRequired (warning) from 2026-03-01T12:00:00Z to 2026-03-01T12:01:00Z',
    'It is over; nothing is left to do.',
    'While it fired, it said: Green Acres (organization 4711) is blocked.',
  ]);
});

test('an alert that another one stands for does not say that it is over', () => {
  const folded = { ...annotations, folded_into: 'TramlineManyOrganizationsBlocked' };
  const page = pageOf(anAlert({ annotations: folded, state: 'resolved', resolvedAtMs: noonMs }));
  expect(page).toContain('It goes on as a part of TramlineManyOrganizationsBlocked.');
  expect(page).not.toContain('over');
});
