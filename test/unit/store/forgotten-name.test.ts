// Whoever is forgotten is named nowhere any more, whatever the name was, and nobody else loses a text for it.
import type { Alert } from '../../../src/model/alert';
import { withoutName } from '../../../src/store/forgotten-name';

const alertOf = (description: string): Alert => ({
  fingerprint: 'f',
  name: 'TramlineTermsRequired',
  severity: 'warning',
  state: 'resolved',
  labels: { organization_id: '4711' },
  annotations: { summary: 'An organization must accept terms.', description, owner: 'customer-success' },
  startsAtMs: 0,
  resolvedAtMs: 1,
  returns: 0,
  quietSinceMs: null,
  coversUntilMs: null,
  sent: {},
});
const replaced = 'Organization 4711 was forgotten, and what named it here.';

test.each([
  ['Cedar Acres (organization 4711) is blocked.', 'Organization 4711 is blocked.'],
  [
    '2 organizations (Oak (organization 1), Cedar Acres (organization 4711)) are blocked.',
    '2 organizations (Oak (organization 1), Organization 4711) are blocked.',
  ],
  [
    'Among them: Cedar Acres (organization 4711), Oak (organization 47110).',
    'Among them: Organization 4711, Oak (organization 47110).',
  ],
  ['Old Cedar Acres (organization 4711) is blocked.', replaced],
  ['Ced… (organization 4711) is blocked.', replaced],
])('%s', (description, expected) => {
  const [alert] = withoutName([alertOf(description)], '4711', 'Cedar Acres');
  expect(alert).toEqual(alertOf(expected));
});

test('a text with a name that is not known any more is replaced', () => {
  const [alert] = withoutName([alertOf('Cedar Acres (organization 4711) is blocked.')], '4711', null);
  expect(alert?.annotations.description).toBe(replaced);
});

test('alerts that do not name it are left out', () => {
  const others = [alertOf('Organization 4711 is blocked.'), alertOf('Oak (organization 47110) is blocked.')];
  expect(withoutName(others, '4711', 'Oak')).toEqual([]);
});
